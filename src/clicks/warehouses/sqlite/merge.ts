/** Makes one run of several, a bounded number of clicks at a time, and of several runs of totals one. */
import type { Database } from 'bun:sqlite';
import { systemRandom } from '../../../base/random.ts';
import { compareLinks } from './chunk.ts';
import { Cursor, heapify, nextInHeap, siftDown } from './merge-cursor.ts';
import { RunWriter } from './run-writer.ts';
import { createRun, noteClicks, type Run, setState, totalledLevel } from './runs.ts';
import { SumsOfScopes } from './sums.ts';
import { mergeTotals, readTotals, type TotalsEntry, TotalsWriter, totalsDay } from './totals.ts';

/** A merge that has not gone on for so long was abandoned with its process. */
export const claimMs = 5 * 60_000;

export interface Job {
  /** Works on about so many clicks, within a transaction; returns how many, and zero when it has ended. */
  step(rowsMax: number, now: number): number;
}

export interface MergePlan {
  readonly inputs: readonly Run[];
  readonly level: number;
  readonly rollsOff: boolean;
}

/** Clicks of one day. */
export class MergeJob implements Job {
  readonly #database: Database;
  readonly #plan: MergePlan;
  readonly #builder = newBuilder();
  readonly #output: number;
  readonly #totalsRun: number | undefined;
  readonly #writer: RunWriter;
  readonly #cursors: Cursor[];

  constructor(database: Database, plan: MergePlan, now: number) {
    this.#database = database;
    this.#plan = plan;
    const { inputs, level, rollsOff } = plan;
    const { day } = inputs[0]!;
    const made = { level, state: 'building', claimedUntil: now + claimMs, builder: this.#builder } as const;
    const isTotalled = level >= totalledLevel;
    const addsToTotals = isTotalled && inputs.some(({ totalled }) => totalled === 0);
    this.#output = createRun(database, { ...made, day, singles: !rollsOff, totalled: isTotalled });
    this.#totalsRun = addsToTotals
      ? createRun(database, { ...made, level: 0, day: totalsDay, singles: false })
      : undefined;
    this.#writer = new RunWriter({
      database,
      run: this.#output,
      day,
      makesSummaries: true,
      rollsOff,
      ...(rollsOff && { forgotten: forgottenSince(database, day) }),
      totals: this.#totalsRun === undefined ? undefined : new TotalsWriter(database, this.#totalsRun),
    });
    this.#cursors = inputs.map(run => new Cursor(database, run)).filter(({ key }) => key !== undefined);
    heapify(this.#cursors);
  }

  get #own(): number[] {
    return [this.#output, ...(this.#totalsRun === undefined ? [] : [this.#totalsRun])];
  }

