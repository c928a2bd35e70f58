/**
 * Pending links in the Redis that processes share, one key each: `terse:pending:CODE`, separate from the cache's
 * records, which may be fenced and distrusted. The value is the text of the queue's message. Redis expires a record
 * itself.
 */
import type { Clock } from '../../../base/clock.ts';
import { type Redis, redisScript } from '../../../engines/redis/redis.ts';
import type { Link } from '../../link.ts';
import { type PendingLinks, pendingLeftMs } from '../../queue.ts';
import { decodeQueuedLink, encodeQueuedLink } from '../../queued-link.ts';

export interface RedisPendingsOptions {
  readonly clock: Clock;
  /** Two installations may share a Redis under different names. */
  readonly name?: string;
}

/** Per batch; a bulk call must not fill the connection that redirects use, too. */
const togetherMax = 500;

export const removeScript = redisScript(`return redis.call('DEL', KEYS[1])`);

/** Does not close `redis`. */
export function createRedisPendings(
  redis: Pick<Redis, 'get' | 'set' | 'run' | 'onAvailable'>,
  { clock, name = 'terse' }: RedisPendingsOptions,
): PendingLinks {
  const keyOf = (code: string): string => `${name}:pending:${code}`;

  async function forEach<Item>(
    items: readonly Item[],
    work: (item: Item) => Promise<unknown>,
  ): Promise<void> {
    for (let from = 0; from < items.length; from += togetherMax) {
      await Promise.all(items.slice(from, from + togetherMax).map(work));
    }
  }

  return {
    async put(links) {
      const now = clock.now();
      const lasting = links.filter(link => pendingLeftMs(link, now) > 0);
      await forEach(lasting, link =>
        redis.set(keyOf(link.code), encodeQueuedLink(link), pendingLeftMs(link, now)),
      );
    },
    async find(code) {
      // With the timeout of a write, although a visitor may wait: there is nowhere else to ask.
      const text = await redis.get(keyOf(code));
      return text === undefined ? undefined : linkOf(text);
    },
    remove: codes => forEach(codes, code => redis.run(removeScript, [keyOf(code)], [])),
    onReturn: listener => redis.onAvailable(listener),
  };
}

/** A record that cannot be parsed counts as missing; the queue still has the link. */
function linkOf(text: string): Link | undefined {
  try {
    return decodeQueuedLink(text);
  } catch {
    return undefined;
  }
}
