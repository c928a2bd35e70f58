/** What the groups of a link (groups.ts) have of a question with filters. */
import type { Database } from 'bun:sqlite';
import { visitKinds } from '../../click.ts';
import { grainMs } from '../../warehouse.ts';
import { entrySeparator, isHuman, kindIn, type LinkKey, listSeparator } from './chunk.ts';
import { BrokenColumn, shortsIn, unpackColumn, unpackText } from './columns.ts';
import type { EntryFilters } from './entry-filters.ts';
import {
  blockEnds,
  blockRanks,
  firstBlockPart,
  type GroupedList,
  groupedLists,
  sharedRankPart,
} from './groups.ts';
import { type DayMinutes, outside, type Tally } from './tally.ts';

interface GroupBounds {
  readonly id: number;
  readonly chunk: number;
  readonly last_chunk: number;
  readonly first_at: number;
  readonly last_at: number;
}

const columns = ['lists', 'place', 'agent', 'kind', 'lengths', 'visit', 'referrer'] as const;
type GroupRow = Readonly<Record<(typeof columns)[number], Uint8Array>>;

/** What a row of a group is to a question. */
const states = { filteredOut: 0, person: 1, suspicious: 2, bot: 3 } as const;
const stateOf = (kind: number): number =>
  kind === 0 ? states.person : isHuman(kind) ? states.suspicious : states.bot;

export interface GroupQuestion {
  readonly key: LinkKey;
  readonly filters: EntryFilters;
  readonly tally: Tally;
  /** Takes how many people's clicks each entry of a list has. */
  readonly onCounted: (list: GroupedList, entries: readonly string[], clicks: Float64Array) => void;
}

/** Chunks that need not be read any more, from the first to the last. */
export type ReadChunks = readonly { readonly chunk: number; readonly last_chunk: number }[];

export class GroupReader {
  readonly #database: Database;
  readonly #question: GroupQuestion;
  #states = new Uint8Array(0);
  /** Of the group that is being read, blocks with rows that pass. */
  #matched: { readonly block: number; readonly start: number }[] = [];

  constructor(database: Database, question: GroupQuestion) {
    this.#database = database;
    this.#question = question;
  }

  /** Adds the groups of a run that lie in the range as a whole. A damaged one is left to the clicks. */
  read(run: number, minutes: DayMinutes): ReadChunks {
    const { owner, hash, code } = this.#question.key;
    const groups = this.#database
      .query<GroupBounds, [number, string, number, string]>(
        `SELECT id, chunk, last_chunk, first_at, last_at FROM groups
        WHERE run = ? AND owner = ? AND hash = ? AND code = ? AND -parts = (
          SELECT count(*) FROM group_parts WHERE group_parts.run = groups.run AND group_parts.chunk = groups.chunk
        ) ORDER BY chunk`,
      )
      .all(run, owner, hash, code)
      .filter(group =>
        minutes.slotBuckets.subarray(slotAt(group.first_at), slotAt(group.last_at) + 1).every(isWhole),
      );
    if (this.#question.filters.passesLink(code)) for (const group of groups) this.#add(run, group, minutes);
    return groups;
  }

  #add(run: number, bounds: GroupBounds, { slotBuckets }: DayMinutes): void {
    const row = this.#database
      .query<GroupRow, [number]>(`SELECT ${columns.join(', ')} FROM groups WHERE id = ?`)
      .get(bounds.id)!;
    const sums = this.#select(run, bounds.chunk, row);
    if (sums[states.person]! + sums[states.suspicious]! + sums[states.bot]! === 0) return;
    this.#addSeries(run, bounds, slotBuckets, sums);
    this.#addVisitors(run, bounds.chunk);
  }

