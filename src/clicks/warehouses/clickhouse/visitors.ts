/**
 * Unique visitors, the same number to the last one as a `Sketch` of them would give: it depends on the set of tokens
 * alone. Ranks come first, which are a bounded amount for any number of visitors. Only when they do not prove that there
 * are more visitors than a sketch keeps one by one are the tokens themselves asked for, of which there are few then.
 */

import { Buffer } from 'node:buffer';
import { type ClickHouse, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { Sketch } from '../../sketch/sketch.ts';
import { estimateVisitors, rankMax, registerCount } from '../../sketch/token.ts';
import { type Grain, grainMs } from '../../warehouse.ts';
import { type GenerationTable, rankIn, tableName, tokenIn, visitorsKept } from './columns.ts';
import { type Span, spansOf } from './pages.ts';

export interface VisitorsQuery {
  readonly generation: number;
  /** Names of scopes; visitors of several are merged, not added. */
  readonly scopes: readonly string[];
  readonly from: number;
  readonly to: number;
}

export async function countVisitors(clickHouse: ClickHouse, query: VisitorsQuery): Promise<number> {
  const spans = spansOf(query.from, query.to);
  if (spans.length === 0) return 0;
  const [row] = await clickHouse.rows<{ merged: string }>(mergedText(query, spans));
  return estimateOf(row!.merged, () => tokensOf(clickHouse, query, spans));
}

/** Of single clicks; `singles` selects the hashes of people's. */
export async function countVisitorsIn(clickHouse: ClickHouse, singles: string): Promise<number> {
  const [row] = await clickHouse.rows<{ merged: string; tokens: number[] }>(`
    SELECT hex(groupBitmapState(${rankIn('token')})) AS merged, groupUniqArray(${visitorsKept})(token) AS tokens
    FROM (SELECT ${tokenIn('visitor')} AS token FROM (${singles}))`);
  return estimateOf(row!.merged, async () => row!.tokens);
}

/** `tokens` gives all of them, or as many as a sketch no longer keeps. */
async function estimateOf(merged: string, tokens: () => Promise<number[]>): Promise<number> {
  const { histogram, ranks } = reachedIn(bitsOf(merged, (rankMax + 1) * registerCount));
  // Every rank is that of some visitor, so there are at least as many of them.
  if (ranks < visitorsKept) {
    const kept = await tokens();
    if (kept.length < visitorsKept) return sketchOf(kept).estimate();
  }
  return Math.round(estimateVisitors(histogram));
}

/** How many registers reach each rank and no higher, and how many ranks were seen in all; `bits` are in the order of `rankIn`. */
function reachedIn(bits: Uint32Array): { histogram: Int32Array; ranks: number } {
  const histogram = new Int32Array(rankMax + 1);
  const reached = new Uint32Array(registerCount / 32);
  let [empty, ranks] = [registerCount, 0];
  for (let rank = rankMax; rank > 0; rank -= 1) {
    for (const [word, before] of reached.entries()) {
      const seen = bits[rank * reached.length + word]!;
      if (seen === 0) continue;
      ranks += onesIn(seen);
      histogram[rank]! += onesIn(seen & ~before);
      reached[word] = before | seen;
    }
    empty -= histogram[rank]!;
  }
  histogram[0] = empty;
  return { histogram, ranks };
}

/** How many bits of a word are set: added up in pairs, in fours, in bytes, and then all bytes at once. */
function onesIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

function sketchOf(tokens: readonly number[]): Sketch {
  const sketch = new Sketch();
  for (const token of tokens) sketch.addToken(token);
  return sketch;
}

function mergedText(query: VisitorsQuery, spans: readonly Span[]): string {
  const of = (grain: Grain): Span[] => spans.filter(span => span.grain === grain);
  const select = (what: string, table: GenerationTable, grain: Grain, column: string): string[] =>
    of(grain).length === 0
      ? []
      : [
          `SELECT ${what} AS ranks FROM ${tableName(table, query.generation)} WHERE ${within(query, column, of(grain))}`,
        ];
  const ofMinutes = `arrayReduce('groupBitmapState', arrayMap(token -> ${rankIn('token')}, visitors))`;
  const sources = [
    ...select('ranks', 'days', 'day', 'day'),
    ...select('ranks', 'quarters', 'quarter', 'start'),
    ...select(ofMinutes, 'minutes', 'minute', 'start'),
  ];
  return `SELECT hex(groupBitmapMergeState(ranks)) AS merged FROM (${sources.join(' UNION ALL ')})`;
}

/** At most one more than a sketch keeps. Days have none of their own: those of their quarter hours are the same. */
async function tokensOf(
  clickHouse: ClickHouse,
  query: VisitorsQuery,
  spans: readonly Span[],
): Promise<number[]> {
  const sources = [
    { table: 'quarters', spans: spans.filter(({ grain }) => grain !== 'minute') },
    { table: 'minutes', spans: spans.filter(({ grain }) => grain === 'minute') },
  ] as const;
  const selects = sources
    .filter(source => source.spans.length > 0)
    .map(
      ({ table, spans: own }) =>
        `SELECT arrayJoin(visitors) AS token FROM ${tableName(table, query.generation)} WHERE ${within(query, 'start', own)}`,
    );
  const [row] = await clickHouse.rows<{ tokens: number[] }>(`
    SELECT groupArray(token) AS tokens FROM (
      SELECT DISTINCT token FROM (${selects.join(' UNION ALL ')}) LIMIT ${visitorsKept})`);
  return row?.tokens ?? [];
}

function within({ scopes }: VisitorsQuery, column: string, spans: readonly Span[]): string {
  const literal = (at: number): string =>
    column === 'day' ? `toDate(${at / grainMs.day})` : `toDateTime(${at / 1_000}, 'UTC')`;
  const ranges = spans.map(
    ({ from, to }) => `(${column} >= ${literal(from)} AND ${column} < ${literal(to)})`,
  );
  return `scope IN ${quotedList(scopes)} AND (${ranges.join(' OR ')})`;
}

const oneByOne = 0;
const roaring = 1;
const withoutRuns = 12_346;
const withRuns = 12_347;
/** With fewer pieces than this, and runs among them, there is no table of where they begin. */
const piecesWithOffsets = 4;
/** A piece has the numbers that share their upper 16 bits: so many at most one by one, otherwise all of its bits. */
const listMax = 4_096;
const pieceBits = 65_536;
const pieceBytes = pieceBits / 8;

/**
 * What `hex(groupBitmapState(…))` says, read here: a set that ClickHouse has merged comes over in a few kilobytes, and
 * to look into it takes microseconds, where unfolding it into rows there took milliseconds. The form is the one in
 * which states lie on disks and go from replica to replica, so versions of the engine agree on it: a byte for the kind,
 * then either a few numbers one by one, or a Roaring bitmap in its portable form. Given are the numbers below `bitCount`
 * as bits, in words of 32; a number far beyond it is an error.
 */
export function bitsOf(hexState: string, bitCount: number): Uint32Array {
  const pieces = Math.ceil(bitCount / pieceBits);
  const bits = new Uint8Array(pieces * pieceBytes);
  const state = new Reader(Buffer.from(hexState, 'hex'));
  const kind = state.u8();
  if (kind === oneByOne) {
    for (let left = state.variable(); left > 0; left -= 1) setBit(bits, state.u32());
  } else if (kind === roaring) {
    state.variable();
    addRoaring(bits, state);
  } else {
    throw new Error(`A bitmap of ClickHouse has the unknown kind ${kind}.`);
  }
  return new Uint32Array(bits.buffer);
}

function addRoaring(bits: Uint8Array, state: Reader): void {
  const cookie = state.u32();
  const hasRuns = (cookie & 0xffff) === withRuns;
  if (!hasRuns && cookie !== withoutRuns)
    throw new Error(`A bitmap of ClickHouse begins with ${cookie}, which no Roaring bitmap does.`);
  const pieces = hasRuns ? (cookie >>> 16) + 1 : state.u32();
  const runFlags = hasRuns ? state.bytes(Math.ceil(pieces / 8)) : new Uint8Array(Math.ceil(pieces / 8));
  const headers = Array.from({ length: pieces }, () => ({ key: state.u16(), count: state.u16() + 1 }));
  if (!hasRuns || pieces >= piecesWithOffsets) state.bytes(pieces * 4);
  for (const [index, { key, count }] of headers.entries()) {
    const base = key * pieceBits;
    if ((runFlags[index >> 3]! >> (index & 7)) & 1) addRuns(bits, base, state);
    else if (count > listMax) bits.set(state.bytes(pieceBytes), base / 8);
    else for (let left = count; left > 0; left -= 1) setBit(bits, base + state.u16());
  }
}

function addRuns(bits: Uint8Array, base: number, state: Reader): void {
  for (let runs = state.u16(); runs > 0; runs -= 1) {
    const first = base + state.u16();
    const last = first + state.u16();
    for (let number = first; number <= last; number += 1) setBit(bits, number);
  }
}

function setBit(bits: Uint8Array, number: number): void {
  const byte = number >>> 3;
  if (byte >= bits.length) throw new RangeError(`A bitmap of ClickHouse has ${number}, which is too large.`);
  bits[byte]! |= 1 << (number & 7);
}

/** One after the other; beyond the end it throws, so half a state is never taken for a whole one. */
class Reader {
  readonly #all: Buffer;
  #at = 0;

  constructor(all: Buffer) {
    this.#all = all;
  }

  u8(): number {
    return this.#all.readUInt8(this.#move(1));
  }

  u16(): number {
    return this.#all.readUInt16LE(this.#move(2));
  }

  u32(): number {
    return this.#all.readUInt32LE(this.#move(4));
  }

  bytes(count: number): Uint8Array {
    if (this.#at + count > this.#all.length) throw new Error('A bitmap of ClickHouse ends too early.');
    const from = this.#move(count);
    return this.#all.subarray(from, from + count);
  }

  /** Seven bits a byte, the lowest first. */
  variable(): number {
    for (let [value, scale] = [0, 1]; ; scale *= 128) {
      const byte = this.u8();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  #move(count: number): number {
    this.#at += count;
    return this.#at - count;
  }
}
