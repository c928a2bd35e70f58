/** The settings that keep bad destinations out: lists, risk, and the checker of listed URLs. */
import { list, number, text } from './setting-row.ts';
import { key, listOf, oneOf, origin, orNone, path, wholeNumber } from './setting-values.ts';

export const abuseSettings = {
  blocklists: list({
    env: 'TERSE_BLOCKLISTS',
    read: listOf(path),
    default: 'none',
    values: '`none`, or a comma list of paths to files',
    doc: 'Destinations that are refused: files of domains, URLs and patterns, followed for changes (docs/abuse.md).',
  }),
  domainAges: text({
    env: 'TERSE_DOMAIN_AGES',
    read: orNone(path),
    default: 'none',
    values: 'a path to a file with a domain and a day per line, or `none`',
    doc: 'When domains were registered; those younger than a week are suspicious.',
  }),
  riskFile: text({
    env: 'TERSE_RISK_FILE',
    read: orNone(path),
    default: 'none',
    values: 'a path to a JSON file, or `none`',
    doc: 'Other weights for the signs of abuse, and domains that are trusted (docs/abuse.md).',
  }),
  riskQuarantine: number({
    env: 'TERSE_RISK_QUARANTINE',
    read: wholeNumber(0, 100),
    default: '60',
    values: '0 to 100; 100 for never',
    doc: 'The risk above which a link shows a warning first.',
  }),
  riskBlock: number({
    env: 'TERSE_RISK_BLOCK',
    read: wholeNumber(0, 100),
    default: '85',
    values: '0 to 100; 100 for never',
    doc: 'The risk above which a link is blocked until it was reviewed.',
  }),
  safeBrowsingKey: text({
    env: 'TERSE_SAFE_BROWSING_KEY',
    read: orNone(key(1)),
    default: 'none',
    values: 'a key for the Safe Browsing API, or `none` to do without it',
    doc: 'Checks destinations against the lists of Safe Browsing, when links are made and afterwards.',
    secret: true,
  }),
  safeBrowsingApi: text({
    env: 'TERSE_SAFE_BROWSING_API',
    read: oneOf('v5', 'v4'),
    default: 'v5',
    values: '`v5` or `v4`',
    doc: 'The version of the Safe Browsing protocol.',
  }),
  safeBrowsingUrl: text({
    env: 'TERSE_SAFE_BROWSING_URL',
    read: origin,
    default: 'https://safebrowsing.googleapis.com',
    values: 'an http or https origin without a path',
    doc: 'The server that is asked for the lists.',
  }),
};
