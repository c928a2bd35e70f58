/** Counting from Kafka into SQLite, by two processes of one machine. */
import { afterAll, afterEach, beforeAll, beforeEach, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { link, ownerOf } from '../../src/clicks/fake-warehouse-truth.ts';
import type { Warehouse } from '../../src/clicks/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import {
  type KafkaClusterEngine,
  type KafkaEngine,
  startKafka,
  startKafkaCluster,
} from '../kit/engines/kafka.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { temporaryFolder } from '../kit/terse-process.ts';
import { countThroughFaults, partitions } from './counting-through-faults.ts';

let dataFolder: string;
beforeEach(() => {
  dataFolder = temporaryFolder();
});
afterEach(() => rmSync(dataFolder, { recursive: true, force: true }));

async function ask<Answer>(question: (warehouse: Warehouse) => Promise<Answer>): Promise<Answer> {
  const warehouse = openSqliteWarehouse(join(dataFolder, 'stats.db'));
  try {
    return await question(warehouse);
  } finally {
    await warehouse.close();
  }
}

const countInSqlite = (streamUrl: string, strikes: readonly (() => Promise<void>)[]) =>
  countThroughFaults({
    streamUrl,
    killCount: scaled(3, 20),
    strikes,
    dataFolders: [dataFolder, dataFolder],
    countedOf: code =>
      ask(async warehouse => {
        const { clicks, bots } = await warehouse.total(link(code, ownerOf(code)));
        return clicks + bots;
      }),
    countedInAll: () =>
      ask(async warehouse =>
        (await warehouse.ledger(0, Number.MAX_SAFE_INTEGER)).reduce((sum, { counted }) => sum + counted, 0),
      ),
  });

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
        countInSqlite(engine.freshTopicUrl({ partitions }), [
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
        countInSqlite(cluster.freshTopicUrl({ partitions }), [
          () => cluster.brokers[0]!.kill(),
          () => cluster.brokers[0]!.restart(),
        ]),
      heavyTestMaxMs,
    );
  },
  { own: true },
);
