/**
 * When the first message from an offset on was written, of many partitions. Each is asked for apart: in an answer about
 * several a broker exceeds the size that was asked for only for the first that has anything, and says nothing of the
 * rest.
 */

import { Admin } from '@platformatic/kafka';
import { type Clock, sleep } from '../../base/clock.ts';
import { inParallel } from '../../base/in-parallel.ts';
import { clientOptions, type KafkaAddress } from './address.ts';
import { KafkaUnavailable, within } from './failures.ts';
import { type CommittedOffset, committedOffsets } from './group.ts';
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
    // The message at the offset may be deleted; then the answer says where to continue.
    if (fetched !== undefined && fetched.next > from) from = fetched.next;
    else await sleep(clock, attemptPauseMs);
  }
  throw new KafkaUnavailable(`${topic}/${partition} cannot be read at ${offset}`);
}

/**
 * How far a group has come in a topic, for processes that are not in it; and the deletion of messages it is done with,
 * where the topic is kept for its group alone.
 */
export interface GroupProgress {
  /** The offset that each of the first `partitions` goes on from; those of which nothing was committed are left out. */
  committed(partitions: number): Promise<Map<number, number>>;
  /** The same with what was noted beside; whatever is being committed at the moment is waited for. */
  commits(partitions: number): Promise<Map<number, CommittedOffset>>;
  /** For good: whatever lies before these offsets. */
  deleteBefore(offsets: ReadonlyMap<number, number>): Promise<void>;
  close(): Promise<void>;
}

const deadlineMs = 8_000;
const requestMaxMs = 5_000;

/** Of the group and the topic that the address names. */
export function openGroupProgress(address: KafkaAddress, { clock }: { clock: Clock }): GroupProgress {
  const { topic, group: groupId } = address;
  const admin = new Admin(clientOptions(address, { name: 'progress', requestMaxMs, retries: 1 }));
  const commits = (partitions: number, requireStable: boolean): Promise<Map<number, CommittedOffset>> =>
    within(clock, deadlineMs, `asking how far ${groupId} has come`, () => {
      const indexes = Array.from({ length: partitions }, (_, partition) => partition);
      return committedOffsets(admin, address, indexes, requireStable);
    });
  return {
    commits: partitions => commits(partitions, true),
    async committed(partitions) {
      const found = await commits(partitions, false);
      return new Map([...found].map(([partition, { offset }]) => [partition, offset]));
    },
    async deleteBefore(offsets) {
      if (offsets.size === 0) return;
      const partitions = [...offsets].map(([partition, offset]) => ({ partition, offset: BigInt(offset) }));
      await within(clock, deadlineMs, `deleting from ${topic}`, () =>
        admin.deleteRecords({ topics: [{ name: topic, partitions }] }),
      );
    },
    close: () => admin.close().catch(() => undefined),
  };
}
