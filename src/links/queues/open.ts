/** The queue of links in Kafka and the records of its pending links in Redis. */
import type { Clock } from '../../base/clock.ts';
import { parseKafkaAddress } from '../../engines/kafka/address.ts';
import type { Redis } from '../../engines/redis/redis.ts';
import { createRedisPendings } from '../pendings/redis/pendings.ts';
import type { OpenQueue } from '../queued-writes.ts';
import { openKafkaQueue } from './kafka/queue.ts';

export interface QueueOptions {
  readonly redis: Redis;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

export function openQueue(stream: string, { redis, clock, onError }: QueueOptions): OpenQueue {
  return {
    queue: openKafkaQueue(parseKafkaAddress(stream), { clock, onError }),
    pendings: createRedisPendings(redis, { clock }),
  };
}
