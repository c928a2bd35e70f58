/** The settings of caches: the one that processes share, and those in front of Terse. */
import { parsePurgeAddress } from './purge-address.ts';
import {
  integer,
  key,
  list,
  listOf,
  number,
  oneOf,
  onOrOff,
  orNone,
  parsedBy,
  text,
  wholeNumber,
} from './setting-values.ts';

const secondsMax = 31_536_000;

const lifetime = (env: string, initial: string | undefined, doc: string) =>
  number({
    env,
    read: wholeNumber(1, secondsMax),
    default: initial ?? (earlier => String(earlier.cacheTtlS)),
    ...(initial === undefined && { defaultWords: 'as `TERSE_CACHE_TTL_S`' }),
    values: `1 to ${secondsMax}`,
    doc,
  });

export const cacheSettings = {
  cacheTtlS: lifetime('TERSE_CACHE_TTL_S', '86400', 'Seconds that the shared cache keeps a link.'),
  cacheNewTtlS: lifetime(
    'TERSE_CACHE_NEW_TTL_S',
    undefined,
    'The same for a link created within the last day.',
  ),
  cachePopularTtlS: lifetime(
    'TERSE_CACHE_POPULAR_TTL_S',
    undefined,
    'The same for a link that is still in use when its time is nearly over.',
  ),
  cacheAliasTtlS: lifetime('TERSE_CACHE_ALIAS_TTL_S', undefined, 'The same for a custom alias.'),
  cacheGoneTtlS: lifetime('TERSE_CACHE_GONE_TTL_S', '3600', 'The same for a link that answers 410.'),
  cacheNegativeTtlS: lifetime('TERSE_CACHE_NEGATIVE_TTL_S', '30', 'The same for the absence of a link.'),
  cacheWriteThrough: onOrOff({
    env: 'TERSE_CACHE_WRITE_THROUGH',
    default: 'off',
    doc: 'Whether a new link is written to the shared cache when it is created, instead of when it is first followed.',
  }),
} as const;

const edgeClickModes = ['log', 'revalidate'] as const;

export const edgeSettings = {
  edgeTtlS: integer({
    env: 'TERSE_EDGE_TTL_S',
    range: [0, 31_536_000, '0 for no caching at the edge'],
    default: '0',
    doc: 'Seconds that a CDN may cache a redirect (docs/operations/edge.md).',
  }),
  edgeClicks: text({
    env: 'TERSE_EDGE_CLICKS',
    read: oneOf(...edgeClickModes),
    default: 'log',
    values: '`log` or `revalidate`',
    doc: 'How clicks are counted behind a CDN: from its log, or by revalidating each request with Terse.',
  }),
  edgePurge: list({
    env: 'TERSE_EDGE_PURGE',
    read: listOf(parsedBy(parsePurgeAddress)),
    default: 'none',
    values:
      '`none`, or a comma list of `http://HOST/`, `http://HOST/{code}`, `fastly://SERVICE` and `cloudfront://DISTRIBUTION`',
    doc: 'The caches to purge after every change to a link.',
  }),
  edgePurgeToken: text({
    env: 'TERSE_EDGE_PURGE_TOKEN',
    read: orNone(key(1)),
    default: 'none',
    values: '`none`, or printable ASCII characters without a space',
    doc: 'The token for these caches; CloudFront uses the keys in `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.',
    secret: true,
  }),
};

/**
 * How long a queued link may be pending. Counted from the creation of the link, not from when the record was written: so an expired link, which is purged no
 * sooner than this after its expiry, cannot come back to life by a leftover record.
 */
export const pendingLifeMs = 7 * 24 * 60 * 60 * 1_000;

export const queueSettings = {
  drainPerS: integer({
    env: 'TERSE_DRAIN_PER_S',
    range: [1, 1_000_000],
    default: '200',
    doc: 'Queued links that each process with the worker role stores per second; after a pause, those of one second at once.',
  }),
  queueMax: integer({
    env: 'TERSE_QUEUE_MAX',
    range: [1, 1_000_000_000],
    default: '1000000',
    doc: 'Links that may wait in the queue; beyond it, creating links answers 503.',
  }),
} as const;
