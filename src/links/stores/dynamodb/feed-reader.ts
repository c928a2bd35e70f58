/** Reading and pruning the change feed; feed.ts says how it is written and what its numbers promise. */
import type { Clock } from '../../../base/clock.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Change, ChangePage } from '../../store.ts';
import { type ChangeRow, holePatienceMs } from './feed.ts';
import type { FeedCounter } from './feed-numbers.ts';
import { changeKey, feedKey, feedPartitions } from './keys.ts';

/** How much more than was asked for is read where an empty number holds the reader back. */
const pagesBehindHoleMax = 10;
/** For telling apart by the writers' clocks what was written lately; generous, because clocks differ. */
const latelyMs = 3 * holePatienceMs;
const latelyPageMax = 200;
const latelyPagesMax = 20;
/** Numbers seen within this time of one another count as seen together. */
const sightingsApartMs = 100;

interface Sighting {
  readonly seq: number;
  readonly atMs: number;
}

interface Entries {
  readonly rows: readonly (ChangeRow & { readonly seq: number })[];
  readonly isAll: boolean;
}

export class ChangeReader {
  readonly #dynamo: Dynamo;
  readonly #clock: Clock;
  /** When this process first saw how far the numbers had come, oldest first. */
  #sightings: Sighting[] = [];

  constructor(dynamo: Dynamo, clock: Clock) {
    this.#dynamo = dynamo;
    this.#clock = clock;
  }

