/** What threads that speak to Kafka about clicks have in common: opening it, and making its topics. */
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { headsTopicPlan } from '../clicks/streams/kafka/heads.ts';
import { createKafkaSource, type KafkaSource } from '../clicks/streams/kafka/source.ts';
import { type KafkaAddress, parseKafkaAddress } from '../engines/kafka/address.ts';
import { type KafkaReader, openKafkaReader } from '../engines/kafka/reader.ts';
import { ensureTopic } from '../engines/kafka/topics.ts';

export interface OpenKafka {
  readonly address: KafkaAddress;
  readonly topic: string;
  readonly reader: KafkaReader;
  readonly source: KafkaSource;
  /** For how long messages are kept, as far as we know. */
  readonly retentionMs: number;
}

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const topicsPauseMs = 3_000;

/** Connects when it is first used. */
export function openClickKafka(
  settings: Pick<ClickSettings, 'stream'>,
  onPoison: (partition: string, position: number) => void = () => {},
): OpenKafka {
  const address = parseKafkaAddress(settings.stream);
  const reader = openKafkaReader(address, { clock: systemClock });
  const source = createKafkaSource({ reader, topic: address.topic, onPoison });
  return { address, topic: address.topic, reader, source, retentionMs: address.retentionHours * hourMs };
}

/** Goes on until the topics are there; whoever needs them meanwhile fails and tries again. The returned function ends it. */
export function keepMakingTopics(
  { address, topic }: OpenKafka,
  { rawDays }: ClickSettings,
  onProblem: (what: string, error: unknown) => void,
  clock: Clock = systemClock,
): () => void {
  const { partitions, retentionHours } = address;
  const plans = [
    { topic, partitions, configs: { 'retention.ms': String(retentionHours * hourMs) } },
    headsTopicPlan(topic, rawDays * dayMs),
  ];
  let isOver = false;
  const make = async (): Promise<void> => {
    while (!isOver) {
      try {
        for (const plan of plans) await ensureTopic(address, plan, clock);
        return;
      } catch (error) {
        onProblem('topics for clicks cannot be made', error);
        await sleep(clock, topicsPauseMs);
      }
    }
  };
  void make();
  return () => {
    isOver = true;
  };
}
