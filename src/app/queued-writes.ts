/**
 * Queued writes (docs/operations/queued-writes.md): the store that new links go through, the gate in front of the queue,
 * and, in processes that work for all, the drain behind it. With direct writes it is the store itself.
 */
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import type { Redis } from '../engines/redis/redis.ts';
import { Drain } from '../links/drain.ts';
import { PendingRestorer } from '../links/pending-restorer.ts';
import { QueueGate } from '../links/queue-gate.ts';
import { queuedStore } from '../links/queued-store.ts';
import type { LinkStore } from '../links/store.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import type { Tracer } from '../ops/tracing/tracer.ts';
import type { Config } from './config.ts';
import { queueMetrics } from './queue-metrics.ts';
import type { Duties } from './roles.ts';

export interface QueuedWritesOptions {
  readonly config: Pick<Config, 'writes' | 'stream' | 'drainPerS' | 'queueMax'>;
  readonly duties: Duties;
  readonly store: LinkStore;
  readonly redis: Redis | undefined;
  /** Whether a code has the shape of those that are leased. */
  readonly mayBePending: (code: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined where nobody collects traces. */
  readonly tracer: Tracer | undefined;
}

export interface QueuedWrites {
  readonly store: LinkStore;
  metrics(): Metric[];
  /** Does not close the store. */
  stop(): Promise<void>;
}

/** A queue that does not answer must not keep a process from ending: what is in hand is given to others. */
const stopMaxMs = 5_000;

/** The drivers are loaded when they are chosen: nobody else should wait for them to load. */
export async function startQueuedWrites(options: QueuedWritesOptions): Promise<QueuedWrites> {
  const { config, duties, store, redis, mayBePending, clock, log, tracer } = options;
  if (config.writes === 'direct' || redis === undefined) {
    return { store, metrics: () => [], stop: async () => undefined };
  }
  const { openKafkaQueue } = await import('../links/queues/kafka/queue.ts');
  const { parseKafkaAddress } = await import('../engines/kafka/address.ts');
  const { createRedisPendings } = await import('../links/pendings/redis/pendings.ts');
  const onError = (error: unknown): void =>
    log.error('queued links are held up', { failure: describeFailure(error) });
  const queue = openKafkaQueue(parseKafkaAddress(config.stream), { clock, onError });
  const pendings = createRedisPendings(redis, { clock });
  const gate = new QueueGate({
    queue,
    clock,
    behindMax: config.queueMax,
    drainPerS: config.drainPerS,
    onAway: error => log.warn('the queue takes no new links', { failure: describeFailure(error) }),
    onReturn: () => log.info('the queue takes new links again'),
  });
  const queued = queuedStore({ store, queue, pendings, gate, mayBePending });
  const drain = new Drain({ queue, store, pendings, perS: config.drainPerS, clock, onError, tracer });
  const restorer = new PendingRestorer({ queue, pendings, clock, onError });
  if (duties.api || duties.background) gate.start();
  if (duties.background) {
    drain.start();
    restorer.start();
  }
  return {
    store: queued,
    metrics: () => queueMetrics({ figures: queued.figures, gate, drain, restorer }),
    async stop() {
      gate.stop();
      const stopped = Promise.all([drain.stop(), restorer.stop()]).then(() => queue.close());
      await Promise.race([stopped, sleep(systemClock, stopMaxMs)]);
    },
  };
}
