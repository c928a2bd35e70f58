/** A topic with clicks of several days, for tests of the archive; what was written is known here click by click. */

import { Admin } from '@platformatic/kafka';
import { sendDated } from '../../../../test/kit/dated-messages.ts';
import { sharedKafka } from '../../../../test/kit/engines/kafka.ts';
import { systemClock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { type KafkaAddress, parseKafkaAddress } from '../../../engines/kafka/address.ts';
import { openGroupProgress } from '../../../engines/kafka/group-progress.ts';
import { type KafkaReader, openKafkaReader } from '../../../engines/kafka/reader.ts';
import { ensureTopic } from '../../../engines/kafka/topics.ts';
import { randomClicks, sampleBatch } from '../../batch-samples.ts';
import { encodeFrame } from '../../frame.ts';
import { PartitionNumbers, partsOf } from '../../partition-numbers.ts';
import { pairName } from '../../stream.ts';
import { createKafkaSource, type KafkaSource } from './source.ts';

const partitions = 3;
export const dayMs = 24 * 60 * 60_000;

export class ArchivedTopic {
  readonly address: KafkaAddress;
  readonly topic: string;
  readonly reader: KafkaReader;
  readonly source: KafkaSource;
  readonly #numbers = new PartitionNumbers(new Float64Array(partitions));
  #written = 0;

  private constructor(address: KafkaAddress) {
    this.address = address;
    this.topic = address.topic;
    this.reader = openKafkaReader(address, { clock: systemClock });
    this.source = createKafkaSource({ reader: this.reader, topic: address.topic, onPoison: () => {} });
  }

  static async make(): Promise<ArchivedTopic> {
    const address = parseKafkaAddress((await sharedKafka()).freshTopicUrl({ partitions }));
    await ensureTopic(address, { topic: address.topic, partitions }, systemClock);
    return new ArchivedTopic(address);
  }

  /** Clicks in a few batches, written one after the other from a time on. */
  async write(at: number, count: number, batches = 3): Promise<void> {
    const messages = Array.from({ length: batches }, (_, index) => {
      const times = randomClicks(seededRandom(this.#written + index), Math.ceil(count / batches));
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

  /** As Kafka does when a message's time is over, in all partitions or one of them. */
  async forgetBefore(time: number, partition?: number): Promise<void> {
    const offsets = await this.reader.offsets(this.topic, { time });
    const wanted = [...offsets].filter(([each]) => partition === undefined || each === partition);
    const progress = openGroupProgress(this.address, { clock: systemClock });
    await progress.deleteBefore(new Map(wanted));
    await progress.close();
  }

  /** Deleted and made once more under its name, with nothing in it. */
  async makeAnew(): Promise<void> {
    const admin = new Admin({ clientId: 'anew', bootstrapBrokers: [...this.address.servers] });
    await admin.deleteTopics({ topics: [this.topic] });
    while ((await admin.listTopics()).includes(this.topic)) await Bun.sleep(20);
    await admin.close();
    await ensureTopic(this.address, { topic: this.topic, partitions }, systemClock);
  }

  close(): Promise<void> {
    return this.reader.close();
  }
}
