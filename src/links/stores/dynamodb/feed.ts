/**
 * The change feed. A change takes its number first and is then written, with its entry, in one transaction; so entries
 * become visible out of order, and a number whose transaction failed stays empty. A reader therefore does not advance
 * past a recent empty number: the entries after it are reported at once, and again later. After `holeTimeoutMs` no
 * process writes under that number any more, and readers skip it.
 *
 * Invariant: a reader that continues with `resumeSeq` learns of every change, of some more than once.
 */
import { Batcher } from '../../../base/batcher.ts';
import type { Clock } from '../../../base/clock.ts';
import { maybeDone, notDone, Problem } from '../../../base/errors.ts';
import type { Dynamo, Item, TransactItem, TransactOutcome } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew } from '../../../engines/dynamodb/expressions.ts';
import type { Link } from '../../link.ts';
import { type EventRow, type EventType, eventOf, type LinkEvent } from '../../outbox.ts';
import type { Change, ChangePage } from '../../store.ts';
import { changeKey, eventKey, feedKey, feedPartitions, outboxPartitions } from './keys.ts';
import { secondsOf } from './rows.ts';

export interface NotedChange extends Omit<Change, 'seq'> {
  readonly at: number;
  readonly event?: { readonly type: EventType; readonly link: Link } | undefined;
}

/** An entry in the table. Without a code it only fills a number whose change was not made. */
export interface ChangeRow {
  readonly pk: string;
  readonly sk: string;
  readonly code?: string;
  readonly claimLength?: number;
  readonly claimId?: number;
  /** The time of the change, by which entries are pruned. */
  readonly at: number;
  /** The writer's clock when it took the number. */
  readonly takenAt: number;
}

/** Longer than any write takes; a write that took longer anyway reports its change again. */
export const holeTimeoutMs = 10_000;
const lateAfterMs = holeTimeoutMs - 2_000;
/** `prune` removes entries after minutes; this is for a table that is no longer pruned. */
const entryKeptMs = 24 * 60 * 60 * 1_000;
const lateAttemptsMax = 5;

export class ChangeWriter {
  readonly #dynamo: Dynamo;
  readonly #clock: Clock;
  readonly #numbers: FeedNumbers;

  constructor(dynamo: Dynamo, clock: Clock) {
    this.#dynamo = dynamo;
    this.#clock = clock;
    this.#numbers = new FeedNumbers(dynamo, clock);
  }

  /** `commit` makes the change and writes its entry, and its event, in one transaction. */
  async note(
    change: NotedChange,
    commit: (entries: readonly TransactItem[]) => Promise<TransactOutcome>,
  ): Promise<TransactOutcome> {
    const { seq, takenAtMs } = await this.#numbers.take().catch(notDone);
    const { event } = change;
    const entries: TransactItem[] = [{ put: this.#entry(seq, change), condition: isNew }];
    if (event !== undefined) {
      const put = { ...eventKey(seq), type: event.type, link: JSON.stringify(event.link) };
      entries.push({ put, condition: isNew });
    }
    const outcome = await commit(entries);
    if (outcome.kind === 'done') await this.#tellAgainIfLate(takenAtMs, change).catch(maybeDone);
    else this.#fill(seq, change);
    return outcome;
  }

  /** A process that was stopped in between may have written under a number that readers have skipped. */
  async #tellAgainIfLate(takenAtMs: number, change: NotedChange): Promise<void> {
    let sinceMs = takenAtMs;
    for (let attempt = 0; attempt < lateAttemptsMax; attempt += 1) {
      if (this.#clock.monotonicMs() - sinceMs < lateAfterMs) return;
      const again = await this.#numbers.take();
      await this.#dynamo.write({ put: this.#entry(again.seq, change) });
      sinceMs = again.takenAtMs;
    }
  }

  /** Saves readers the wait for a change that will not arrive. No caller waits for this, and it may fail. */
  #fill(seq: number, { at }: NotedChange): void {
    const nothing = { ...changeKey(seq), at, ...this.#times() };
    this.#dynamo.write({ put: nothing, condition: isNew }).catch(() => {});
  }

  #entry(seq: number, { code, claim, at }: NotedChange): Item {
    return { ...changeKey(seq), code, claimLength: claim?.length, claimId: claim?.id, at, ...this.#times() };
  }

  #times(): { takenAt: number; ttl: number } {
    const takenAt = this.#clock.now();
    return { takenAt, ttl: secondsOf(takenAt + entryKeptMs) };
  }
}

export interface FeedNumber {
  readonly seq: number;
  /** By the monotonic clock, from before the number was taken: others may have seen it since then. */
  readonly takenAtMs: number;
}

export interface FeedCounter {
  readonly last: number;
  /** Entries up to this number may have been pruned. */
  readonly pruned?: number;
}

const atOnceMax = 1_000;
const waitingMax = 50_000;

/**
 * Numbers for changes, from one counter that all processes share. An item takes a thousand writes a second; callers
 * that arrive while a number is being fetched share the next write, so a busy process writes no more often than an idle
 * one.
 */
export class FeedNumbers {
  readonly #dynamo: Dynamo;
  readonly #batcher: Batcher<undefined, FeedNumber>;

