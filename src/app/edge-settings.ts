/** The settings of caches in front of Terse: what they may keep, how their clicks are counted, how they are purged. */
import { parsePurgeAddress } from '../edge/purge-address.ts';
import { list, number, text } from './setting-row.ts';
import { key, listOf, oneOf, orNone, Refused, wholeNumber } from './setting-values.ts';

export const edgeClickModes = ['log', 'revalidate'] as const;
export type EdgeClickMode = (typeof edgeClickModes)[number];

export const edgeSettings = {
  edgeTtlS: number({
    env: 'TERSE_EDGE_TTL_S',
    read: wholeNumber(0, 31_536_000),
    default: '0',
    values: '0 to 31536000; 0 for no caching at the edge',
    doc: 'Seconds that a CDN may keep a redirect (docs/operations/edge.md).',
  }),
  edgeClicks: text({
    env: 'TERSE_EDGE_CLICKS',
    read: oneOf(...edgeClickModes),
    default: 'log',
    values: '`log` or `revalidate`',
    doc: 'How clicks are counted behind a CDN: from its log what it answered itself, or by asking Terse each time.',
  }),
  edgePurge: list({
    env: 'TERSE_EDGE_PURGE',
    read: listOf(purgeAddress),
    default: 'none',
    values:
      '`none`, or a comma list of `http://HOST/`, `http://HOST/{code}`, `fastly://SERVICE` and `cloudfront://DISTRIBUTION`',
    doc: 'The caches that are told of every change to a link.',
  }),
  edgePurgeToken: text({
    env: 'TERSE_EDGE_PURGE_TOKEN',
    read: orNone(key(1)),
    default: 'none',
    values: '`none`, or printable ASCII characters without a space',
    doc: 'What they know Terse by; CloudFront takes the keys in `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.',
    secret: true,
  }),
};

function purgeAddress(given: string): string {
  try {
    parsePurgeAddress(given);
  } catch (error) {
    throw new Refused((error as Error).message);
  }
  return given;
}
