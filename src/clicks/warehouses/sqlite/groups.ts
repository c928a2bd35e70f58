/**
 * Clicks of a busy link that are alike, counted together, so that a filter looks at a few bytes for each combination of
 * values and not at each click. A group is the clicks of some whole chunks that hold nothing but that link.
 *
 * Combinations are sorted by place (as a text), agent, kind, visit and referrer. Those that share the first three are a stretch; of
 * visits and referrers a row has the number of the pair. So a row is three bytes: the pair, and how many clicks it has; a
 * combination with more than 255 has several rows. Rows are in blocks of whole stretches, so that those which a filter on
 * places or agents leaves out are not read. A group also has:
 *
 * - for each quarter hour, the row of each click;
 * - tokens of visitors with the rows of their combinations, by rank: once every register of a sketch has reached a rank,
 *   tokens up to that rank need not be read any more. All but those of the highest ranks are kept block by block, so that
 *   a filter that few clicks pass, and that therefore needs all ranks, reads them only where clicks pass.
 *
 * Groups are made once a run is there (group-job.ts). Chunks that are in no group are read click by click.
 */
import type { Database } from 'bun:sqlite';
import { rankMax, rankOf } from '../../sketch/token.ts';
import { grainMs } from '../../warehouse.ts';
import { chunkRowsMax, entrySeparator, isHuman, type LinkKey, listSeparator, type Rows } from './chunk.ts';
import { EntryList } from './chunk-writer.ts';
import { packColumn, packText } from './columns.ts';
import { NumberTable } from './number-table.ts';
import { slotCount } from './summary.ts';

export const groupedLists = ['place', 'agent', 'visit', 'referrer'] as const;
export type GroupedList = (typeof groupedLists)[number];

/** A combination is one number of 53 bits. What visitors invent may be more than fits: such clicks are not grouped. */
const rangeOf = { place: 2 ** 12, agent: 2 ** 9, kind: 2 ** 8, visit: 2 ** 12, referrer: 2 ** 12 };
const pairRange = rangeOf.visit * rangeOf.referrer;
const ofPlace = rangeOf.agent * rangeOf.kind * pairRange;
const pairsMax = 2 ** 16;
export const rowClicksMax = 255;

/**
 * A million clicks. The more there are in a group, the more of them are alike; it takes 45 bytes of memory a click to make,
 * and a range that ends in the middle of it reads its clicks.
 */
export const groupChunksMax = 128;
/** With fewer, there is little to gain. */
export const groupChunksMin = 4;

/** A group's parts by number: the quarter hours, tokens by rank, and blocks of rows. Numbers are part of the format. */
/** Tokens of higher ranks than those of blocks. */
export const sharedRankPart = slotCount;
/** A part for each block of rows, from this number on. */
export const firstBlockPart = 1_000;
/** And for each block the tokens of some ranks. */
export const blockRanks = [
  { firstPart: 2_000, least: 4, most: 5 },
  { firstPart: 3_000, least: 2, most: 3 },
  { firstPart: 4_000, least: 1, most: 1 },
] as const;
/** A block ends with the stretch that makes it so long. */
const blockRows = 16_384;

/** Where blocks of stretches with so many rows end: behind which stretch. */
export function blockEnds(lengths: ArrayLike<number>): number[] {
  const ends: number[] = [];
  let rows = 0;
  for (let stretch = 0; stretch < lengths.length; stretch += 1) {
    rows += lengths[stretch]!;
    if (rows < blockRows && stretch + 1 < lengths.length) continue;
    ends.push(stretch + 1);
    rows = 0;
  }
  return ends;
}

export interface GroupedChunks {
  readonly run: number;
  readonly key: LinkKey;
  readonly chunks: readonly number[];
}