  constructor(dynamo: Dynamo, clock: Clock) {
    this.#dynamo = dynamo;
    this.#batcher = new Batcher({
      clock,
      batchMax: atOnceMax,
      waitingMax,
      full: () =>
        new Problem('overloaded', {
          detail: 'Too many changes are waiting.',
          headers: { 'Retry-After': '1' },
        }),
      run: async ({ length }) => {
        const takenAtMs = clock.monotonicMs();
        const last = await this.#add(length);
        return Array.from({ length }, (_, position) => ({ seq: last - length + 1 + position, takenAtMs }));
      },
    });
  }

  take(): Promise<FeedNumber> {
    return this.#batcher.add(undefined);
  }

  /** A lost answer loses the numbers in it: they stay holes, which readers skip. */
  async #add(count: number): Promise<number> {
    const add = { update: feedKey, expression: 'ADD #last :count', values: { count } };
    const counter = await this.#dynamo.update<FeedCounter>(add, 'new');
    return counter!.last!;
  }
}

/** How much more than requested is read where an empty number holds the reader back. */
const pagesBehindHoleMax = 10;
/** For recognising recent writes by the writers' clocks; generous, because clocks differ. */
const latelyMs = 3 * holeTimeoutMs;
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
  /** When this process first saw each highest number, oldest first. */
  #sightings: Sighting[] = [];

  constructor(dynamo: Dynamo, clock: Clock) {
    this.#dynamo = dynamo;
    this.#clock = clock;
  }

  async read(afterSeq: number, limit: number): Promise<ChangePage> {
    const { last, pruned } = await this.#counter();
    const settledSeq = this.#sight(last);
    const nothing = { changes: [], lastSeq: last, endSeq: last, gap: false };
    if (afterSeq === last) return { ...nothing, resumeSeq: last };
    if (afterSeq > last) return { ...nothing, resumeSeq: await this.#settledEnd(last, pruned) };
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
    const endSeq = isAll ? lastSeq : rows.at(-1)!.seq;
    missing ??= firstMissing([...rows, { seq: endSeq + 1 }], from, settledSeq);
    return {
      changes: rows.flatMap(changesOf),
      lastSeq,
      endSeq,
      gap: afterSeq < pruned,
      resumeSeq: missing === undefined ? endSeq : missing - 1,
    };
  }

  /** Removes the oldest entries whose change was before `changesBefore`; returns how many. */
  async prune(changesBefore: number, limit: number): Promise<number> {
    const { last: lastSeq, pruned } = await this.#counter();
    const settledSeq = this.#sight(lastSeq);
    const { rows } = await this.#after(pruned, limit);
    // The pruned mark must not pass an empty number whose change may still arrive.
    const missing = firstMissing(rows, pruned, settledSeq) ?? Number.POSITIVE_INFINITY;
    const kept = rows.findIndex(({ at, seq }) => at >= changesBefore || seq > missing);
    const old = kept === -1 ? rows : rows.slice(0, kept);
    const last = old.at(-1);
    if (last === undefined) return 0;
    // The pruned mark first: a reader must never take a removed entry for one that was never written.
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

  /** Records the highest number; returns the number up to which no process writes any more. */
  #sight(last: number): number {
    const nowMs = this.#clock.monotonicMs();
    const newest = this.#sightings.at(-1);
    const isApart = newest === undefined || nowMs - newest.atMs >= sightingsApartMs;
    if (isApart && last > (newest?.seq ?? 0)) this.#sightings.push({ seq: last, atMs: nowMs });
    const young = this.#sightings.findIndex(({ atMs }) => nowMs - atMs < holeTimeoutMs);
    const settled = this.#sightings.slice(0, young === -1 ? undefined : young).at(-1);
    // The newest settled one is kept; older ones add nothing.
    if (settled !== undefined) this.#sightings = this.#sightings.slice(this.#sightings.indexOf(settled));
    return settled?.seq ?? 0;
  }

  /**
   * The end of the feed for a reader that starts now: before the first empty number whose change may still arrive. This
   * process has not watched the numbers, so it recognises recent writes by the writers' clocks.
   */
  async #settledEnd(last: number, pruned: number): Promise<number> {
    const settledAt = this.#clock.now() - latelyMs;
    const seen = new Set<number>();
    let oldest = last + 1;
    let isSettled = false;
    for (let pages = 0; !isSettled && pages < latelyPagesMax; pages += 1) {
      const { rows, isAll } = await this.#before(oldest, latelyPageMax);
      for (const { seq } of rows) seen.add(seq);
      // Numbers are taken in order: entries below an old one are older.
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

export async function readEvents(dynamo: Dynamo, afterSeq: number, limit: number): Promise<LinkEvent[]> {
  const range = { above: eventKey(afterSeq).sk };
  const lanes = await Promise.all(
    outboxPartitions.map(pk => dynamo.query<Omit<EventRow, 'seq'> & { sk: string }>({ pk, range, limit })),
  );
  // Behind the end of a lane that has more, an earlier event of the same link may be missing.
  const ends = lanes.flatMap(({ items, next }) =>
    next === undefined ? [] : Number(items.at(-1)?.sk ?? afterSeq),
  );
  return lanes
    .flatMap(({ items }) => items)
    .map(({ sk, type, link }) => eventOf({ seq: Number(sk), type, link }))
    .filter(({ seq }) => ends.every(end => seq <= end))
    .sort((one, other) => one.seq - other.seq)
    .slice(0, limit);
}
