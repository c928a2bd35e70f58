/** Creates topics that are missing. An existing topic stays as it is. */
import { Admin } from '@platformatic/kafka';
import { type Clock, sleep } from '../../base/clock.ts';
import { clientOptions, type KafkaAddress } from './address.ts';
import { failureOf, KafkaRefusal, KafkaUnavailable, within } from './failures.ts';
import type { KafkaReader } from './reader.ts';

export interface TopicPlan {
  readonly topic: string;
  readonly partitions: number;
  /** By their own names, beside those that follow from the address. */
  readonly configs?: Readonly<Record<string, string>>;
}

const requestMaxMs = 10_000;
const deadlineMsDefault = 20_000;
const listedTriesMax = 100;
const listedPauseMs = 50;

/** Returns when the topic is there, and whether it was made by this call; throws when it cannot be created now. */
export async function ensureTopic(
  address: KafkaAddress,
  { topic, partitions, configs = {} }: TopicPlan,
  clock: Clock,
  deadlineMs = deadlineMsDefault,
): Promise<boolean> {
  const { replication, minInsync } = address;
  const admin = new Admin(clientOptions(address, { name: 'topics', requestMaxMs, retries: 2 }));
  const allConfigs = { ...configs, ...(minInsync && { 'min.insync.replicas': String(minInsync) }) };
  try {
    return await within(clock, deadlineMs, `making the topic ${topic}`, async () => {
      if ((await admin.listTopics()).includes(topic)) return false;
      const isMade = await admin
        .createTopics({
          topics: [topic],
          partitions,
          ...(replication && { replicas: replication }),
          configs: Object.entries(allConfigs).map(([name, value]) => ({ name, value })),
        })
        .then(() => true, madeByAnother);
      // The controller answers before the brokers know the topic.
      for (let tries = 1; tries < listedTriesMax; tries++) {
        if ((await admin.listTopics()).includes(topic)) break;
        await sleep(clock, listedPauseMs);
      }
      return isMade;
    });
  } finally {
    await admin.close().catch(() => undefined);
  }
}

/** False when another process was quicker; any other failure is thrown. */
function madeByAnother(error: unknown): false {
  const failure = failureOf(error);
  if (failure instanceof KafkaRefusal && failure.code === 'TOPIC_ALREADY_EXISTS') return false;
  throw failure;
}

/**
 * Offsets of every partition of a topic, or none at all: for callers that would take a partition that is left out for
 * one that has nothing.
 */
export async function allOffsets(
  reader: Pick<KafkaReader, 'offsets' | 'partitions'>,
  topic: string,
  at: Parameters<KafkaReader['offsets']>[1],
): Promise<Map<number, number>> {
  const offsets = await reader.offsets(topic, at);
  if (offsets.size < (await reader.partitions(topic)))
    throw new KafkaUnavailable(`some partitions of ${topic} have no leader`);
  return offsets;
}