  step(rowsMax: number, now: number): number {
    if (!claim(this.#database, this.#plan.inputs, this.#own, this.#builder, now)) return 0;
    const start = this.#writer.rows;
    const cursors = this.#cursors;
    let summaries = 0;
    while (cursors.length > 0 && this.#writer.rows + summaries - start < rowsMax) {
      const cursor = cursors[0]!;
      summaries += this.#take(cursor);
      if (cursor.key === undefined) {
        const last = cursors.pop()!;
        if (cursors.length > 0 && last !== cursor) cursors[0] = last;
      }
      siftDown(cursors, 0);
    }
    if (cursors.length > 0) return this.#writer.rows + summaries - start;
    this.#writer.finish();
    this.#swap();
    return 0;
  }

  /** Takes what is ahead of all other cursors; returns how many summaries that were. */
  #take(cursor: Cursor): number {
    const key = cursor.key!;
    const { rows, summary, ownerSummary, run } = cursor;
    const { isLinkSummarised } = cursor;
    const origin = {
      totalled: run.totalled === 1,
      isInSummaries: ownerSummary !== undefined,
      isLinkSummarised,
    };
    if (cursor.isNewOwner) {
      cursor.isNewOwner = false;
      if (ownerSummary !== undefined) this.#writer.appendOwner(key.owner, ownerSummary, origin);
    }
    if (summary !== undefined) {
      this.#writer.appendSummary(key, summary, origin);
      cursor.next(cursor.from);
      return 100;
    }
    const other = nextInHeap(this.#cursors);
    const isShared =
      other !== undefined && other.summary === undefined && compareLinks(other.key!, key) === 0;
    const end = isShared ? Math.max(cursor.from + 1, cursor.endAt(other.at)) : cursor.to;
    this.#writer.append(key, rows!, cursor.from, end, origin);
    cursor.next(end);
    return 0;
  }

  #swap(): void {
    const inputs = this.#plan.inputs.map(({ id }) => id);
    const clicks = this.#plan.inputs.reduce((sum, run) => sum + run.clicks, 0);
    // What is in summaries only has no rows.
    if (this.#plan.inputs.every(({ singles }) => singles === 1) && clicks !== this.#writer.rows)
      throw new Error(`a merge of ${clicks} clicks has ${this.#writer.rows}`);
    const stored = this.#database
      .query<{ clicks: number | null }, [number]>('SELECT sum(rows) AS clicks FROM chunks WHERE run = ?')
      .get(this.#output);
    if (!this.#plan.rollsOff && (stored?.clicks ?? 0) !== clicks)
      throw new Error(`a merge of ${clicks} clicks has stored ${stored?.clicks}`);
    noteClicks(this.#database, this.#output, addHours(this.#database, inputs));
    setState(this.#database, inputs, 'dropped');
    setState(this.#database, this.#own, 'live');
  }
}

/** What a run has of each link, owner and tag, in order; of a link with clicks in several chunks, chunk by chunk. */
export function* entriesOfRun(database: Database, run: Run): Generator<TotalsEntry> {
  const entries: TotalsEntry[] = [];
  const sums = new SumsOfScopes(run.day, entry => void entries.push(entry));
  for (const cursor = new Cursor(database, run); cursor.key !== undefined; ) {
    if (cursor.isNewOwner && cursor.ownerSummary !== undefined)
      sums.addOwner(cursor.key.owner, cursor.ownerSummary);
    cursor.isNewOwner = false;
    if (cursor.summary !== undefined) sums.addSummary(cursor.key, cursor.summary);
    else
      sums.add(cursor.key, cursor.rows!, cursor.from, cursor.to, {
        isOfLink: !cursor.isLinkSummarised,
        isOfOwner: cursor.ownerSummary === undefined,
      });
    sums.endLink();
    cursor.next(cursor.to);
    yield* entries.splice(0);
  }
  sums.finish();
  yield* entries;
}

function forgottenSince(database: Database, day: number): Map<string, number> {
  const rows = database
    .query<{ code: string; at: number }, [number]>('SELECT code, at FROM forgotten WHERE at > ?')
    .all(day);
  return new Map(rows.map(({ code, at }) => [code, at]));
}

function addHours(database: Database, runs: readonly number[]): number[] {
  const hours: number[] = [];
  for (const run of runs) {
    const row = database.query<{ hours: string }, [number]>('SELECT hours FROM runs WHERE id = ?').get(run);
    for (const [hour, clicks] of (JSON.parse(row?.hours ?? '[]') as number[]).entries())
      hours[hour] = (hours[hour] ?? 0) + clicks;
  }
  return hours;
}

/**
 * Claims the runs of a job once more. False when another process has taken an input away, by merging it or by a recount,
 * or the totals: then what was built is dropped.
 */
function claim(
  database: Database,
  inputs: readonly Run[],
  own: readonly number[],
  builder: string,
  now: number,
): boolean {
  const keep = database.query(
    "UPDATE runs SET claimed_until = ?2 WHERE id = ?1 AND state = 'live' AND totalled = ?3",
  );
  const keepOwn = database.query(
    "UPDATE runs SET claimed_until = ?2 WHERE id = ?1 AND state = 'building' AND builder = ?3",
  );
  const isOurs =
    inputs.every(({ id, totalled }) => keep.run(id, now + claimMs, totalled).changes === 1) &&
    own.every(id => keepOwn.run(id, now + claimMs, builder).changes === 1);
  if (!isOurs) dropBuilt(database, own, builder);
  return isOurs;
}

/** Runs that are still being built by the same builder. */
export function dropBuilt(database: Database, runs: readonly number[], builder: string): void {
  const drop = database.query(
    "UPDATE runs SET state = 'dropped' WHERE id = ? AND state = 'building' AND builder = ?",
  );
  for (const run of runs) drop.run(run, builder);
}

/** Ids of runs may come again after a rollback: a name shows whose a run is. */
export const newBuilder = (): string => Buffer.from(systemRandom.bytes(9)).toString('base64url');

interface TotalsPlan {
  readonly inputs: readonly Run[];
  readonly level: number;
  readonly entries: Iterator<TotalsEntry>;
  /** About how many clicks or entries were read for one. */
  readonly costOf: (entry: TotalsEntry) => number;
  readonly finish: (inputs: readonly number[]) => void;
}

/** Several runs of totals into one, or what runs of clicks add to the totals. */
export class TotalsJob implements Job {
  readonly #database: Database;
  readonly #plan: TotalsPlan;
  readonly #builder = newBuilder();
  readonly #output: number;
  readonly #writer: TotalsWriter;

  static merging(database: Database, inputs: readonly Run[], now: number): TotalsJob {
    const entries = mergeTotals(inputs.map(({ id }) => readTotals(database, id)));
    const finish = (ids: readonly number[]): void => setState(database, ids, 'dropped');
    return new TotalsJob(
      database,
      { inputs, level: inputs[0]!.level + 1, entries, costOf: () => 1, finish },
      now,
    );
  }

  static adding(database: Database, inputs: readonly Run[], now: number): TotalsJob {
    const entries = mergeTotals(inputs.map(run => entriesOfRun(database, run)));
    const note = database.query('UPDATE runs SET totalled = 1, claimed_until = 0 WHERE id = ?');
    const finish = (ids: readonly number[]): void => ids.forEach(id => void note.run(id));
    const costOf = ({ sums: { clicks, bots } }: TotalsEntry): number => 1 + clicks + bots;
    return new TotalsJob(database, { inputs, level: 0, entries, costOf, finish }, now);
  }

  private constructor(database: Database, plan: TotalsPlan, now: number) {
    this.#database = database;
    this.#plan = plan;
    this.#output = createRun(database, {
      level: plan.level,
      day: totalsDay,
      state: 'building',
      singles: false,
      claimedUntil: now + claimMs,
      builder: this.#builder,
    });
    this.#writer = new TotalsWriter(database, this.#output);
  }

  step(rowsMax: number, now: number): number {
    const { inputs, entries, costOf, finish } = this.#plan;
    if (!claim(this.#database, inputs, [this.#output], this.#builder, now)) return 0;
    for (let rows = 0; rows < rowsMax; ) {
      const next = entries.next();
      if (next.done === true) {
        this.#writer.flush();
        finish(inputs.map(({ id }) => id));
        setState(this.#database, [this.#output], 'live');
        return 0;
      }
      this.#writer.append(next.value);
      rows += costOf(next.value);
    }
    return rowsMax;
  }
}
