/** Everything that a process opens outside of itself: clocks, randomness, engines, threads, its port. */
import { type Clock, systemClock } from './base/clock.ts';
import { type Random, systemRandom } from './base/random.ts';
import { startClicks } from './clicks/start.ts';
import { parseKafkaAddress } from './engines/kafka/address.ts';
import { openSharedRedis } from './engines/redis/open.ts';
import type { Redis } from './engines/redis/redis.ts';
import type { HttpServer } from './http/server.ts';
import { Listener, type ListenerOptions } from './http/wire/listener.ts';
import { openSharedLimiter } from './limits/limiters/open.ts';
import type { OpenQueue } from './links/queued-writes.ts';
import { openStores } from './stores/stores.ts';

/** The simulator (test/simulate) replaces all of it. */
export interface Drivers {
  readonly random: Random;
  /** For sockets and for the end of the process: it runs on where a test holds `clock` still. */
  readonly waitClock: Clock;
  readonly openStores: typeof openStores;
  readonly openRedis: typeof openSharedRedis;
  readonly openQueue: typeof openQueue;
  readonly openLimiter: typeof openSharedLimiter;
  readonly startClicks: typeof startClicks;
  readonly listen: (options: ListenerOptions) => HttpServer;
}

export const systemDrivers: Drivers = {
  random: systemRandom,
  waitClock: systemClock,
  openStores,
  openRedis: openSharedRedis,
  openQueue,
  openLimiter: openSharedLimiter,
  startClicks,
  listen: options => new Listener(options),
};

interface QueueOptions {
  readonly redis: Redis;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** The queue of links in Kafka, whose client is loaded only here, and the records of its pending links in Redis. */
async function openQueue(stream: string, { redis, clock, onError }: QueueOptions): Promise<OpenQueue> {
  const { createRedisPendings } = await import('./links/pendings/redis/pendings.ts');
  const { openKafkaQueue } = await import('./links/queues/kafka/queue.ts');
  return {
    queue: openKafkaQueue(parseKafkaAddress(stream), { clock, onError }),
    pendings: createRedisPendings(redis, { clock }),
  };
}
