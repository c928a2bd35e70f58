/** A topic with clicks of several days, for tests of the archive; remembers every click that was written. */

import { Admin } from '@platformatic/kafka';
import { sendDated } from '../../../test/kit/dated-messages.ts';
import { sharedKafka } from '../../../test/kit/engines/kafka.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import { type KafkaAddress, parseKafkaAddress } from '../../engines/kafka/address.ts';
import { openGroupProgress } from '../../engines/kafka/offsets.ts';
import { type KafkaReader, openKafkaReader } from '../../engines/kafka/reader.ts';
import { ensureTopic } from '../../engines/kafka/topics.ts';
import { sampleBatch } from '../batch-samples.ts';
import { randomTraffic } from '../fake-warehouse-truth.ts';
import { encodeFrame } from '../frame.ts';
import { type ClickLog, pairName } from '../log.ts';
import { PartitionNumbers, partsOf } from '../partition-numbers.ts';
import { createKafkaLog } from './kafka.ts';

const partitions = 3;
export const dayMs = 24 * 60 * 60_000;

export class ArchivedTopic {
  readonly address: KafkaAddress;
  readonly topic: string;
  readonly reader: KafkaReader;
  readonly log: ClickLog;
  readonly #numbers = new PartitionNumbers(new Float64Array(partitions));
  #written = 0;

  private constructor(address: KafkaAddress) {
    this.address = address;
    this.topic = address.topic;
    this.reader = openKafkaReader(address, { clock: systemClock });
    const { topic, reader } = this;
    this.log = createKafkaLog({ reader, topic, partitions, retentionMs: 7 * dayMs, clock: systemClock });
  }

  static async make(): Promise<ArchivedTopic> {
    const address = parseKafkaAddress((await sharedKafka()).freshTopicUrl({ partitions }));
    await ensureTopic(address, { topic: address.topic, partitions }, systemClock);
    return new ArchivedTopic(address);
  }

  /** Clicks in a few batches, written one after the other from a time on. */
  async write(at: number, count: number, batches = 3): Promise<void> {
    const messages = Array.from({ length: batches }, (_, index) => {
      const times = randomTraffic(seededRandom(this.#written + index), Math.ceil(count / batches));
      const clicks = times.map((click, place) => ({ ...click, at: at + place }));
      const batch = this.#numbers.number(sampleBatch(this.#written + 1, clicks));
      this.#written += clicks.length;
      return partsOf(batch).map(({ partition, batch: part }) => ({
        partition,
        at: at + index,
        value: encodeFrame(pairName('one', partition), part),
      }));
    });
    await sendDated(this.address, messages.flat());
  }

  /** Deletes old messages, as Kafka does after their retention, in all partitions or one of them. */
  async forgetBefore(time: number, partition?: number): Promise<void> {
    const offsets = await this.reader.offsets(this.topic, { time });
    const wanted = [...offsets].filter(([each]) => partition === undefined || each === partition);
    const progress = openGroupProgress(this.address, { clock: systemClock });
    await progress.deleteBefore(new Map(wanted));
    await progress.close();
  }

  /** Deletes the topic and creates it again under its name, with nothing in it. */
  async makeAgain(): Promise<void> {
    const admin = new Admin({ clientId: 'recreated', bootstrapBrokers: [...this.address.servers] });
    await admin.deleteTopics({ topics: [this.topic] });
    await until('the topic to be gone', async () => !(await admin.listTopics()).includes(this.topic));
    await admin.close();
    await ensureTopic(this.address, { topic: this.topic, partitions }, systemClock);
  }

  close(): Promise<void> {
    return this.reader.close();
  }
}
