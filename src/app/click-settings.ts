/** The settings of clicks: whether, where and for how long they are kept. */
import { number, onOrOff, text } from './setting-row.ts';
import { archiveAddress, orNone, path, wholeNumber } from './setting-values.ts';

export const clickSettings = {
  clicks: onOrOff({
    env: 'TERSE_CLICKS',
    default: 'on',
    doc: 'Whether clicks are recorded and counted.',
  }),
  clickDays: number({
    env: 'TERSE_CLICK_DAYS',
    read: wholeNumber(1, 3650),
    default: '90',
    values: '1 to 3650',
    doc: 'Days that single clicks are kept; what was counted of them is kept for good.',
  }),
  archive: text({
    env: 'TERSE_ARCHIVE',
    read: orNone(archiveAddress),
    default: 'none',
    values: '`none` or `s3://BUCKET/PREFIX?region=…`',
    doc: 'Where single clicks go before their days are over (docs/operations/archive.md).',
  }),
  minuteDays: number({
    env: 'TERSE_MINUTE_DAYS',
    read: wholeNumber(1, 3650),
    default: '14',
    values: '1 to 3650',
    doc: 'Days that counts by the minute are kept; those by the quarter hour and the day stay for good.',
  }),
  clickSpill: text({
    env: 'TERSE_CLICK_SPILL',
    read: path,
    default: earlier => `${earlier.data}/spill`,
    defaultWords: '`spill` in `TERSE_DATA`',
    values: 'a path to a folder that no other installation uses',
    doc: 'Where clicks wait while their stream cannot be written; best on another disk than `TERSE_DATA`.',
  }),
  clickSpillMb: number({
    env: 'TERSE_CLICK_SPILL_MB',
    read: wholeNumber(0, 1_048_576),
    default: '256',
    values: '0 to 1048576; 0 to keep them in memory only',
    doc: 'Megabytes that those clicks may take; beyond it the oldest are dropped and counted.',
  }),
  suspiciousAddressRate: number({
    env: 'TERSE_SUSPICIOUS_ADDRESS_RATE',
    read: wholeNumber(0, 1_000_000),
    default: '120',
    values: '0 to 1000000; 0 for never',
    doc: 'Clicks of one address in a minute beyond which they count as suspicious (docs/clicks.md).',
  }),
  suspiciousAgentRate: number({
    env: 'TERSE_SUSPICIOUS_AGENT_RATE',
    read: wholeNumber(0, 1_000_000),
    default: '600',
    values: '0 to 1000000; 0 for never',
    doc: 'Clicks of one user agent in a minute beyond which they count as suspicious, if they come from few addresses.',
  }),
  geoFile: text({
    env: 'TERSE_GEO_FILE',
    read: orNone(path),
    default: 'none',
    values: 'a path to an MMDB file, or `none` for the country database that comes with Terse',
    doc: 'Where visitors are: a MaxMind or DB-IP database, which may know cities.',
  }),
};