  /** Counts the rows that pass, into lists and into sums by state, and keeps the state of each row. */
  #select(run: number, chunk: number, row: GroupRow): Float64Array {
    const { filters, tally, onCounted } = this.#question;
    const texts = unpackText(row.lists).split(listSeparator);
    const listOf = (name: GroupedList): ListColumn => {
      const entries = texts[groupedLists.indexOf(name)]!.split(entrySeparator);
      return {
        name,
        entries,
        column: unpackColumn(row[name]),
        passes: filters.passes(name, entries) ?? new Uint8Array(entries.length).fill(1),
        clicks: new Float64Array(entries.length),
      };
    };
    const [place, agent] = [listOf('place'), listOf('agent')];
    const [visit, referrer] = [listOf('visit'), listOf('referrer')];
    const [kind, lengths] = [unpackColumn(row.kind), unpackColumn(row.lengths)];
    const kindStates = Uint8Array.from({ length: 256 }, (_, byte) =>
      filters.kinds[kindIn(byte)] ? stateOf(byte) : states.filteredOut,
    );
    const stretches: Stretches = {
      lengths,
      states: stretchStates(place, agent, kind, kindStates),
      sums: new Float64Array(lengths.length),
    };
    const pairs: Pairs = {
      passes: pairPasses(visit, referrer),
      clicks: new Uint32Array(visit.column.length),
    };
    this.#clearStates(lengths);
    this.#matched = [];
    let [from, start] = [0, 0];
    for (const [index, to] of blockEnds(lengths).entries()) {
      if (hasPassing(stretches.states, from, to)) {
        const block = this.#rows(run, chunk, firstBlockPart + index);
        if (block === undefined) throw new BrokenColumn('a group lacks rows');
        if (addBlock(block, start, stretches, from, to, pairs, this.#states))
          this.#matched.push({ block: index, start });
      }
      for (; from < to; from += 1) start += lengths[from]!;
    }
    const sums = new Float64Array(4);
    for (let stretch = 0; stretch < lengths.length; stretch += 1) {
      const sum = stretches.sums[stretch]!;
      if (sum === 0) continue;
      const state = stretches.states[stretch]!;
      sums[state]! += sum;
      if (state === states.bot) tally.list('bot', visitKinds[kindIn(kind[stretch]!)]!, sum);
      else {
        place.clicks[place.column[stretch]!]! += sum;
        agent.clicks[agent.column[stretch]!]! += sum;
      }
    }
    addByEntry(pairs.clicks, visit);
    addByEntry(pairs.clicks, referrer);
    for (const { name, entries, clicks } of [place, agent, visit, referrer]) onCounted(name, entries, clicks);
    return sums;
  }

  #clearStates(lengths: Uint32Array): void {
    let rows = 0;
    for (let stretch = 0; stretch < lengths.length; stretch += 1) rows += lengths[stretch]!;
    if (this.#states.length < rows) this.#states = new Uint8Array(rows);
    else this.#states.fill(states.filteredOut);
  }

  /** Quarter hours are read for all buckets but the longest, which has the rest. */
  #addSeries(run: number, bounds: GroupBounds, slotBuckets: Int32Array, sums: Float64Array): void {
    const { tally } = this.#question;
    const slots = Array.from(
      { length: slotAt(bounds.last_at) + 1 - slotAt(bounds.first_at) },
      (_, index) => slotAt(bounds.first_at) + index,
    );
    const byBucket = [...Map.groupBy(slots, slot => slotBuckets[slot]!)].sort(
      (a, b) => b[1].length - a[1].length,
    );
    const rest = sums.slice();
    const add = (bucket: number, of: Float64Array): void =>
      tally.add(bucket, of[states.person]! + of[states.suspicious]!, of[states.bot]!, of[states.suspicious]!);
    for (const [bucket, ofBucket] of byBucket.slice(1)) {
      const part = new Float64Array(4);
      for (const slot of ofBucket) this.#addSlot(run, bounds.chunk, slot, part);
      for (let state = 1; state < 4; state += 1) rest[state]! -= part[state]!;
      add(bucket, part);
    }
    add(byBucket[0]![0], rest);
  }

  #addSlot(run: number, chunk: number, slot: number, sums: Float64Array): void {
    const part = this.#rows(run, chunk, slot);
    if (part === undefined) return;
    const gaps = unpackColumn(part.rows);
    const rowStates = this.#states;
    const clicks = new Uint32Array(sums.length);
    let row = 0;
    for (let index = 0; index < gaps.length; index += 1) {
      row += gaps[index]!;
      clicks[rowStates[row]!]! += 1;
    }
    for (let state = 0; state < sums.length; state += 1) sums[state]! += clicks[state]!;
  }

  /** The highest ranks first, until the rest cannot change anything. */
  #addVisitors(run: number, chunk: number): void {
    const settled = this.#question.tally.visitors.settledRank();
    this.#addTokens(run, chunk, sharedRankPart, 0);
    for (const { firstPart, most } of blockRanks)
      if (most > settled)
        for (const { block, start } of this.#matched) this.#addTokens(run, chunk, firstPart + block, start);
  }

  #addTokens(run: number, chunk: number, number: number, start: number): void {
    const part = this.#rows(run, chunk, number);
    if (part === undefined) throw new BrokenColumn('a group lacks tokens');
    const [gaps, tokens] = [unpackColumn(part.rows), unpackColumn(part.numbers)];
    const { visitors } = this.#question.tally;
    const rowStates = this.#states;
    let row = start;
    for (let index = 0; index < gaps.length; index += 1) {
      row += gaps[index]!;
      if (rowStates[row] !== states.filteredOut) visitors.addToken(tokens[index]!);
    }
  }

  #rows(run: number, chunk: number, part: number): PartRow | undefined {
    const read = this.#database.query<PartRow, [number, number, number]>(
      'SELECT rows, numbers FROM group_parts WHERE run = ? AND chunk = ? AND part = ?',
    );
    return read.get(run, chunk, part) ?? undefined;
  }
}

