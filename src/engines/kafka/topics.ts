/** Makes topics that are missing. One that is there stays as it is, whoever made it. */
import { Admin } from '@platformatic/kafka';
import type { Clock } from '../../base/clock.ts';
import type { KafkaAddress } from './address.ts';
import { clientOptions } from './client-options.ts';
import { KafkaRefusal, within } from './failures.ts';

export interface TopicPlan {
  readonly topic: string;
  readonly partitions: number;
  /** By their own names, beside those that follow from the address. */
  readonly configs?: Readonly<Record<string, string>>;
}

const requestMaxMs = 10_000;
const deadlineMsDefault = 20_000;

/** Returns when the topic is there; throws when that cannot be brought about now. */
export async function ensureTopic(
  address: KafkaAddress,
  { topic, partitions, configs = {} }: TopicPlan,
  clock: Clock,
  deadlineMs = deadlineMsDefault,
): Promise<void> {
  const { replication, minInsync } = address;
  const admin = new Admin(clientOptions(address, { name: 'topics', requestMaxMs, retries: 2 }));
  const allConfigs = { ...configs, ...(minInsync && { 'min.insync.replicas': String(minInsync) }) };
  try {
    await within(clock, deadlineMs, `making the topic ${topic}`, async () => {
      if ((await admin.listTopics()).includes(topic)) return;
      await admin.createTopics({
        topics: [topic],
        partitions,
        ...(replication && { replicas: replication }),
        configs: Object.entries(allConfigs).map(([name, value]) => ({ name, value })),
      });
    });
  } catch (error) {
    // Another process was quicker.
    if (!(error instanceof KafkaRefusal) || error.code !== 'TOPIC_ALREADY_EXISTS') throw error;
  } finally {
    await admin.close().catch(() => undefined);
  }
}
