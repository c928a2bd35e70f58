/**
 * How far a group has come in a topic, for those who are not in it; and the deletion of what it is done with, where the
 * topic is kept for its group alone.
 */
import { Admin } from '@platformatic/kafka';
import type { Clock } from '../../base/clock.ts';
import type { KafkaAddress } from './address.ts';
import { clientOptions } from './client-options.ts';
import { within } from './failures.ts';
import type { CommittedOffset } from './group.ts';

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
    within(clock, deadlineMs, `asking how far ${groupId} has come`, async () => {
      const partitionIndexes = Array.from({ length: partitions }, (_, partition) => partition);
      const groups = await admin.listConsumerGroupOffsets({
        groups: [{ groupId, topics: [{ name: topic, partitionIndexes }] }],
        requireStable,
      });
      const found = groups.flatMap(each => each.topics).flatMap(each => each.partitions);
      return new Map(
        found
          .filter(({ committedOffset }) => committedOffset >= 0n)
          .map(({ partitionIndex, committedOffset, metadata }) => [
            partitionIndex,
            { offset: Number(committedOffset), metadata: metadata ?? '' },
          ]),
      );
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
