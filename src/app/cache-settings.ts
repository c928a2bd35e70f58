/** The settings of the cache that processes share: how long it keeps what it knows, by kind. */
import { number, onOrOff } from './setting-row.ts';
import { wholeNumber } from './setting-values.ts';

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
  cacheNewTtlS: lifetime('TERSE_CACHE_NEW_TTL_S', undefined, 'The same for a link made within the last day.'),
  cachePopularTtlS: lifetime(
    'TERSE_CACHE_POPULAR_TTL_S',
    undefined,
    'The same for a link that is still asked for when its time is nearly over.',
  ),
  cacheAliasTtlS: lifetime('TERSE_CACHE_ALIAS_TTL_S', undefined, 'The same for a custom alias.'),
  cacheGoneTtlS: lifetime('TERSE_CACHE_GONE_TTL_S', '3600', 'The same for a link that answers 410.'),
  cacheNegativeTtlS: lifetime('TERSE_CACHE_NEGATIVE_TTL_S', '30', 'The same for the absence of a link.'),
  cacheWriteThrough: onOrOff({
    env: 'TERSE_CACHE_WRITE_THROUGH',
    default: 'off',
    doc: 'Whether a new link goes into the shared cache when it is made, instead of when it is first followed.',
  }),
} as const;
