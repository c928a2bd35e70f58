/**
 * A process that stores clicks in a log, counts them and does maintenance without a pause, on a clock that runs as fast as
 * it works, so that days are merged and their single clicks end all the time. `warehouse-worker.ts FOLDER PRODUCER SEED
 * STARTED_AT` runs until it is killed. It prints the steps of maintenance that it has done.
 */
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';
import { type SampleClick, sampleBatch } from '../../src/clicks/batch-samples.ts';
import { randomTraffic } from '../../src/clicks/fake-warehouse-truth.ts';
import { type ClickLog, partitionsBehind, readBatches } from '../../src/clicks/log.ts';
import { createEmbeddedLog } from '../../src/clicks/logs/embedded.ts';
import { grainMs, type MaintenancePlan, type Warehouse } from '../../src/clicks/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';

export const rawDays = 2;
/** By how much the clock is ahead of the last click, at most. */
export const stepMaxMs = 3 * 60 * grainMs.minute;
const batchMax = 400;
const readBytesMax = 1024 * 1024;

export const logFolder = (folder: string): string => join(folder, 'clicks');
export const warehousePath = (folder: string): string => join(folder, 'stats.db');

export const planAt = (now: number, rowsMax: number): MaintenancePlan => {
  const oldest = Math.floor(now / grainMs.day - rawDays) * grainMs.day;
  return { now, singlesFrom: oldest, minutesFrom: oldest, rowsMax };
};

/** Most of the last few minutes; some come days late. */
export function clicksAt(random: Random, now: number): SampleClick[] {
  const count = 1 + Math.floor(random.float() * batchMax);
  return randomTraffic(random, count).map(click => ({
    ...click,
    at: Math.floor(now - random.float() * (random.float() < 0.03 ? 4 * grainMs.day : 5 * grainMs.minute)),
  }));
}

/** Counts everything that is in the log. */
export async function countBehind(log: ClickLog, warehouse: Warehouse): Promise<void> {
  const positions = await warehouse.positions();
  for (const { name } of await partitionsBehind(log, positions)) {
    for (let offset = positions.get(name) ?? 0; ; ) {
      const batches = await readBatches(log, name, offset, readBytesMax);
      if (batches.length === 0) break;
      await warehouse.apply(batches);
      offset = batches.at(-1)!.to;
    }
  }
}

async function run(folder: string, producer: string, seed: number, startedAt: number): Promise<never> {
  const random = seededRandom(seed);
  const clock = new ManualClock(startedAt);
  const log = createEmbeddedLog({ folder: logFolder(folder), producer, clock });
  const warehouse = openSqliteWarehouse(warehousePath(folder));
  for (let sequence = 1; ; ) {
    const clicks = clicksAt(random, clock.now());
    await log.append(sampleBatch(sequence, clicks));
    sequence += clicks.length;
    await countBehind(log, warehouse);
    clock.advance(random.float() * stepMaxMs);
    let steps = 0;
    while (random.float() < 0.8 && (await warehouse.maintain(planAt(clock.now(), 2_000))) > 0) steps += 1;
    process.stdout.write(`${steps}\n`);
    await Bun.sleep(0);
  }
}

if (import.meta.main) {
  const [folder, producer, seed, startedAt] = process.argv.slice(2);
  await run(folder!, producer!, Number(seed), Number(startedAt));
}
