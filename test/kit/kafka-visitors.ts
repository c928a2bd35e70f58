/**
 * Clicks of fake visitors, appended to Kafka batch by batch, each until it is acknowledged, like a click thread does.
 * The acknowledged clicks of each link are recorded, because these must be counted in the end.
 */
import { systemClock as clock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { type SampleClick, sampleBatch } from '../../src/clicks/batch-samples.ts';
import { clickCount } from '../../src/clicks/click.ts';
import { randomTraffic } from '../../src/clicks/fake-warehouse-truth.ts';
import { createKafkaWriter } from '../../src/clicks/logs/kafka.ts';
import { PartitionNumbers } from '../../src/clicks/partition-numbers.ts';
import type { KafkaAddress } from '../../src/engines/kafka/address.ts';
import { openKafkaProducer } from '../../src/engines/kafka/producer.ts';

export interface KafkaVisitorsOptions {
  readonly batchClicks: number;
  /** The pause between two batches, so that a small test does not fill the broker while it waits. */
  readonly pauseMs: number;
}

/** Batches that are sent over and over, under new numbers. */
const poolBatches = 20;
const repeatPauseMs = 100;

export class KafkaVisitors {
  readonly #address: KafkaAddress;
  readonly #pauseMs: number;
  readonly #pool: SampleClick[][];
  readonly #acknowledged = new Map<string, number>();
  #isOver = false;
  #running: Promise<void> | undefined;
  /** Appends that had to be repeated. */
  failures = 0;
  total = 0;

  constructor(address: KafkaAddress, { batchClicks, pauseMs }: KafkaVisitorsOptions) {
    this.#address = address;
    this.#pauseMs = pauseMs;
    this.#pool = Array.from({ length: poolBatches }, (_, seed) =>
      randomTraffic(seededRandom(seed), batchClicks),
    );
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  acknowledged(code: string): number {
    return this.#acknowledged.get(code) ?? 0;
  }

  get codes(): string[] {
    return [...this.#acknowledged.keys()];
  }

  async #run(): Promise<void> {
    const { topic, partitions } = this.#address;
    const kafka = openKafkaProducer(this.#address, { clock });
    const sink = createKafkaWriter({ kafka, topic, producer: 'visitors' });
    const numbers = new PartitionNumbers(new Float64Array(partitions));
    for (let number = 0; !this.#isOver; number += 1) {
      const clicks = this.#pool[number % this.#pool.length]!;
      const batch = numbers.number(sampleBatch(this.total + 1, clicks));
      for (let isStored = false; !isStored; ) {
        isStored = await sink.append(batch).then(
          () => true,
          () => false,
        );
        if (!isStored) {
          this.failures += 1;
          await Bun.sleep(repeatPauseMs);
        }
      }
      this.total += clickCount(batch);
      for (const { code } of clicks) this.#acknowledged.set(code!, this.acknowledged(code!) + 1);
      await Bun.sleep(this.#pauseMs);
    }
    await sink.close();
  }
}
