/** Counting: clicks as they come from the log, sorted into a run for each day. */
import type { Database } from 'bun:sqlite';
import { type ClickBatch, clickCount } from '../../click.ts';
import { tokenOf } from '../../sketch/token.ts';
import { grainMs } from '../../warehouse.ts';
import {
  byList,
  chunkRowsMax,
  compareLinks,
  entriesIn,
  entryOf,
  kindByte,
  type LinkKey,
  type LinkRows,
  type Rows,
} from './chunk.ts';
import { ChunkWriter, EntryList, storeChunk } from './chunk-writer.ts';
import { createRun, hoursIn, hoursPerDay, noteClicks, type RunState } from './runs.ts';
import { keyOf } from './totals.ts';

export interface CountOptions {
  readonly state?: RunState;
  readonly claimedUntil?: number;
  readonly builder?: string;
}

/** Lists with more entries than this are made smaller for each chunk. */
const listedMax = 1_000;

/** Stores clicks as runs of the lowest level; returns the runs. */
export function countClicks(
  database: Database,
  batches: readonly ClickBatch[],
  { state = 'live', claimedUntil = 0, builder = '' }: CountOptions = {},
): number[] {
  const gathered = gather(batches);
  const order = sortLinks(gathered.links);
  const isLong = Object.values(gathered.rows.lists).some(({ length }) => length > listedMax);
  const runs: number[] = [];
  for (const [day, rows] of rowsByDay(gathered.days)) {
    const run = createRun(database, {
      day: day * grainMs.day,
      level: 0,
      state,
      singles: true,
      claimedUntil,
      builder,
    });
    const { links, sorted } = sortRows(gathered, order, rows);
    if (isLong || rows.length < gathered.link.length) {
      const writer = new ChunkWriter(database, run);
      for (const { key, from, to } of links) writer.append(key, sorted, from, to);
      writer.flush();
    } else for (const piece of chunksOf(links)) storeChunk(database, run, sorted, piece);
    const hours = new Float64Array(hoursPerDay);
    hoursIn(sorted.at, 0, rows.length, hours);
    noteClicks(database, run, hours);
    runs.push(run);
  }
  return runs;
}

/** Links in pieces of as many clicks as a chunk may have. */
function* chunksOf(links: readonly LinkRows[]): Generator<LinkRows[]> {
  let piece: LinkRows[] = [];
  let start = 0;
  for (const link of links) {
    let { from } = link;
    while (link.to - start > chunkRowsMax) {
      const to = start + chunkRowsMax;
      if (to > from) piece.push({ key: link.key, from, to });
      yield piece;
      [piece, start, from] = [[], to, to];
    }
    piece.push({ key: link.key, from, to: link.to });
  }
  if (piece.length > 0) yield piece;
}

/** Clicks of several batches in one set of columns. */
interface Gathered {
  readonly links: readonly LinkKey[];
  readonly days: Uint32Array;
  readonly link: Uint32Array;
  readonly rows: Rows;
}

function gather(batches: readonly ClickBatch[]): Gathered {
  const count = batches.reduce((sum, batch) => sum + clickCount(batch), 0);
  const [days, link, at, token] = [0, 1, 2, 3].map(() => new Uint32Array(count)) as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const kind = new Uint8Array(count);
  const codes = byList(() => new Uint32Array(count));
  const links = new LinkNumbers();
  const lists = byList(() => new EntryList());
  let offset = 0;
  for (const batch of batches) {
    const entries = entriesIn(batch);
    const linkNumbers = batch.links.map(({ ownerId, code }) => links.numberOf(ownerId ?? '', code));
    const tagNumbers = batch.links.map(({ ownerId, tags }) =>
      lists.tags.placeOf(ownerId === null || tags.length === 0 ? '' : entryOf(tags)),
    );
    const clicks = clickCount(batch);
    for (let index = 0; index < clicks; index += 1) {
      const time = batch.at[index]!;
      const day = Math.floor(time / grainMs.day);
      const entry = batch.link[index]!;
      days[offset + index] = day;
      at[offset + index] = time - day * grainMs.day;
      link[offset + index] = linkNumbers[entry]!;
      codes.tags[offset + index] = tagNumbers[entry]!;
      kind[offset + index] = kindByte(batch.kind[index]!, batch.signal[index]!);
      token[offset + index] = tokenOf(batch.visitorHigh[index]!, batch.visitorLow[index]!);
    }
    for (const name of ['agent', 'referrer', 'place', 'visit'] as const) {
      const numbers = entries[name].map(each => lists[name].placeOf(each));
      const [column, source] = [codes[name], batch[name]];
      for (let index = 0; index < clicks; index += 1) column[offset + index] = numbers[source[index]!]!;
    }
    offset += clicks;
  }
  const texts = byList(name => lists[name].entries);
  return { links: links.keys, days, link, rows: { at, kind, token, codes, lists: texts } };
}

