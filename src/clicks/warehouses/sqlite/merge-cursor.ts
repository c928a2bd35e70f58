/** Goes over runs that are merged, in the order of links and time. */
import type { Database } from 'bun:sqlite';
import { compareLinks } from './chunk.ts';
import { type Run, RunCursor, scopeOf } from './runs.ts';
import type { SummaryRow } from './summary.ts';
import { isLinkKey, keyOf, ownerKey } from './totals.ts';

/**
 * A cursor over the clicks of a run and, where it is rolled off, over the summaries of its links, which come before the
 * clicks with tags that the link still has.
 */
export class Cursor {
  readonly run: Run;
  readonly #clicks: RunCursor;
  readonly #summaries: SummaryLinks | undefined;
  #summarised: RunCursor['key'];
  /** Of the owner that it is at, where the run is rolled off and has one. */
  ownerSummary: SummaryRow | undefined;
  isNewOwner = false;
  /** Whether the link that it is at has a summary, which came before. */
  isLinkSummarised = false;
  key: RunCursor['key'];
  summary: SummaryRow | undefined;
  rows: RunCursor['rows'] | undefined;
  from = 0;
  to = 0;

  constructor(database: Database, run: Run) {
    this.run = run;
    this.#clicks = new RunCursor(database, run);
    this.#summaries = run.singles === 1 ? undefined : new SummaryLinks(database, run.id);
    this.#enter();
  }

  get at(): number {
    return this.#clicks.at;
  }

  endAt(time: number): number {
    return this.#clicks.endAt(time);
  }

  /** On from a click of the link, or from the link's summary. */
  next(place: number): void {
    if (this.summary !== undefined) this.#summaries!.next();
    else this.#clicks.moveTo(place);
    this.#enter();
  }

  #enter(): void {
    const before = this.key?.owner;
    const [clicks, summarised] = [this.#clicks, this.#summaries?.key];
    const isSummary =
      summarised !== undefined && (clicks.key === undefined || compareLinks(summarised, clicks.key) <= 0);
    if (isSummary) this.#summarised = summarised;
    this.key = isSummary ? summarised : clicks.key;
    this.isLinkSummarised =
      !isSummary &&
      this.key !== undefined &&
      this.#summarised !== undefined &&
      compareLinks(this.key, this.#summarised) === 0;
    this.summary = isSummary ? this.#summaries!.read() : undefined;
    this.rows = clicks.key === undefined ? undefined : clicks.rows;
    this.from = clicks.from;
    this.to = clicks.to;
    if (this.key === undefined || this.key.owner === before) return;
    this.isNewOwner = true;
    this.ownerSummary = this.#summaries?.ofOwner(this.key.owner);
  }
}

const summaryColumns = 'minutes, whole, slots, visitors, slot_visitors';

export const readSummary = (database: Database, run: number, scope: string): SummaryRow | null =>
  database
    .query<SummaryRow, [number, string]>(
      `SELECT ${summaryColumns} FROM summaries WHERE run = ? AND scope = ?`,
    )
    .get(run, scope);

/** The links of a run that have summaries, in the order of links. */
class SummaryLinks {
  readonly #database: Database;
  readonly #run: number;
  readonly #keys: ReturnType<typeof keyOf>[];
  #index = 0;

  constructor(database: Database, run: number) {
    this.#database = database;
    this.#run = run;
    this.#keys = database
      .query<{ scope: string }, [number]>('SELECT scope FROM summaries WHERE run = ?')
      .all(run)
      .map(({ scope }) => keyOf(scope.slice(0, scope.indexOf(' ')), scope.slice(scope.indexOf(' ') + 1)))
      .filter(isLinkKey)
      .sort(compareLinks);
  }

  get key(): ReturnType<typeof keyOf> | undefined {
    return this.#keys[this.#index];
  }

  next(): void {
    this.#index += 1;
  }

  read(): SummaryRow {
    const { owner, code } = this.key!;
    return readSummary(this.#database, this.#run, scopeOf(owner, code))!;
  }

  ofOwner(owner: string): SummaryRow | undefined {
    return readSummary(this.#database, this.#run, scopeOf(owner, ownerKey(owner).code)) ?? undefined;
  }
}

/** The cursor that is furthest behind stands first. */
function isBefore(a: Cursor, b: Cursor): boolean {
  const order = compareLinks(a.key!, b.key!);
  if (order !== 0) return order < 0;
  if (a.summary !== undefined || b.summary !== undefined) return a.summary !== undefined;
  return a.at < b.at;
}

export function heapify(heap: Cursor[]): void {
  for (let index = Math.floor(heap.length / 2) - 1; index >= 0; index -= 1) siftDown(heap, index);
}

export function siftDown(heap: Cursor[], start: number): void {
  for (let index = start; ; ) {
    const left = index * 2 + 1;
    if (left >= heap.length) return;
    const child = left + 1 < heap.length && isBefore(heap[left + 1]!, heap[left]!) ? left + 1 : left;
    if (!isBefore(heap[child]!, heap[index]!)) return;
    [heap[index], heap[child]] = [heap[child]!, heap[index]!];
    index = child;
  }
}

export function nextInHeap(heap: readonly Cursor[]): Cursor | undefined {
  if (heap.length < 3) return heap[1];
  return isBefore(heap[2]!, heap[1]!) ? heap[2] : heap[1];
}
