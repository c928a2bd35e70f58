/** Everything that a process opens outside of itself: clocks, randomness, engines, threads, its port. */
import { type Clock, systemClock } from './base/clock.ts';
import { type Random, systemRandom } from './base/random.ts';
import { startClicks } from './clicks/start.ts';
import { openSharedRedis } from './engines/redis/open.ts';
import type { HttpServer } from './http/server.ts';
import { Listener, type ListenerOptions } from './http/wire/listener.ts';
import { openSharedLimiter } from './limits/limiters/open.ts';
import type { openQueue } from './links/queues/open.ts';
import { openStores } from './stores/stores.ts';

/** The simulator (test/simulate) replaces all of it. */
export interface Drivers {
  readonly random: Random;
  /** For sockets and for the end of the process: it runs on where a test holds `clock` still. */
  readonly waitClock: Clock;
  readonly openStores: typeof openStores;
  readonly openRedis: typeof openSharedRedis;
  readonly openQueue: (...input: Parameters<typeof openQueue>) => Promise<ReturnType<typeof openQueue>>;
  readonly openLimiter: typeof openSharedLimiter;
  readonly startClicks: typeof startClicks;
  readonly listen: (options: ListenerOptions) => HttpServer;
}

export const systemDrivers: Drivers = {
  random: systemRandom,
  waitClock: systemClock,
  openStores,
  openRedis: openSharedRedis,
  openQueue: async (...input) => (await import('./links/queues/open.ts')).openQueue(...input),
  openLimiter: openSharedLimiter,
  startClicks,
  listen: options => new Listener(options),
};
