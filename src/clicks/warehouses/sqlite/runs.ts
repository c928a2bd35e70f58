/**
 * Runs: sorted clicks of one UTC day. Every piece of counting writes a small one; maintenance merges runs of one level
 * into one of the next. The clicks of a run never change. A new one takes the place of others in one transaction, so a
 * question finds each click in exactly one live run, whatever is being merged.
 *
 * From the first merge on a run has summaries (summary.ts) of its scopes with many clicks. Runs that stay for a while get
 * groups (groups.ts): the same clicks in another form, added later, each as a whole. Once single clicks of a day are no
 * longer kept, its run is rolled off: links with many clicks have only their summaries, and of all others each quarter
 * hour is kept column by column, so that its clicks cannot be told apart.
 */
import type { Database } from 'bun:sqlite';
import { grainMs } from '../../warehouse.ts';
import { Chunk, type ChunkRow, chunkColumns, type LinkKey, type OwnerLinks, type Rows } from './chunk.ts';
import { keyOf, totalsDay } from './totals.ts';

/** Runs of totals have neither clicks nor hours. */
export interface Run {
  readonly id: number;
  readonly day: number;
  readonly level: number;
  readonly clicks: number;
  /** Whether single clicks are still in it. */
  readonly singles: number;
  /** Whether its clicks are in the totals. */
  readonly totalled: number;
  /** Which form of groups its busy links have (groups.ts): 0 for none, 1 for that of earlier versions. */
  readonly grouped: number;
}

/** From this level on a merge adds the clicks of a run to the totals. */
export const totalledLevel = 2;
/**
 * The form of groups of this version. Processes of an earlier one may share the folder: they leave such runs alone, and
 * what they have grouped is grouped again.
 */
export const groupedForm = 2;
export const runColumns = 'id, day, level, clicks, singles, totalled, grouped';

export type RunState = 'building' | 'live' | 'dropped';

export const hoursPerDay = 24;
const hourMs = 60 * grainMs.minute;

export const liveRuns = (database: Database, fromDay: number, toDay: number): Run[] =>
  database
    .query<Run, [number, number]>(
      `SELECT ${runColumns} FROM runs WHERE state = 'live' AND day >= ? AND day < ? ORDER BY day, id`,
    )
    .all(fromDay, toDay);

export const totalsRuns = (database: Database): Run[] => liveRuns(database, totalsDay, totalsDay + 1);

export interface NewRun {
  readonly day: number;
  readonly level: number;
  readonly state: RunState;
  readonly singles: boolean;
  readonly totalled?: boolean;
  /** Until then no other process takes it for abandoned. */
  readonly claimedUntil?: number;
  /** Who is building it. */
  readonly builder?: string;
}

export function createRun(database: Database, run: NewRun): number {
  const { day, level, state, singles, totalled = false, claimedUntil = 0, builder = '' } = run;
  return database
    .query<{ id: number }, [number, number, RunState, number, number, number, string]>(`
      INSERT INTO runs (day, level, state, singles, totalled, claimed_until, builder, clicks, hours)
      VALUES (?, ?, ?, ?, ?, ?, ?, 0, '[]') RETURNING id`)
    .get(day, level, state, singles ? 1 : 0, totalled ? 1 : 0, claimedUntil, builder)!.id;
}

export function setState(database: Database, runs: readonly number[], state: RunState): void {
  const change = database.query('UPDATE runs SET state = ?2, claimed_until = 0 WHERE id = ?1');
  for (const run of runs) change.run(run, state);
}

export function noteClicks(database: Database, run: number, hours: ArrayLike<number>): void {
  const clicks = Array.from(hours).reduce((sum, each) => sum + each, 0);
  database
    .query('UPDATE runs SET clicks = ?2, hours = ?3 WHERE id = ?1')
    .run(run, clicks, JSON.stringify(Array.from(hours)));
}

/** The name of a scope among the summaries of a run. */
export const scopeOf = (owner: string, code: string): string => `${owner} ${code}`;

export function hoursIn(at: ArrayLike<number>, from: number, to: number, hours: Float64Array): void {
  for (let index = from; index < to; index += 1) hours[Math.floor(at[index]! / hourMs)]! += 1;
}

/** Goes over the clicks of a run, link by link and in the order of time. */
export class RunCursor {
  readonly run: Run;
  readonly #next: () => ChunkRow | null;
  #owners: readonly OwnerLinks[] = [];
  #ownerIndex = 0;
  #codeIndex = 0;
  #group = 0;
  #counts: ArrayLike<number> = [];
  rows!: Rows;
  /** The link that it is at; undefined at the end. */
  key: LinkKey | undefined;
  from = 0;
  to = 0;

  constructor(database: Database, run: Run) {
    this.run = run;
    const ids = database
      .query<{ id: number }, [number]>('SELECT id FROM chunks WHERE run = ? ORDER BY id')
      .all(run.id)
      .map(({ id }) => id);
    const read = database.query<ChunkRow, [number]>(
      `SELECT ${chunkColumns.join(', ')} FROM chunks WHERE id = ?`,
    );
    let next = 0;
    this.#next = () => {
      const id = ids[next];
      next += 1;
      return id === undefined ? null : read.get(id);
    };
    this.#load();
  }

  get at(): number {
    return this.rows.at[this.from]!;
  }

  /** Behind the clicks up to a time, inclusive. */
  endAt(time: number): number {
    const { at } = this.rows;
    let [low, high] = [this.from, this.to];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (at[middle]! <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  moveTo(place: number): void {
    this.from = place;
    if (place < this.to) return;
    this.#group += 1;
    this.#codeIndex += 1;
    if (this.#codeIndex < this.#owners[this.#ownerIndex]!.codes.length) this.#enter();
    else if (this.#ownerIndex + 1 < this.#owners.length) {
      this.#ownerIndex += 1;
      this.#codeIndex = 0;
      this.#enter();
    } else this.#load();
  }

  #load(): void {
    const row = this.#next();
    if (row === null) {
      this.key = undefined;
      return;
    }
    const chunk = new Chunk(row);
    this.rows = chunk.rows();
    this.#owners = chunk.owners;
    this.#counts = chunk.counts;
    this.#ownerIndex = 0;
    this.#codeIndex = 0;
    this.#group = 0;
    this.to = 0;
    this.#enter();
  }

  #enter(): void {
    const { owner, codes } = this.#owners[this.#ownerIndex]!;
    this.key = keyOf(owner, codes[this.#codeIndex]!);
    this.from = this.to;
    this.to += this.#counts[this.#group]!;
  }
}
