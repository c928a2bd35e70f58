/**
 * The part of some batches that must be counted, computed from what was counted before. Pure, so that every process
 * that is given the same batches at the same place computes the same block, and the token of that block identifies it
 * fully: a process that takes over from one that died inserts exactly what the other would have.
 */
import { type ClickBatch, clickCount } from '../../click.ts';
import type { LogBatch } from '../../log.ts';
import type { LedgerRow } from '../../warehouse.ts';

/** How far was counted, before the batches. */
export interface Progress {
  readonly positions: ReadonlyMap<string, number>;
  readonly sequences: ReadonlyMap<string, number>;
}

/** Those clicks of a batch that are counted, by their places in it. */
export interface CountedClicks {
  readonly producer: string;
  readonly batch: ClickBatch;
  readonly rows: Uint32Array;
}

/** Neighbouring batches of one partition. */
export interface Block {
  readonly partition: string;
  readonly from: number;
  to: number;
  readonly counted: CountedClicks[];
  readonly ledger: Map<string, LedgerRow>;
  /** The newest number of each producer in it. */
  readonly sequences: Map<string, number>;
  clicks: number;
  duplicates: number;
}

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

/** The token under which a block is inserted everywhere. */
export const tokenOf = ({ partition, from, to }: Block): string => `${partition}/${from}-${to}`;

/**
 * Batches that do not start at the position of their partition are skipped. Clicks before `countFrom` are not counted.
 */
export function planBlocks(batches: readonly LogBatch[], before: Progress, countFrom = 0): Block[] {
  const positions = new Map(before.positions);
  const sequences = new Map(before.sequences);
  const blocks: Block[] = [];
  for (const batch of batches) {
    if ((positions.get(batch.partition) ?? 0) !== batch.from) continue;
    positions.set(batch.partition, batch.to);
    let block = blocks.at(-1);
    if (block === undefined || block.partition !== batch.partition) {
      block = emptyBlock(batch);
      blocks.push(block);
    }
    take(block, batch, sequences, countFrom);
  }
  return blocks;
}

/**
 * Clicks of more days than one insert may have, such as those of a long log that was imported, in parts of so many days
 * each. The same clicks always make the same parts.
 */
export function partsByDays(clicks: readonly CountedClicks[], daysMax: number): (readonly CountedClicks[])[] {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { batch, rows } of clicks) {
    for (const row of rows) {
      first = Math.min(first, batch.at[row]!);
      last = Math.max(last, batch.at[row]!);
    }
  }
  const partOf = (at: number): number => Math.floor((dayOf(at) - dayOf(first)) / daysMax);
  if (!(partOf(last) > 0)) return [clicks];
  return Array.from({ length: partOf(last) + 1 }, (_, part) =>
    clicks.map(({ producer, batch, rows }) => ({
      producer,
      batch,
      rows: rows.filter(row => partOf(batch.at[row]!) === part),
    })),
  );
}

function take(
  block: Block,
  { to, producer, batch }: LogBatch,
  sequences: Map<string, number>,
  countFrom: number,
): void {
  const known = sequences.get(producer);
  const counted = known ?? 0;
  const count = clickCount(batch);
  const duplicates = Math.max(0, Math.min(count, counted - batch.firstSequence + 1));
  const fresh = count - duplicates;
  // If a producer's first days are no longer kept, its first numbers are not missing but expired.
  const startsLate = known === undefined && countFrom > 0;
  const skipped = fresh === 0 || startsLate ? 0 : batch.firstSequence + duplicates - counted - 1;
  const rows = rowsFrom(batch, duplicates, countFrom);
  block.counted.push({ producer, batch, rows });
  noteHours(block.ledger, producer, batch.at, rows);
  if (skipped + duplicates > 0 && batch.at[0]! >= countFrom) {
    addToLedger(block.ledger, { hour: hourOf(batch.at[0]!), producer, counted: 0, skipped, duplicates });
  }
  if (fresh > 0) {
    const newest = batch.firstSequence + count - 1;
    sequences.set(producer, newest);
    block.sequences.set(producer, newest);
  }
  block.to = to;
  block.clicks += fresh;
  block.duplicates += duplicates;
}

function rowsFrom({ at }: ClickBatch, first: number, countFrom: number): Uint32Array {
  const rows = new Uint32Array(at.length - first);
  let kept = 0;
  for (let row = first; row < at.length; row += 1) if (at[row]! >= countFrom) rows[kept++] = row;
  return rows.subarray(0, kept);
}

function noteHours(
  ledger: Map<string, LedgerRow>,
  producer: string,
  times: Float64Array,
  rows: Uint32Array,
): void {
  const hours = new Map<number, number>();
  for (const row of rows) {
    const hour = hourOf(times[row]!);
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
  }
  for (const [hour, counted] of hours) {
    addToLedger(ledger, { hour, producer, counted, skipped: 0, duplicates: 0 });
  }
}

function addToLedger(ledger: Map<string, LedgerRow>, row: LedgerRow): void {
  const key = `${row.hour} ${row.producer}`;
  const known = ledger.get(key);
  ledger.set(key, {
    ...row,
    counted: row.counted + (known?.counted ?? 0),
    skipped: row.skipped + (known?.skipped ?? 0),
    duplicates: row.duplicates + (known?.duplicates ?? 0),
  });
}

function emptyBlock({ partition, from, to }: LogBatch): Block {
  return {
    partition,
    from,
    to,
    counted: [],
    ledger: new Map(),
    sequences: new Map(),
    clicks: 0,
    duplicates: 0,
  };
}

const dayOf = (at: number): number => Math.floor(at / dayMs);
const hourOf = (at: number): number => Math.floor(at / hourMs) * hourMs;
