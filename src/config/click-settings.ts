/** The settings of clicks: whether, where and for how long they are kept. */
import { archiveAddress, integer, onOrOff, orNone, path, text } from './setting-values.ts';

export const clickSettings = {
  clicks: onOrOff({
    env: 'TERSE_CLICKS',
    default: 'on',
    doc: 'Whether clicks are recorded and counted.',
  }),
  clickDays: integer({
    env: 'TERSE_CLICK_DAYS',
    range: [1, 3650],
    default: '90',
    doc: 'Days that single clicks are stored; their counts are kept forever.',
  }),
  archive: text({
    env: 'TERSE_ARCHIVE',
    read: orNone(archiveAddress),
    default: 'none',
    values: '`none` or `s3://BUCKET/PREFIX?region=…`',
    doc: 'Where single clicks are archived before they are deleted (docs/operations/archive.md).',
  }),
  minuteDays: integer({
    env: 'TERSE_MINUTE_DAYS',
    range: [1, 3650],
    default: '14',
    doc: 'Days that counts by the minute are stored; those by the quarter hour and the day are kept forever.',
  }),
  clickSpill: text({
    env: 'TERSE_CLICK_SPILL',
    read: path,
    default: earlier => `${earlier.data}/spill`,
    defaultWords: '`spill` in `TERSE_DATA`',
    values: 'a path to a folder that no other installation uses',
    doc: 'Where clicks are spilled while the stream cannot be written; best on another disk than `TERSE_DATA`.',
  }),
  clickSpillMb: integer({
    env: 'TERSE_CLICK_SPILL_MB',
    range: [0, 1_048_576, '0 to keep them in memory only'],
    default: '256',
    doc: 'Megabytes of spilled clicks; beyond it the oldest are dropped and counted as dropped.',
  }),
  suspiciousAddressRate: integer({
    env: 'TERSE_SUSPICIOUS_ADDRESS_RATE',
    range: [0, 1_000_000, '0 for never'],
    default: '120',
    doc: 'Clicks of one address in a minute beyond which they count as suspicious (docs/clicks.md).',
  }),
  suspiciousAgentRate: integer({
    env: 'TERSE_SUSPICIOUS_AGENT_RATE',
    range: [0, 1_000_000, '0 for never'],
    default: '600',
    doc: 'Clicks of one user agent in a minute beyond which they count as suspicious, if they come from few addresses.',
  }),
  geoFile: text({
    env: 'TERSE_GEO_FILE',
    read: orNone(path),
    default: 'none',
    values: 'a path to an MMDB file, or `none` for the country database that comes with Terse',
    doc: 'The location database for visitors, by MaxMind or DB-IP; may include cities.',
  }),
};
