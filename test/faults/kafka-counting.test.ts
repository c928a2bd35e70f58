/**
 * Clicks flow into Kafka without a pause while those who count them are killed again and again, and brokers are restarted
 * and killed. In the end every click that Kafka acknowledged is counted, once, for its link and for its owner.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock as clock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { clickCount } from '../../src/clicks/batch.ts';
import { randomClicks, type SampleClick, sampleBatch } from '../../src/clicks/batch-samples.ts';
import { PartitionNumbers } from '../../src/clicks/partition-numbers.ts';
import { createKafkaSink } from '../../src/clicks/streams/kafka/sink.ts';
import type { Warehouse } from '../../src/clicks/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { type KafkaAddress, parseKafkaAddress } from '../../src/engines/kafka/address.ts';
import { openKafkaProducer } from '../../src/engines/kafka/producer.ts';
import { ensureTopic } from '../../src/engines/kafka/topics.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import {
  type KafkaClusterEngine,
  type KafkaEngine,
  startKafka,
  startKafkaCluster,
} from '../kit/engines/kafka.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const clicksMin = scaled(20_000, 5_000_000);
const killCount = scaled(3, 20);
const batchClicks = scaled(200, 8_192);
/** Between two batches, so that a small test does not fill the broker while it waits for kills. */
const batchPauseMs = scaled(20, 0);
const workerCount = 2;
const countedMaxMs = scaled(120_000, 1_800_000);
const partitions = 6;

/** Appends batches, each until it is acknowledged, as a click thread does; and knows what was. */
class Visitors {
  readonly #address: KafkaAddress;
  readonly #pool: SampleClick[][];
  readonly #acknowledged = new Map<string, number>();
  #isOver = false;
  #running: Promise<void> | undefined;
  failures = 0;
  total = 0;

  constructor(address: KafkaAddress) {
    this.#address = address;
    this.#pool = Array.from({ length: 20 }, (_, seed) => randomClicks(seededRandom(seed), batchClicks));
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
    const { topic } = this.#address;
    const kafka = openKafkaProducer(this.#address, { clock });
    const sink = createKafkaSink({ kafka, topic, producer: 'visitors' });
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
          await Bun.sleep(100);
        }
      }
      this.total += clickCount(batch);
      for (const { code } of clicks) this.#acknowledged.set(code!, this.acknowledged(code!) + 1);
      await Bun.sleep(batchPauseMs);
    }
    await sink.close();
  }
}

let dataFolder: string;
beforeEach(() => {
  dataFolder = temporaryFolder();
});
afterEach(() => rmSync(dataFolder, { recursive: true, force: true }));

async function until(what: string, maxMs: number, isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (const untilMs = performance.now() + maxMs; !(await isSo()); await Bun.sleep(200)) {
    if (performance.now() > untilMs) throw new Error(`it did not come to pass that ${what}`);
  }
}

async function ask<Answer>(question: (warehouse: Warehouse) => Promise<Answer>): Promise<Answer> {
  const warehouse = openSqliteWarehouse(join(dataFolder, 'stats.db'));
  try {
    return await question(warehouse);
  } finally {
    await warehouse.close();
  }
}

const totalOf = (code: string) =>
  ask(async warehouse => {
    const { clicks, bots } = await warehouse.total({ kind: 'link', code });
    return clicks + bots;
  });
const countedInAll = () =>
  ask(async warehouse =>
    (await warehouse.ledger(0, Number.MAX_SAFE_INTEGER)).reduce((sum, { counted }) => sum + counted, 0),
  );

/** Kills and replaces those who count, one after the other, while `strikes` happen beside. */
async function countThroughFaults(
  streamUrl: string,
  strikes: readonly (() => Promise<void>)[],
): Promise<void> {
  const random = announcedRandom('kills of those who count');
  const address = parseKafkaAddress(streamUrl);
  await ensureTopic(address, { topic: address.topic, partitions }, clock);
  const visitors = new Visitors(address);
  const env = { TERSE_STREAM: streamUrl, TERSE_ROLES: 'worker', TERSE_LOG_LEVEL: 'silent' };
  const start = () => startTerseProcess({ dataFolder, env });
  const workers: TerseProcess[] = [];
  const startedMs = performance.now();
  try {
    for (let index = 0; index < workerCount; index += 1) workers.push(await start());
    visitors.start();
    for (let kill = 0; kill < killCount; kill += 1) {
      const before = await countedInAll();
      await until(
        'clicks are counted between kills',
        countedMaxMs,
        async () => (await countedInAll()) > before,
      );
      await Bun.sleep(random.float() * 1_500);
      const index = kill % workerCount;
      const killed = workers[index]!.kill();
      await strikes[kill]?.();
      await killed;
      workers[index] = await start();
    }
    await until('enough clicks are sent', heavyTestMaxMs, () => visitors.total >= clicksMin);
    await visitors.stop();
    await until('all clicks are counted', countedMaxMs, async () => (await countedInAll()) >= visitors.total);
    // A little longer, in case somebody counts more than there is.
    await Bun.sleep(2_000);
    expect(await countedInAll()).toBe(visitors.total);
    for (const code of visitors.codes)
      expect([code, await totalOf(code)]).toEqual([code, visitors.acknowledged(code)]);
    const seconds = (performance.now() - startedMs) / 1_000;
    report(
      `${visitors.total} clicks acknowledged by Kafka and counted, each once, in ${seconds.toFixed(0)} s: ` +
        `${killCount} kills of ${workerCount} counters, ${strikes.length} of brokers, ${visitors.failures} appends repeated`,
    );
  } finally {
    await visitors.stop();
    for (const worker of workers) await worker.kill();
  }
}

describeWithEngine(
  'kafka',
  'counting out of Kafka',
  () => {
    let engine: KafkaEngine;
    beforeAll(async () => {
      engine = await startKafka();
    });
    afterAll(() => engine?.stop());

    test(
      'counters are killed and the broker is restarted and killed: counted is what was acknowledged, exactly',
      () =>
        countThroughFaults(engine.freshTopicUrl({ partitions }), [
          () => engine.restart(),
          async () => {
            await engine.kill();
            await engine.restart();
          },
        ]),
      heavyTestMaxMs,
    );
  },
  { own: true },
);

describeWithEngine(
  'kafka',
  'counting out of three Kafka brokers',
  () => {
    let cluster: KafkaClusterEngine;
    beforeAll(async () => {
      cluster = await startKafkaCluster();
    }, heavyTestMaxMs);
    afterAll(() => cluster?.stop());

    test(
      'counters are killed and so is one of three brokers: counted is what was acknowledged, exactly',
      () =>
        countThroughFaults(cluster.freshTopicUrl({ partitions }), [
          () => cluster.brokers[0]!.kill(),
          () => cluster.brokers[0]!.restart(),
        ]),
      heavyTestMaxMs,
    );
  },
  { own: true },
);