  async read(afterSeq: number, limit: number): Promise<ChangePage> {
    const { last, pruned } = await this.#counter();
    const settledSeq = this.#sight(last);
    if (afterSeq === last) return { changes: [], lastSeq: last, gap: false, resumeSeq: last };
    if (afterSeq > last) {
      return { changes: [], lastSeq: last, gap: false, resumeSeq: await this.#settledEnd(last, pruned) };
    }
    const from = Math.max(afterSeq, pruned);
    const rows: Entries['rows'][number][] = [];
    let isAll = false;
    let missing: number | undefined;
    for (let pages = 0; !isAll && pages < pagesBehindHoleMax; pages += 1) {
      const page = await this.#after(rows.at(-1)?.seq ?? from, limit);
      rows.push(...page.rows);
      isAll = page.isAll;
      missing = firstMissing(rows, from, settledSeq);
      if (missing === undefined) break;
    }
    const lastSeq = Math.max(last, rows.at(-1)?.seq ?? 0);
    const end = isAll ? lastSeq : rows.at(-1)!.seq;
    missing ??= firstMissing([...rows, { seq: end + 1 }], from, settledSeq);
    return {
      changes: rows.flatMap(changesOf),
      lastSeq,
      gap: afterSeq < pruned,
      resumeSeq: missing === undefined ? end : missing - 1,
    };
  }

  /** Removes the oldest entries whose change was before `changesBefore`; returns how many. */
  async prune(changesBefore: number, limit: number): Promise<number> {
    const { last: lastSeq, pruned } = await this.#counter();
    const settledSeq = this.#sight(lastSeq);
    const { rows } = await this.#after(pruned, limit);
    // An empty number whose change may still come is not to be passed by what is said to be gone.
    const missing = firstMissing(rows, pruned, settledSeq) ?? Number.POSITIVE_INFINITY;
    const kept = rows.findIndex(({ at, seq }) => at >= changesBefore || seq > missing);
    const old = kept === -1 ? rows : rows.slice(0, kept);
    const last = old.at(-1);
    if (last === undefined) return 0;
    // First the word that they are gone: a reader must never take a removed entry for one that was never written.
    await this.#dynamo.write({
      update: feedKey,
      expression: 'SET #pruned = :seq',
      condition: 'attribute_not_exists(#pruned) OR #pruned < :seq',
      values: { seq: last.seq },
    });
    await this.#dynamo.batchWrite(old.map(({ seq }) => ({ remove: changeKey(seq) })));
    return old.length;
  }

  async #counter(): Promise<{ last: number; pruned: number }> {
    const counter = await this.#dynamo.get<FeedCounter>(feedKey);
    return { last: counter?.last ?? 0, pruned: counter?.pruned ?? 0 };
  }

  /** Notes how far the numbers have come; gives the number up to which nobody writes any more. */
  #sight(last: number): number {
    const nowMs = this.#clock.monotonicMs();
    const newest = this.#sightings.at(-1);
    const isApart = newest === undefined || nowMs - newest.atMs >= sightingsApartMs;
    if (isApart && last > (newest?.seq ?? 0)) this.#sightings.push({ seq: last, atMs: nowMs });
    const young = this.#sightings.findIndex(({ atMs }) => nowMs - atMs < holePatienceMs);
    const settled = this.#sightings.slice(0, young === -1 ? undefined : young).at(-1);
    // The newest settled one is kept; what is older says nothing more.
    if (settled !== undefined) this.#sightings = this.#sightings.slice(this.#sightings.indexOf(settled));
    return settled?.seq ?? 0;
  }

  /**
   * The end of the feed for a reader that begins now: before the first empty number whose change may still come. This
   * process has not watched the numbers, so what was written lately is told by the writers' clocks.
   */
  async #settledEnd(last: number, pruned: number): Promise<number> {
    const settledAt = this.#clock.now() - latelyMs;
    const seen = new Set<number>();
    let oldest = last + 1;
    let isSettled = false;
    for (let pages = 0; !isSettled && pages < latelyPagesMax; pages += 1) {
      const { rows, isAll } = await this.#before(oldest, latelyPageMax);
      for (const { seq } of rows) seen.add(seq);
      // Numbers are taken in their order: what is below one that is old is older.
      const settled = rows.find(({ takenAt }) => takenAt < settledAt);
      isSettled = isAll || settled !== undefined;
      oldest = settled?.seq ?? (isAll ? pruned + 1 : rows.at(-1)!.seq);
    }
    for (let seq = oldest; seq <= last; seq += 1) if (!seen.has(seq)) return seq - 1;
    return last;
  }

  #after(seq: number, limit: number): Promise<Entries> {
    return this.#lanes(lane => this.#lane(lane, { above: changeKey(seq).sk }, false, limit), limit, 1);
  }

  #before(seq: number, limit: number): Promise<Entries> {
    return this.#lanes(lane => this.#lane(lane, { below: changeKey(seq).sk }, true, limit), limit, -1);
  }

  async #lane(pk: string, range: { above: string } | { below: string }, descending: boolean, limit: number) {
    return this.#dynamo.query<ChangeRow>({ pk, range, descending, limit });
  }

  async #lanes(
    read: (pk: string) => Promise<{ items: ChangeRow[]; next: unknown }>,
    limit: number,
    direction: 1 | -1,
  ): Promise<Entries> {
    const lanes = await Promise.all(feedPartitions.map(read));
    const rows = lanes
      .flatMap(({ items }) => items)
      .map(row => ({ ...row, seq: Number(row.sk) }))
      .sort((a, b) => direction * (a.seq - b.seq));
    const isAll = rows.length <= limit && lanes.every(({ next }) => next === undefined);
    return { rows: rows.slice(0, limit), isAll };
  }
}

/** The first number above `settledSeq` between these that has no entry. */
function firstMissing(
  rows: readonly { readonly seq: number }[],
  from: number,
  settledSeq: number,
): number | undefined {
  let expected = Math.max(from, settledSeq) + 1;
  for (const { seq } of rows) {
    if (seq > expected) return expected;
    if (seq === expected) expected += 1;
  }
  return undefined;
}

function changesOf({ seq, code, claimLength, claimId }: ChangeRow & { readonly seq: number }): Change[] {
  if (code === undefined) return [];
  const isClaim = claimLength !== undefined && claimId !== undefined;
  return [{ seq, code, claim: isClaim ? { length: claimLength, id: claimId } : undefined }];
}
