/** The settings that keep bad destinations out: lists, risk, and the checker of listed URLs. */
import { cidr, integer, key, list, listOf, onOrOff, origin, orNone, path, text } from './setting-values.ts';

export const abuseSettings = {
  blocklists: list({
    env: 'TERSE_BLOCKLISTS',
    read: listOf(path),
    default: 'none',
    values: '`none`, or a comma list of paths to files',
    doc: 'Destinations that are rejected: files of domains, URLs and patterns, reloaded when they change (docs/abuse.md).',
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
    doc: 'Other weights for the risk signals, and trusted domains (docs/abuse.md).',
  }),
  riskQuarantine: integer({
    env: 'TERSE_RISK_QUARANTINE',
    range: [0, 100, '100 for never'],
    default: '60',
    doc: 'The risk above which a link shows a warning first.',
  }),
  riskBlock: integer({
    env: 'TERSE_RISK_BLOCK',
    range: [0, 100, '100 for never'],
    default: '85',
    doc: 'The risk above which a link is blocked until it is reviewed.',
  }),
  safeBrowsingKey: text({
    env: 'TERSE_SAFE_BROWSING_KEY',
    read: orNone(key(1)),
    default: 'none',
    values: 'a key for the Safe Browsing API, or `none`',
    doc: 'Checks destinations against Safe Browsing, when links are created and afterwards.',
    secret: true,
  }),
  safeBrowsingUrl: text({
    env: 'TERSE_SAFE_BROWSING_URL',
    read: origin,
    default: 'https://safebrowsing.googleapis.com',
    values: 'an http or https origin without a path',
    doc: 'The Safe Browsing server.',
  }),
};

/** The settings of checks whether destinations still answer. */
export const healthSettings = {
  linkHealth: onOrOff({
    env: 'TERSE_LINK_HEALTH',
    default: 'off',
    doc: 'Whether destinations are checked regularly (docs/link-health.md).',
  }),
  linkHealthHours: integer({
    env: 'TERSE_LINK_HEALTH_HOURS',
    range: [1, 8_760],
    default: '24',
    doc: 'Hours from one check of a destination to the next; more when there are more links than can be checked in that time.',
  }),
  linkHealthRate: integer({
    env: 'TERSE_LINK_HEALTH_RATE',
    range: [1, 1_000],
    default: '5',
    doc: 'Destinations checked per second at most, by all processes together.',
  }),
  linkHealthNetworks: list({
    env: 'TERSE_LINK_HEALTH_NETWORKS',
    read: listOf(cidr),
    default: 'none',
    values: '`none`, or a comma list of ranges such as `10.20.0.0/16`',
    doc: 'Private networks whose hosts may be checked, too; anyone who may make a link can then learn what answers there.',
  }),
};
