/**
 * A process that counts clicks and maintains their warehouse is killed at random moments, and another continues. After each
 * kill the answers are exactly those about the clicks that the positions say were counted.
 */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { ManualClock } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import { samplesStart } from '../../src/clicks/batch-samples.ts';
import { mismatches, sampledScopes, Truth } from '../../src/clicks/fake-warehouse-truth.ts';
import { type ClickLog, readBatches } from '../../src/clicks/log.ts';
import { createEmbeddedLog } from '../../src/clicks/logs/embedded.ts';
import { grainMs, type Warehouse } from '../../src/clicks/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { RandomQuestions } from '../kit/random-questions.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { temporaryFolder } from '../kit/terse-process.ts';
import { countBehind, logFolder, planAt, stepMaxMs, warehousePath } from './warehouse-worker.ts';

const killCount = scaled(20, 200);
const killsMax = 10 * killCount;
const aliveMaxMs = 300;
const questionsPerKill = 12;

/** The counted clicks, read from the log up to the counted positions. */
class Counted {
  readonly truth = new Truth();
  readonly #reached = new Map<string, number>();
  readonly #log: ClickLog;
  lastAt = samplesStart;
  clicks = 0;

  constructor(log: ClickLog) {
    this.#log = log;
  }

  async catchUp(positions: ReadonlyMap<string, number>): Promise<void> {
    for (const [partition, position] of positions) {
      let offset = this.#reached.get(partition) ?? 0;
      expectSafe(position).toBeGreaterThanOrEqual(offset);
      while (offset < position) {
        for (const { batch, to } of await readBatches(this.#log, partition, offset, 1)) {
          expectSafe(to, `${partition} was counted into the middle of a batch`).toBeLessThanOrEqual(position);
          this.truth.addBatch(batch);
          this.clicks += batch.at.length;
          for (const at of batch.at) this.lastAt = Math.max(this.lastAt, at);
          offset = to;
        }
      }
      this.#reached.set(partition, offset);
    }
  }
}

/** Resolves with how many steps of maintenance it has reported. */
async function workAndDie(
  folder: string,
  producer: string,
  random: Random,
  startedAt: number,
): Promise<number> {
  const seed = String(Math.floor(random.float() * 2 ** 31));
  const command = [process.execPath, `${import.meta.dir}/warehouse-worker.ts`, folder, producer, seed];
  const child = Bun.spawn([...command, String(startedAt)], {
    stdout: 'pipe',
    stderr: 'inherit',
    stdin: 'ignore',
  });
  let printed = '';
  const reader = child.stdout.getReader();
  const read = async (): Promise<boolean> => {
    const { value, done } = await reader.read();
    printed += new TextDecoder().decode(value);
    return !done;
  };
  if (!(await read())) throw new Error('the worker ended by itself');
  await Bun.sleep(random.float() * aliveMaxMs);
  expect(child.exitCode).toBeNull();
  child.kill('SIGKILL');
  while (await read());
  await child.exited;
  return printed.split('\n').reduce((sum, line) => sum + Number(line), 0);
}

async function expectRight(warehouse: Warehouse, counted: Counted, random: Random): Promise<void> {
  await counted.catchUp(await warehouse.positions());
  const { truth, lastAt } = counted;
  const cut = planAt(lastAt + stepMaxMs, 0).singlesFrom;
  const range = { from: samplesStart - 5 * grainMs.day, to: Math.ceil(lastAt / grainMs.day) * grainMs.day };
  const questions = new RandomQuestions(random, truth.world(range));
  const unfiltered = questions.take(questionsPerKill, { grain: 'quarter', isFiltered: false });
  expectSafe(await mismatches(warehouse, truth, unfiltered)).toEqual([]);
  const recent = questions.take(questionsPerKill, { from: cut });
  expectSafe(await mismatches(warehouse, truth, recent, cut)).toEqual([]);
  expectSafe(await warehouse.totals(sampledScopes)).toEqual(sampledScopes.map(scope => truth.total(scope)));
  const ledger = await warehouse.ledger(0, Number.MAX_SAFE_INTEGER);
  expectSafe(ledger.reduce((sum, row) => sum + row.counted, 0)).toBe(counted.clicks);
}

test(
  'a warehouse whose process is killed while it counts, merges and ends single clicks has every counted click once',
  async () => {
    const random = announcedRandom('kills of the warehouse');
    const folder = temporaryFolder();
    const clock = new ManualClock(samplesStart);
    const startedMs = performance.now();
    try {
      const log = createEmbeddedLog({ folder: logFolder(folder), producer: 'reader', clock });
      const counted = new Counted(log);
      let steps = 0;
      // On a busy machine a worker does less before it is killed, but some days must end.
      const enoughAt = samplesStart + 3 * grainMs.day;
      const isEnough = (kill: number): boolean =>
        kill >= killsMax || (kill >= killCount && steps > 0 && counted.lastAt > enoughAt);
      let kills = 0;
      for (; !isEnough(kills); kills += 1) {
        steps += await workAndDie(folder, `worker${kills}`, random, counted.lastAt + grainMs.minute);
        const warehouse = openSqliteWarehouse(warehousePath(folder));
        await expectRight(warehouse, counted, random);
        await warehouse.close();
      }
      expect(steps).toBeGreaterThan(0);
      expect(counted.lastAt).toBeGreaterThan(enoughAt);
      // The next process finishes work that was interrupted.
      const warehouse = openSqliteWarehouse(warehousePath(folder));
      await countBehind(log, warehouse);
      await counted.catchUp(await warehouse.positions());
      const plan = planAt(counted.lastAt + stepMaxMs, 10_000);
      while ((await warehouse.maintain(plan)) > 0);
      await expectRight(warehouse, counted, random);
      await warehouse.close();
      const database = new Database(warehousePath(folder));
      expectSafe(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
      database.close();
      report(
        `${kills} kills in ${Math.round((performance.now() - startedMs) / 1_000)} s: ${counted.clicks} clicks of ` +
          `${Math.round((counted.lastAt - samplesStart) / grainMs.day)} days counted, each once, with ${steps} steps of maintenance between the kills`,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  heavyTestMaxMs,
);
