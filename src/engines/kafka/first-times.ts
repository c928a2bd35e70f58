/**
 * When the first message from an offset on was written, of many partitions. Each is asked for apart: in an answer about
 * several a broker exceeds the size that was asked for only for the first that has anything, and says nothing of the rest.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { inParallel } from '../../base/in-parallel.ts';
import { KafkaUnavailable } from './failures.ts';
import type { KafkaReader } from './reader.ts';

export interface ReadTopic {
  readonly reader: Pick<KafkaReader, 'fetch'>;
  readonly topic: string;
  readonly clock: Clock;
}

/** Enough for one message, which is given whole. */
const look = { bytesMax: 1, waitMaxMs: 0 };
const partitionsAtOnce = 8;
/** A partition may have no leader for a moment. */
const attemptsMax = 20;
const attemptPauseMs = 250;

/** Partitions that end at their offset are left out; throws when one does not answer. */
export async function firstTimes(
  read: ReadTopic,
  offsets: ReadonlyMap<number, number>,
): Promise<Map<number, number>> {
  const places = [...offsets];
  const times = new Map<number, number>();
  await inParallel(places.length, partitionsAtOnce, async index => {
    const [partition, offset] = places[index]!;
    const at = await firstTime(read, partition, offset);
    if (at !== undefined) times.set(partition, at);
  });
  return times;
}

async function firstTime(
  { reader, topic, clock }: ReadTopic,
  partition: number,
  offset: number,
): Promise<number | undefined> {
  for (let [from, attempt] = [offset, 1]; attempt <= attemptsMax; attempt += 1) {
    const [fetched] = await reader.fetch(topic, new Map([[partition, from]]), look);
    const [first] = fetched?.messages ?? [];
    if (first !== undefined) return first.at;
    if (fetched !== undefined && fetched.next >= fetched.end) return undefined;
    // What lay at the offset may be gone, and then the answer says where to go on.
    if (fetched !== undefined && fetched.next > from) from = fetched.next;
    else await sleep(clock, attemptPauseMs);
  }
  throw new KafkaUnavailable(`${topic}/${partition} cannot be read at ${offset}`);
}
