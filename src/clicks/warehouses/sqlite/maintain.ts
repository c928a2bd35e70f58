/**
 * Merging, a bounded step at a time. Runs of one day and level are merged once there are enough of them; those of a day
 * that is over, until few are left; those of a day whose single clicks are no longer kept are rolled off.
 */
import type { Database } from 'bun:sqlite';
import { grainMs, type MaintenancePlan } from '../../warehouse.ts';
import { GroupJob } from './group-job.ts';
import type { LegacyCounts } from './legacy.ts';
import { type Job, MergeJob, type MergePlan, TotalsJob } from './merge.ts';
import { groupedForm, type Run, runColumns, totalledLevel } from './runs.ts';
import { totalsDay } from './totals.ts';

/** So many runs of a level become one of the next. */
const fanIn = 16;
const totalsFanIn = 8;
/** Clicks of a day come late for a while after its end. */
const lateMs = 2 * 60 * grainMs.minute;
/** Runs of an earlier day are merged unless one is this many times larger than all smaller ones together. */
const sizeRatio = 4;
/** What is of a lower level has few chunks, and is merged soon where there are many clicks. */
const groupedLevel = 1;
/** Rows of a dropped run that are deleted in one step: chunks of some hundred kilobytes each. */
const deletedPerStep = 16;

export class Maintenance {
  readonly #database: Database;
  readonly #legacy: LegacyCounts;
  #job: Job | undefined;
  /** Goes on when there is no other job. */
  #grouping: GroupJob | undefined;

  constructor(database: Database, legacy: LegacyCounts) {
    this.#database = database;
    this.#legacy = legacy;
  }

  /** One step, within a transaction; what it returns is zero when nothing is left to do. */
  step({ now, rowsMax, singlesFrom }: MaintenancePlan): number {
    if (this.#job === undefined) {
      const tidied = this.#legacy.fillOwner() || this.#deleteDropped(now);
      if (tidied > 0) return tidied;
      this.#takeNextJob(now, singlesFrom);
    }
    const job = this.#job ?? this.#grouping;
    if (job === undefined) return 0;
    const done = job.step(rowsMax, now);
    if (done === 0 && job === this.#grouping) this.#grouping = undefined;
    else if (done === 0) this.#job = undefined;
    return Math.max(1, done);
  }

  /** After a failure: what was written since the last commit is gone, and the merge starts over. */
  reset(): void {
    this.#job = undefined;
    this.#grouping = undefined;
  }

  #deleteDropped(now: number): number {
    this.#database
      .query("UPDATE runs SET state = 'dropped' WHERE state = 'building' AND claimed_until < ?")
      .run(now);
    const run = this.#database
      .query<{ id: number }, []>("SELECT id FROM runs WHERE state = 'dropped' LIMIT 1")
      .get();
    if (run === null) return 0;
    let deleted = 0;
    for (const table of ['chunks', 'summaries', 'totals', 'groups', 'group_parts'])
      deleted += this.#database
        .query(
          `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE run = ? LIMIT ${deletedPerStep})`,
        )
        .run(run.id).changes;
    if (deleted === 0) this.#database.query('DELETE FROM runs WHERE id = ?').run(run.id);
    return deleted + 1;
  }

  #takeNextJob(now: number, singlesFrom: number): void {
    const runs = this.#database
      .query<Run, [number, string | null]>(`
        SELECT ${runColumns} FROM runs
        WHERE state = 'live' AND (claimed_until < ? OR builder = ?) ORDER BY day DESC, level, id`)
      .all(now, this.#grouping?.builder ?? null);
    this.#job = this.#nextMerge(runs, now, singlesFrom);
    if (this.#job !== undefined || this.#grouping !== undefined) return;
    const ungrouped = runs.find(
      run => run.grouped !== groupedForm && run.singles === 1 && run.level >= groupedLevel,
    );
    this.#grouping = ungrouped && new GroupJob(this.#database, ungrouped);
  }

  #nextMerge(runs: readonly Run[], now: number, singlesFrom: number): Job | undefined {
    for (const [day, ofDay] of Map.groupBy(runs, run => run.day)) {
      if (day === totalsDay) {
        const inputs = fullLevel(ofDay, totalsFanIn);
        if (inputs !== undefined) return TotalsJob.merging(this.#database, inputs, now);
        continue;
      }
      // What was rolled off has no single clicks, and is merged only with its like.
      const singles = ofDay.filter(run => run.singles === 1);
      const plan = day + grainMs.day <= singlesFrom ? rollOff(ofDay, singles) : mergeOf(singles, day, now);
      if (plan !== undefined) return new MergeJob(this.#database, plan, now);
    }
    const untotalled = runs.filter(({ totalled, level }) => totalled === 0 && level >= totalledLevel);
    return untotalled.length === 0
      ? undefined
      : TotalsJob.adding(this.#database, untotalled.slice(0, fanIn), now);
  }
}

/** Runs of the lowest level that has enough of them. */
function fullLevel(runs: readonly Run[], count: number): readonly Run[] | undefined {
  for (const ofLevel of Map.groupBy(runs, ({ level }) => level).values())
    if (ofLevel.length >= count) return ofLevel.slice(0, 2 * count);
  return undefined;
}

function mergeOf(runs: readonly Run[], day: number, now: number): MergePlan | undefined {
  const inputs = fullLevel(runs, fanIn);
  if (inputs !== undefined) return { inputs, level: inputs[0]!.level + 1, rollsOff: false };
  return day + grainMs.day + lateMs <= now ? mergeSmall(runs, false) : undefined;
}

/** Single clicks first; what was rolled off before is merged again when it has become many runs. */
function rollOff(runs: readonly Run[], singles: readonly Run[]): MergePlan | undefined {
  if (singles.length > 0)
    return { inputs: singles.slice(0, 2 * fanIn), level: levelOf(singles), rollsOff: true };
  return runs.length >= fanIn / 2 ? mergeSmall(runs, true) : undefined;
}

function mergeSmall(runs: readonly Run[], rollsOff: boolean): MergePlan | undefined {
  const bySize = [...runs].sort((a, b) => a.clicks - b.clicks);
  let clicks = 0;
  let count = 0;
  // A gap between small ones ends nothing: what lies behind it may be worth merging, and then all of them are.
  for (const [index, run] of bySize.slice(0, 2 * fanIn).entries()) {
    if (index > 0 && run.clicks <= sizeRatio * clicks) count = index + 1;
    clicks += run.clicks;
  }
  if (count > 1) return { inputs: bySize.slice(0, count), level: levelOf(bySize.slice(0, count)), rollsOff };
  // One alone is worth it only to have summaries and to get into the totals.
  const alone = runs.find(({ level }) => level < totalledLevel);
  return alone && { inputs: [alone], level: totalledLevel, rollsOff };
}

const levelOf = (runs: readonly Run[]): number => Math.max(totalledLevel, ...runs.map(({ level }) => level));
