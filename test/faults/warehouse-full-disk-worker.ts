/**
 * A process whose files may not grow while it counts, merges or ends single clicks: `warehouse-full-disk-worker.ts FOLDER
 * PHASE SEED`. It checks its answers while nothing can be written and after that, and prints what it found as JSON.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '../../src/base/random.ts';
import { samplesStart } from '../../src/clicks/batch-samples.ts';
import {
  type Mismatch,
  mismatches,
  partition,
  randomTraffic,
  Truth,
} from '../../src/clicks/fake-warehouse-truth.ts';
import { grainMs, type MaintenancePlan } from '../../src/clicks/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { RandomQuestions } from '../kit/random-questions.ts';

export const phases = ['counting', 'merging', 'the end of single clicks'] as const;
export type Phase = (typeof phases)[number];

export interface FullDiskResult {
  /** Calls that failed while the disk was full. */
  readonly failures: number;
  /** Calls that succeeded nevertheless. */
  readonly successes: number;
  readonly wrong: readonly Mismatch[];
  readonly left: number;
}

const rounds = 6;
const batchClicks = 200;
const stepsMax = 60;
const from = Math.floor(samplesStart / grainMs.day) * grainMs.day;
const now = from + 30 * grainMs.day;

/** Files of this process may not grow past this; undefined lifts the limit. */
function limitFileSize(maxBytes: number | undefined): void {
  const limit = `--fsize=${maxBytes ?? 'unlimited'}:`;
  const { exitCode, stderr } = Bun.spawnSync(['prlimit', '--pid', String(process.pid), limit]);
  if (exitCode !== 0) throw new Error(`prlimit failed: ${stderr}`);
}

async function run(folder: string, phase: Phase, seed: number): Promise<FullDiskResult> {
  const random = seededRandom(seed);
  const warehouse = openSqliteWarehouse(join(folder, 'stats.db'));
  const truth = new Truth();
  const clicks = randomTraffic(random, rounds * 20 * batchClicks, 4);
  const questions = new RandomQuestions(random, new Truth(clicks.slice(0, 1_000)).world());
  const batches = partition('p', clicks, batchClicks);
  const wrong: Mismatch[] = [];
  let [failures, successes, next] = [0, 0, 0];
  const planOf = (day: number): MaintenancePlan => ({
    now,
    singlesFrom: day,
    minutesFrom: day,
    rowsMax: 500,
  });
  const cutOf = (round: number): number =>
    phase === 'the end of single clicks' ? from + ((round * 5) / rounds) * grainMs.day : 0;
  const count = async (): Promise<void> => {
    const batch = batches[next]!;
    const { clicks: counted } = await warehouse.apply([batch]);
    next += 1;
    // A call that failed may have counted its clicks.
    if (counted !== batch.batch.at.length) throw new Error(`${counted} clicks of a batch were counted`);
    truth.addBatch(batch.batch);
  };
  const check = async (cut: number): Promise<void> => {
    const whole = Math.floor(cut / grainMs.day) * grainMs.day;
    const unfiltered = questions.take(6, { grain: 'quarter', isFiltered: false });
    wrong.push(...(await mismatches(warehouse, truth, unfiltered)));
    const recent = questions.take(6, { from: Math.max(from, whole) });
    wrong.push(...(await mismatches(warehouse, truth, recent, whole)));
  };
  for (let round = 0; round < rounds; round += 1) {
    for (let batch = 0; batch < 16; batch += 1) await count();
    const cut = cutOf(round);
    const largest = Math.max(...readdirSync(folder).map(name => statSync(join(folder, name)).size));
    // Sometimes nothing can be written, sometimes a part of it.
    limitFileSize(largest + Math.floor(random.float() ** 3 * 400_000));
    for (let step = 0; step < stepsMax; step += 1) {
      try {
        if (phase === 'counting') await count();
        else if ((await warehouse.maintain(planOf(cut))) === 0) break;
        successes += 1;
      } catch {
        failures += 1;
        if (random.float() < 0.4) break;
      }
      if (next >= (round + 1) * 20) break;
    }
    await check(cut);
    limitFileSize(undefined);
    await check(cut);
    if (round % 3 === 2) while ((await warehouse.maintain(planOf(cut))) > 0);
    await check(cut);
  }
  while ((await warehouse.maintain(planOf(cutOf(rounds)))) > 0);
  await check(cutOf(rounds));
  const left = await warehouse.maintain(planOf(cutOf(rounds)));
  await warehouse.close();
  return { failures, successes, wrong: wrong.slice(0, 3), left };
}

if (import.meta.main) {
  const [folder, phase, seed] = process.argv.slice(2);
  process.stdout.write(JSON.stringify(await run(folder!, phase as Phase, Number(seed))));
}