export class GroupBuilder {
  readonly #lists = {
    place: new EntryList(),
    agent: new EntryList(),
    visit: new EntryList(),
    referrer: new EntryList(),
  };
  readonly #combinations: NumberTable;
  readonly #pairs = new Set<number>();
  readonly #combination: Uint32Array;
  readonly #token: Uint32Array;
  readonly #slot: Uint8Array;
  #clicks = 0;
  #firstAt = grainMs.day;
  #lastAt = 0;

  constructor(chunks: number) {
    const clicksMax = chunks * chunkRowsMax;
    this.#combinations = new NumberTable(clicksMax);
    this.#combination = new Uint32Array(clicksMax);
    this.#token = new Uint32Array(clicksMax);
    this.#slot = new Uint8Array(clicksMax);
  }

  /** A chunk of the link. False when the clicks are too different to be grouped. */
  add({ at, kind, token, codes, lists }: Rows): boolean {
    const numbersOf = (name: GroupedList): Float64Array =>
      Float64Array.from(lists[name], entry => this.#lists[name].placeOf(entry));
    const [places, agents, visits, referrers] = [
      numbersOf('place'),
      numbersOf('agent'),
      numbersOf('visit'),
      numbersOf('referrer'),
    ];
    if (groupedLists.some(name => this.#lists[name].entries.length > rangeOf[name])) return false;
    const { place, agent, visit, referrer } = codes;
    for (let index = 0; index < at.length; index += 1) {
      const stretch =
        (places[place[index]!]! * rangeOf.agent + agents[agent[index]!]!) * rangeOf.kind + kind[index]!;
      const pair = visits[visit[index]!]! * rangeOf.referrer + referrers[referrer[index]!]!;
      const before = this.#combinations.size;
      const click = this.#clicks + index;
      this.#combination[click] = this.#combinations.placeOf(stretch * pairRange + pair);
      if (this.#combinations.size > before) this.#pairs.add(pair);
      this.#token[click] = token[index]!;
      this.#slot[click] = Math.floor(at[index]! / grainMs.quarter);
    }
    this.#clicks += at.length;
    this.#firstAt = Math.min(this.#firstAt, at[0]!);
    this.#lastAt = Math.max(this.#lastAt, at[at.length - 1]!);
    return this.#pairs.size <= pairsMax;
  }

  /** Stores the group a piece at a time; yields about how many clicks each piece was worth. */
  *store(database: Database, { run, key, chunks }: GroupedChunks): Generator<number> {
    const first = chunks[0]!;
    const insertPart = database.query(
      'INSERT INTO group_parts (run, chunk, part, rows, numbers) VALUES (?, ?, ?, ?, ?)',
    );
    let parts = 0;
    const storePart = (part: number, rows: Uint8Array, numbers: Uint8Array): void => {
      insertPart.run(run, first, part, rows, numbers);
      parts += 1;
    };
    const clicks = this.#clicks;
    const places = this.#lists.place.entries;
    // As texts, so that those of a country are in one stretch of blocks.
    const byText = places.map((_, place) => place).sort((a, b) => (places[a]! < places[b]! ? -1 : 1));
    const { keys, sorted } = this.#combinations.sorted(byText, ofPlace);
    yield clicks / 8;
    const { order, counts } = this.#sortClicks(sorted);
    const table = new RowTable(keys, counts, this.#pairs);
    yield clicks / 8;
    for (const [slot, { places }] of this.#bySlot(order).entries()) {
      if (places.length === 0) continue;
      storePart(slot, packGaps(table.rowsOf(places), 0), new Uint8Array(0));
      yield places.length / 4;
    }
    for (const [index, { places, numbers }] of this.#byRank(order, keys, table).entries()) {
      const { part, block } = rankPartAt(index, table.blockStarts.length);
      const rows = packGaps(table.rowsOf(places), block === undefined ? 0 : table.blockStarts[block]!);
      storePart(part, rows, packColumn(numbers, numbers.length, true));
      yield places.length / 4;
    }
    let block = firstBlockPart;
    for (const { pairs, counts: inBlock } of table.blocks()) storePart(block++, pairs, inBlock);
    yield clicks / 16;
    const lists = groupedLists.map(name =>
      (name === 'place' ? byText.map(place => places[place]!) : this.#lists[name].entries).join(
        entrySeparator,
      ),
    );
    database
      .query(
        `INSERT INTO groups (run, owner, hash, code, chunk, last_chunk, first_at, last_at, parts,
          lists, place, agent, kind, lengths, visit, referrer)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        run,
        key.owner,
        key.hash,
        key.code,
        first,
        chunks.at(-1)!,
        this.#firstAt,
        this.#lastAt,
        -parts,
        packText(lists.join(listSeparator)),
        ...table.columns(),
      );
  }

  /** Clicks in the order of their combinations, which get their places in that order, and how many each has. */
  #sortClicks(sorted: Uint32Array): { readonly order: Uint32Array; readonly counts: Uint32Array } {
    const combination = this.#combination;
    const counts = new Uint32Array(sorted.length);
    for (let click = 0; click < this.#clicks; click += 1) {
      combination[click] = sorted[combination[click]!]!;
      counts[combination[click]!]! += 1;
    }
    const next = new Uint32Array(sorted.length);
    for (let place = 1; place < next.length; place += 1) next[place] = next[place - 1]! + counts[place - 1]!;
    const order = new Uint32Array(this.#clicks);
    for (let click = 0; click < this.#clicks; click += 1) order[next[combination[click]!]!++] = click;
    return { order, counts };
  }

  /** The combinations of each quarter hour's clicks. */
  #bySlot(order: Uint32Array): Picked[] {
    const parts = new PartColumns(this.#slot.subarray(0, this.#clicks), slotCount);
    for (let index = 0; index < order.length; index += 1) {
      const click = order[index]!;
      parts.add(this.#slot[click]!, this.#combination[click]!, 0);
    }
    return parts.finish();
  }

  /** Tokens of people, in the order of `rankPartAt`. */
  #byRank(order: Uint32Array, keys: Float64Array, { blockOf, blockStarts }: RowTable): Picked[] {
    const blocks = blockStarts.length;
    const first = new Uint16Array(rankMax + 1);
    for (const [index, { least, most }] of blockRanks.entries())
      first.fill(1 + index * blocks, least, most + 1);
    const of = new Uint16Array(this.#clicks);
    for (let click = 0; click < of.length; click += 1) {
      const part = first[rankOf(this.#token[click]!)]!;
      of[click] = part === 0 ? part : part + blockOf[this.#combination[click]!]!;
    }
    const parts = new PartColumns(of, 1 + blockRanks.length * blocks);
    for (let index = 0; index < order.length; index += 1) {
      const click = order[index]!;
      const place = this.#combination[click]!;
      if (isHuman(Math.floor(keys[place]! / pairRange) % rangeOf.kind))
        parts.add(of[click]!, place, this.#token[click]!);
    }
    return parts.finish();
  }
}

/** The shared part, then the blocks of each of the ranks. */
function rankPartAt(index: number, blocks: number): { readonly part: number; readonly block?: number } {
  if (index === 0) return { part: sharedRankPart };
  const block = (index - 1) % blocks;
  return { part: blockRanks[Math.floor((index - 1) / blocks)]!.firstPart + block, block };
}

interface Picked {
  readonly places: Uint32Array;
  readonly numbers: Uint32Array;
}

/** Combinations with a number each, by part, in two arrays. */
class PartColumns {
  readonly #places: Uint32Array;
  readonly #numbers: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #next: Uint32Array;

  /** Takes the part of every click, at most as many of which are added. */
  constructor(parts: Uint8Array | Uint16Array, partCount: number) {
    this.#starts = new Uint32Array(partCount + 1);
    this.#places = new Uint32Array(parts.length);
    this.#numbers = new Uint32Array(parts.length);
    for (let click = 0; click < parts.length; click += 1) this.#starts[parts[click]! + 1]! += 1;
    for (let part = 0; part < partCount; part += 1) this.#starts[part + 1]! += this.#starts[part]!;
    this.#next = this.#starts.slice();
  }

  add(part: number, place: number, number: number): void {
    const at = this.#next[part]!++;
    this.#places[at] = place;
    this.#numbers[at] = number;
  }

  finish(): Picked[] {
    return Array.from(this.#next.subarray(0, -1), (to, part) => ({
      places: this.#places.subarray(this.#starts[part], to),
      numbers: this.#numbers.subarray(this.#starts[part], to),
    }));
  }
}

/** Combinations as they are stored. */
class RowTable {
  readonly #keys: Float64Array;
  readonly #counts: Uint32Array;
  /** Visits and referrers, sorted. */
  readonly #pairs: Float64Array;
  /** The first row of each combination, and the end. */
  readonly #starts: Uint32Array;
  readonly #stretches: number[] = [];
  readonly #lengths: number[] = [];
  /** The first row of each block. */
  readonly blockStarts: number[] = [];
  /** Of each combination. */
  readonly blockOf: Uint16Array;

  constructor(keys: Float64Array, counts: Uint32Array, pairs: ReadonlySet<number>) {
    this.#keys = keys;
    this.#counts = counts;
    this.#pairs = Float64Array.from(pairs).sort();
    this.#starts = new Uint32Array(keys.length + 1);
    for (let place = 0; place < keys.length; place += 1) {
      const rows = Math.ceil(counts[place]! / rowClicksMax);
      this.#starts[place + 1] = this.#starts[place]! + rows;
      const stretch = Math.floor(keys[place]! / pairRange);
      if (stretch !== this.#stretches.at(-1)) {
        this.#stretches.push(stretch);
        this.#lengths.push(0);
      }
      this.#lengths[this.#lengths.length - 1]! += rows;
    }
    this.blockOf = new Uint16Array(keys.length);
    let [stretch, start, place] = [0, 0, 0];
    for (const [block, endStretch] of blockEnds(this.#lengths).entries()) {
      this.blockStarts.push(start);
      for (; stretch < endStretch; stretch += 1) start += this.#lengths[stretch]!;
      for (; place < keys.length && this.#starts[place]! < start; place += 1) this.blockOf[place] = block;
    }
  }

  rowsOf(combinations: Uint32Array): Uint32Array {
    const rows = new Uint32Array(combinations.length);
    for (let index = 0; index < rows.length; index += 1) rows[index] = this.#starts[combinations[index]!]!;
    return rows;
  }

  *blocks(): Generator<{ readonly pairs: Uint8Array; readonly counts: Uint8Array }> {
    const [keys, counts, starts] = [this.#keys, this.#counts, this.#starts];
    const numbers = new Map(Array.from(this.#pairs, (pair, number) => [pair, number]));
    let place = 0;
    for (const [block, start] of this.blockStarts.entries()) {
      const end = this.blockStarts[block + 1] ?? starts[keys.length]!;
      const [pairs, clicks] = [new Uint16Array(end - start), new Uint8Array(end - start)];
      for (; place < keys.length && starts[place]! < end; place += 1) {
        const number = numbers.get(keys[place]! % pairRange)!;
        let left = counts[place]!;
        for (let row = starts[place]!; row < starts[place + 1]!; row += 1, left -= rowClicksMax) {
          pairs[row - start] = number;
          clicks[row - start] = Math.min(left, rowClicksMax);
        }
      }
      yield { pairs: new Uint8Array(pairs.buffer), counts: clicks };
    }
  }

  /** Of stretches place, agent, kind and how many rows they have; of pairs visit and referrer. Every filter reads them. */
  columns(): Uint8Array[] {
    const pack = (of: ArrayLike<number>, value: (number: number) => number): Uint8Array =>
      packColumn(
        Uint32Array.from(of, number => value(number)),
        of.length,
        true,
      );
    return [
      pack(this.#stretches, each => Math.floor(each / (rangeOf.agent * rangeOf.kind))),
      pack(this.#stretches, each => Math.floor(each / rangeOf.kind) % rangeOf.agent),
      pack(this.#stretches, each => each % rangeOf.kind),
      pack(this.#lengths, each => each),
      pack(this.#pairs, each => Math.floor(each / rangeOf.referrer)),
      pack(this.#pairs, each => each % rangeOf.referrer),
    ];
  }
}

/** Ascending numbers from one on, as the distances between them. */
function packGaps(numbers: Uint32Array, from: number): Uint8Array {
  const gaps = new Uint32Array(numbers.length);
  let before = from;
  for (let index = 0; index < numbers.length; index += 1) {
    gaps[index] = numbers[index]! - before;
    before = numbers[index]!;
  }
  return packColumn(gaps, gaps.length);
}