interface PartRow {
  readonly rows: Uint8Array;
  readonly numbers: Uint8Array;
}

interface ListColumn {
  readonly name: GroupedList;
  readonly entries: readonly string[];
  /** Of each stretch, or of each pair, its entry. */
  readonly column: Uint32Array;
  /** By entry. */
  readonly passes: Uint8Array;
  /** By entry, people's. */
  readonly clicks: Float64Array;
}

interface Stretches {
  /** How many rows each has. */
  readonly lengths: Uint32Array;
  readonly states: Uint8Array;
  /** How many clicks of each pass. */
  readonly sums: Float64Array;
}

/** Of visits and referrers. */
interface Pairs {
  readonly passes: Uint8Array;
  /** People's. */
  readonly clicks: Uint32Array;
}

// Loops over all rows, stretches and pairs are functions of their own, so that they are compiled soon, and for arrays of one type.

function hasPassing(stretchState: Uint8Array, from: number, to: number): boolean {
  for (let stretch = from; stretch < to; stretch += 1)
    if (stretchState[stretch] !== states.filteredOut) return true;
  return false;
}

/** Adds the stretches of a block whose first row is the group's row `start`. False when nothing passes. */
function addBlock(
  block: PartRow,
  start: number,
  { lengths, states: stretchState, sums }: Stretches,
  from: number,
  to: number,
  { passes, clicks: ofPairs }: Pairs,
  rowStates: Uint8Array,
): boolean {
  const counts = block.numbers;
  const pairs = shortsIn(block.rows);
  let [end, all] = [0, 0];
  for (let stretch = from; stretch < to; stretch += 1) {
    const state = stretchState[stretch]!;
    let row = end;
    end += lengths[stretch]!;
    if (state === states.filteredOut) continue;
    let sum = 0;
    if (state === states.bot)
      for (; row < end; row += 1) {
        if (passes[pairs[row]!] === 0) continue;
        sum += counts[row]!;
        rowStates[start + row] = state;
      }
    else
      for (; row < end; row += 1) {
        const pair = pairs[row]!;
        if (passes[pair] === 0) continue;
        const count = counts[row]!;
        sum += count;
        ofPairs[pair]! += count;
        rowStates[start + row] = state;
      }
    sums[stretch] = sum;
    all += sum;
  }
  return all > 0;
}

function stretchStates(
  { column: place, passes: passesPlace }: ListColumn,
  { column: agent, passes: passesAgent }: ListColumn,
  kind: Uint32Array,
  kindStates: Uint8Array,
): Uint8Array {
  const made = new Uint8Array(place.length);
  for (let stretch = 0; stretch < made.length; stretch += 1)
    if (passesPlace[place[stretch]!] === 1 && passesAgent[agent[stretch]!] === 1)
      made[stretch] = kindStates[kind[stretch]!]!;
  return made;
}

function pairPasses(
  { column: visit, passes: passesVisit }: ListColumn,
  { column: referrer, passes: passesReferrer }: ListColumn,
): Uint8Array {
  const passes = new Uint8Array(visit.length);
  for (let pair = 0; pair < passes.length; pair += 1)
    passes[pair] = passesVisit[visit[pair]!]! & passesReferrer[referrer[pair]!]!;
  return passes;
}

function addByEntry(clicks: Uint32Array, { column, clicks: into }: ListColumn): void {
  for (let index = 0; index < clicks.length; index += 1) into[column[index]!]! += clicks[index]!;
}

const slotAt = (at: number): number => Math.floor(at / grainMs.quarter);
const isWhole = (bucket: number): boolean => bucket !== outside;