/** Most often all clicks are of one day. */
function rowsByDay(days: Uint32Array): Map<number, Uint32Array> {
  const first = days[0];
  if (first === undefined) return new Map();
  let isOne = true;
  for (let row = 0; row < days.length && isOne; row += 1) isOne = days[row] === first;
  const all = Uint32Array.from(days, (_, row) => row);
  if (isOne) return new Map([[first, all]]);
  const grouped = Map.groupBy(all, row => days[row]!);
  return new Map([...grouped].map(([day, rows]) => [day, Uint32Array.from(rows)]));
}

/** Rows in the order of their links, those of a link in the order of time. */
function sortRows(
  { links, link, rows }: Gathered,
  order: Uint32Array,
  wanted: Uint32Array,
): { links: LinkRows[]; sorted: Rows } {
  const counts = new Uint32Array(links.length);
  for (let index = 0; index < wanted.length; index += 1) counts[link[wanted[index]!]!]! += 1;
  const places = new Uint32Array(links.length);
  const pieces: LinkRows[] = [];
  for (let index = 0, place = 0; index < order.length; index += 1) {
    const number = order[index]!;
    if (counts[number] === 0) continue;
    places[number] = place;
    pieces.push({ key: links[number]!, from: place, to: place + counts[number]! });
    place += counts[number]!;
  }
  const sortedRows = new Uint32Array(wanted.length);
  for (let index = 0; index < wanted.length; index += 1) {
    const number = link[wanted[index]!]!;
    sortedRows[places[number]!] = wanted[index]!;
    places[number]! += 1;
  }
  // They come nearly in order: an insertion sort moves next to nothing.
  for (const { from, to } of pieces) if (to - from > 1) sortByTime(sortedRows, rows.at, from, to);
  return {
    links: pieces,
    sorted: {
      at: pick(rows.at, sortedRows),
      kind: new Uint8Array(pick(rows.kind, sortedRows)),
      token: pick(rows.token, sortedRows),
      codes: byList(name => pick(rows.codes[name], sortedRows)),
      lists: rows.lists,
    },
  };
}

function sortByTime(rows: Uint32Array, at: ArrayLike<number>, from: number, to: number): void {
  let moves = 0;
  for (let index = from + 1; index < to; index += 1) {
    const row = rows[index]!;
    const time = at[row]!;
    let place = index;
    while (place > from && at[rows[place - 1]!]! > time) {
      rows[place] = rows[place - 1]!;
      place -= 1;
      moves += 1;
    }
    rows[place] = row;
    if (moves > 16 * (to - from)) {
      rows.subarray(from, to).sort((a, b) => at[a]! - at[b]! || a - b);
      return;
    }
  }
}

/** Hash and place in one number, so that the engine's own sort does the work; equal hashes are rare. */
function sortLinks(links: readonly LinkKey[]): Uint32Array {
  const byOwner = new Map<string, number[]>();
  for (let number = 0; number < links.length; number += 1) {
    const { owner } = links[number]!;
    const known = byOwner.get(owner);
    if (known === undefined) byOwner.set(owner, [number]);
    else known.push(number);
  }
  const sorted = new Uint32Array(links.length);
  let offset = 0;
  for (const owner of [...byOwner.keys()].sort((a, b) => (a < b ? -1 : 1))) {
    const numbers = byOwner.get(owner)!;
    const packed = new Float64Array(numbers.length);
    for (let index = 0; index < numbers.length; index += 1)
      packed[index] = links[numbers[index]!]!.hash * numberRange + numbers[index]!;
    packed.sort();
    for (let index = 0; index < packed.length; index += 1, offset += 1) {
      sorted[offset] = packed[index]! % numberRange;
      // Of equal hashes the codes decide.
      for (let at = offset; at > 0 && areSwapped(links[sorted[at - 1]!]!, links[sorted[at]!]!); at -= 1)
        [sorted[at - 1], sorted[at]] = [sorted[at]!, sorted[at - 1]!];
    }
  }
  return sorted;
}

const numberRange = 2 ** 21;
const areSwapped = (a: LinkKey, b: LinkKey): boolean => a.hash === b.hash && compareLinks(a, b) > 0;

function pick(column: Uint8Array | Uint32Array, rows: Uint32Array): Uint32Array {
  const picked = new Uint32Array(rows.length);
  for (let index = 0; index < rows.length; index += 1) picked[index] = column[rows[index]!]!;
  return picked;
}

class LinkNumbers {
  readonly keys: LinkKey[] = [];
  readonly #byOwner = new Map<string, Map<string, number>>();

  numberOf(owner: string, code: string): number {
    let codes = this.#byOwner.get(owner);
    if (codes === undefined) {
      codes = new Map();
      this.#byOwner.set(owner, codes);
    }
    const known = codes.get(code);
    if (known !== undefined) return known;
    const number = this.keys.length;
    codes.set(code, number);
    this.keys.push(keyOf(owner, code));
    return number;
  }
}
