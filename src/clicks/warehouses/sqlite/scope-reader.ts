/** What runs have of one scope: the summary where there is one and the question has no filters, otherwise the clicks. */
import type { Database } from 'bun:sqlite';
import { visitKinds } from '../../click.ts';
import type { DimensionName } from '../../dimensions.ts';
import { Sketch } from '../../sketch/sketch.ts';
import { grainMs, type Question, type Scope } from '../../warehouse.ts';
import {
  Chunk,
  type ChunkRow,
  fieldsOf,
  hashOf,
  isHuman,
  kindIn,
  type LinkKey,
  listDimensions,
  tagsIn,
} from './chunk.ts';
import { type DaySummary, findSummary } from './day-summary.ts';
import { type CountedList, EntryFilters, entriesMax } from './entry-filters.ts';
import { GroupReader, type ReadChunks } from './group-reader.ts';
import { RecentlyRead } from './recently-read.ts';
import { manyTags } from './run-writer.ts';
import { type Run, scopeOf } from './runs.ts';
import { readSlots, readSlotVisitors } from './summary.ts';
import { type DayMinutes, outside, type Tally } from './tally.ts';
import { keyOf, ownerKey, tagKey } from './totals.ts';

/** Above every hash of a link. */
export const hashMax = 2 ** 32;
/** A number of its own: it is used for every click. */
const minuteMs = grainMs.minute;

/** Clicks of a scope in a chunk, with the links that they are of. */
interface ScopeRows {
  readonly from: number;
  readonly to: number;
  readonly links: { readonly codes: readonly string[]; readonly starts: Uint32Array };
}

export interface SelectedClicks {
  readonly chunk: Chunk;
  readonly rows: ScopeRows;
  /** Places in the chunk, in the order of links and time. */
  readonly selected: Uint32Array;
}

export type StoredColumn = keyof ChunkRow;

/** Reads what runs have of one scope into the tally. */
export class ScopeReader {
  readonly #database: Database;
  readonly scope: Scope;
  /** The place of a link among others. */
  readonly key: LinkKey;
  readonly #filters: EntryFilters;
  readonly #tally: Tally;
  readonly #owner: string;
  /** Lists of chunks whose values are listed, or filtered by. */
  readonly #listed: readonly CountedList[];
  readonly #columns: readonly StoredColumn[];
  /** Entries repeat from chunk to chunk: what each comes to is worked out once, or once in a while when they are many. */
  readonly #counted = new Map<CountedList, Map<string, number>>();
  readonly #groups: GroupReader | undefined;

  constructor(database: Database, scope: Scope, { filters }: Question, tally: Tally) {
    this.#database = database;
    this.scope = scope;
    this.key = keyOf(scope.ownerId ?? '', scope.kind === 'link' ? scope.code : ':');
    this.#filters = new EntryFilters(filters);
    this.#tally = tally;
    this.#owner = scope.ownerId ?? '';
    const uses = (name: DimensionName): boolean =>
      tally.lists.has(name) || filters.some(({ dimension }) => dimension === name);
    this.#listed = (['agent', 'referrer', 'place', 'visit'] as const).filter(list =>
      listDimensions[list].some(({ name }) => uses(name)),
    );
    this.#columns = ['links', 'counts', 'at', 'kind', 'token', ...this.#listed];
    if (scope.kind === 'tag') this.#columns = [...this.#columns, 'tags'];
    if (this.#listed.length > 0 || scope.kind === 'tag') this.#columns = [...this.#columns, 'lists'];
    if (scope.kind === 'link' && filters.length > 0)
      this.#groups = new GroupReader(database, {
        key: this.key,
        filters: this.#filters,
        tally,
        onCounted: (list, entries, clicks) => this.#count(list, entries, clicks),
      });
  }

  /** `since` is the first millisecond of the day that counts. */
  read(run: Run, minutes: DayMinutes, since: number): void {
    // A summary of single clicks has all of them; one that has taken their place, only those that count.
    const mustRead = !this.#filters.isEmpty || (since > 0 && run.singles === 1);
    const summary = mustRead ? undefined : this.#summaryIn(run);
    if (summary === undefined) {
      const read = since === 0 && run.level > 0 ? this.#groups?.read(run.id, minutes) : undefined;
      this.#readClicks(run, minutes.buckets, since, true, read);
    }
    if (summary !== undefined && summary !== null) {
      this.#addSummary(summary, minutes);
      if (minutes.edges !== undefined && run.singles === 1) this.#readClicks(run, minutes.edges, 0, false);
    }
  }

  /** Undefined when the clicks have to be read, null when there are none. */
  #summaryIn(run: Run): DaySummary | undefined | null {
    const scope = this.scope;
    const find = (code: string) => findSummary(this.#database, run.id, scopeOf(this.#owner, code));
    if (scope.kind === 'link') return find(scope.code);
    if (scope.kind === 'owner') return find(ownerKey(this.#owner).code);
    if (find(ownerKey(this.#owner).code) === undefined) return undefined;
    return find(tagKey(this.#owner, scope.tag).code) ?? (find(manyTags) === undefined ? null : undefined);
  }

  #addSummary(summary: DaySummary, { buckets, wholeSlots, isWholeDay }: DayMinutes): void {
    const tally = this.#tally;
    const { minutes } = summary;
    for (let index = 0; index < minutes.length; index += 4) {
      const bucket = buckets[minutes[index]!]!;
      if (bucket !== outside)
        tally.add(bucket, minutes[index + 1]!, minutes[index + 2]!, minutes[index + 3]!);
    }
    const parts = isWholeDay ? undefined : summary.readSlotParts();
    const whole = tally.lists.size === 0 ? {} : summary.whole;
    const slots = parts === undefined || tally.lists.size === 0 ? {} : readSlots(parts);
    for (const name of tally.lists.keys()) {
      const { values = [], clicks = [] } = whole[name] ?? {};
      for (const [index, value] of values.entries()) {
        const count = isWholeDay ? clicks[index]! : countIn(slots[name]![index]!, wholeSlots);
        if (count > 0) tally.list(name, value, count);
      }
    }
    if (parts === undefined) {
      tally.visitors.merge(summary.visitors);
      return;
    }
    for (const { slot, visitors } of readSlotVisitors(parts))
      if (wholeSlots[slot]) tally.visitors.merge(Sketch.from(visitors));
  }

  /** Without `counts`, only lists and visitors. */
  #readClicks(run: Run, buckets: Int32Array, since: number, counts: boolean, read?: ReadChunks): void {
    for (const { chunk, rows, selected } of this.clicksIn(run, buckets, since, read))
      this.#addClicks(chunk, rows, selected, counts ? buckets : undefined);
  }

  /** Clicks of the scope in some minutes that pass the filters, chunk by chunk. */
  *clicksIn(run: Run, buckets: Int32Array, since: number, read: ReadChunks = []): Generator<SelectedClicks> {
    const first = buckets.findIndex(bucket => bucket !== outside);
    const last = buckets.findLastIndex(bucket => bucket !== outside);
    const window = {
      from: Math.max(since, first * grainMs.minute),
      to: (last + 1) * grainMs.minute,
    };
    for (const chunk of this.#chunks(run.id, window, read)) {
      const rows = this.#rowsIn(chunk);
      if (rows === undefined) continue;
      const selected = this.#select(chunk, rows, buckets, since);
      if (selected.length > 0) yield { chunk, rows, selected };
    }
  }

  /** Where the clicks of the scope lie: those of a link, or of all links of the owner. */
  #rowsIn(chunk: Chunk): ScopeRows | undefined {
    const scope = this.scope;
    if (scope.kind === 'link') {
      const found = chunk.rowsOf(keyOf(this.#owner, scope.code));
      return (
        found && { ...found, links: { codes: [scope.code], starts: Uint32Array.of(found.from, found.to) } }
      );
    }
    const links = chunk.linksOf(this.#owner);
    if (links === undefined) return undefined;
    const { first, codes } = links;
    const starts = chunk.starts.subarray(first, first + codes.length + 1);
    return { from: starts[0]!, to: starts[codes.length]!, links: { codes, starts } };
  }

  /** Clicks in the range that pass the filters. */
  #select(chunk: Chunk, { from, to, links }: ScopeRows, buckets: Int32Array, since: number): Uint32Array {
    const selected = new Uint32Array(to - from);
    const { at, kind } = chunk;
    const checks: { readonly column: Uint32Array; readonly passes: Uint8Array }[] = [];
    for (const list of this.#listed) {
      const passes = this.#filters.passes(list, chunk.lists[list]);
      if (passes !== undefined) checks.push({ column: chunk.codes[list], passes });
    }
    const scope = this.scope;
    if (scope.kind === 'tag')
      checks.push({
        column: chunk.codes.tags,
        passes: Uint8Array.from(chunk.lists.tags, entry => (tagsIn(entry).includes(scope.tag) ? 1 : 0)),
      });
    const { kinds, areOfLinks } = this.#filters;
    let count = 0;
    for (let link = 0; link < links.codes.length; link += 1) {
      if (areOfLinks && !this.#filters.passesLink(links.codes[link]!)) continue;
      const end = areOfLinks ? links.starts[link + 1]! : to;
      for (let index = links.starts[link]!; index < end; index += 1) {
        const time = at[index]!;
        if (time < since || buckets[(time / minuteMs) | 0] === outside) continue;
        if (!kinds[kindIn(kind[index]!)]) continue;
        let isWanted = true;
        for (let check = 0; check < checks.length && isWanted; check += 1) {
          const { column, passes } = checks[check]!;
          isWanted = passes[column[index]!] === 1;
        }
        if (isWanted) selected[count++] = index;
      }
      // Without such a filter all links are gone over at once.
      if (!areOfLinks) break;
    }
    return selected.subarray(0, count);
  }

  #addClicks(
    chunk: Chunk,
    { links }: ScopeRows,
    selected: Uint32Array,
    buckets: Int32Array | undefined,
  ): void {
    const tally = this.#tally;
    const { counts } = tally;
    const { at, kind, token } = chunk;
    let people = 0;
    for (let place = 0; place < selected.length; place += 1) {
      const index = selected[place]!;
      const byte = kind[index]!;
      const isPerson = isHuman(byte);
      if (buckets !== undefined) {
        const place = buckets[(at[index]! / minuteMs) | 0]! * 3;
        if (!isPerson) counts[place + 1]! += 1;
        else {
          counts[place]! += 1;
          if (byte !== 0) counts[place + 2]! += 1;
        }
      }
      if (isPerson) {
        people += 1;
        tally.visitors.addToken(token[index]!);
      } else tally.list('bot', visitKinds[kindIn(byte)]!, 1);
    }
    if (people === 0) return;
    if (this.scope.kind !== 'link' && tally.lists.has('link')) this.#listLinks(chunk, links, selected);
    for (const list of this.#listed) {
      const names = listDimensions[list].map(({ name }) => name);
      if (!names.some(name => tally.lists.has(name))) continue;
      const [column, entries] = [chunk.codes[list], chunk.lists[list]];
      const ofEntries = new Uint32Array(entries.length);
      for (let place = 0; place < selected.length; place += 1) {
        const index = selected[place]!;
        if (isHuman(kind[index]!)) ofEntries[column[index]!]! += 1;
      }
      this.#count(list, entries, ofEntries);
    }
  }

  /** How many people's clicks the entries of a list have; values are listed from them at the end. */
  #count(list: CountedList, entries: readonly string[], clicks: ArrayLike<number>): void {
    const counted = mapIn(this.#counted, list);
    for (let place = 0; place < clicks.length; place += 1)
      if (clicks[place]! > 0)
        counted.set(entries[place]!, (counted.get(entries[place]!) ?? 0) + clicks[place]!);
    if (counted.size > entriesMax) this.#listValues(list, counted);
  }

  finish(): void {
    for (const [list, counted] of this.#counted) this.#listValues(list, counted);
  }

  /** Adds what was counted by the entry to the lists of values. */
  #listValues(list: CountedList, counted: Map<string, number>): void {
    const names = listDimensions[list].map(({ name }) => name);
    for (const [entry, clicks] of counted) {
      const fields = fieldsOf(entry);
      for (const [index, name] of names.entries()) this.#tally.list(name, fields[index] ?? '', clicks);
    }
    counted.clear();
  }

  #listLinks({ kind }: Chunk, { codes, starts }: ScopeRows['links'], selected: Uint32Array): void {
    let link = 0;
    let people = 0;
    for (const index of selected) {
      if (index >= starts[link + 1]!) {
        if (people > 0) this.#tally.list('link', codes[link]!, people);
        people = 0;
        while (index >= starts[link + 1]!) link += 1;
      }
      if (isHuman(kind[index]!)) people += 1;
    }
    if (people > 0) this.#tally.list('link', codes[link]!, people);
  }

  #chunks(
    run: number,
    window: { readonly from: number; readonly to: number },
    read: ReadChunks,
  ): Iterable<Chunk> {
    const scope = this.scope;
    const hash = scope.kind === 'link' ? hashOf(scope.code) : -1;
    const end = scope.kind === 'link' ? hash : hashMax;
    return chunksBetween(
      this.#database,
      this.#columns,
      run,
      { owner: this.#owner, hash, end, ...window },
      read,
    );
  }
}

interface ChunkBounds {
  readonly owner: string;
  readonly hash: number;
  /** The last hash. */
  readonly end: number;
  /** Milliseconds of the day. */
  readonly from: number;
  readonly to: number;
}

/**
 * The chunks of a run in which links from one hash to another of an owner can be: the first may begin before them. Read
 * one by one, because several runs are gone over at the same time.
 */
export function* chunksBetween(
  database: Database,
  columns: readonly StoredColumn[],
  run: number,
  { owner, hash, end, from, to }: ChunkBounds,
  done: ReadChunks = [],
): Generator<Chunk> {
  const before = database
    .query<{ id: number; owner: string; hash: number }, [number, string, number]>(`
      SELECT id, owner, hash FROM chunks WHERE run = ? AND (owner, hash) < (?, ?)
      ORDER BY owner DESC, hash DESC, id DESC LIMIT 1`)
    .get(run, owner, hash);
  // Times are looked at only where the row is read: what the index has is enough to know which rows may be.
  const found = database
    .query<{ id: number }, [number, string, number, string, number, number]>(`
      SELECT id FROM chunks
      WHERE run = ? AND (owner, hash) >= (?, ?) AND (owner, hash) <= (?, ?) AND id >= ? ORDER BY id`)
    .all(run, before?.owner ?? owner, before?.hash ?? hash, owner, end, before?.id ?? 0)
    .filter(({ id }) => !done.some(({ chunk, last_chunk }) => id >= chunk && id <= last_chunk));
  const read = database.query<ChunkRow, [number, number, number]>(
    `SELECT ${columns.join(', ')} FROM chunks WHERE id = ? AND last_at >= ? AND first_at < ?`,
  );
  for (const { id } of found) {
    const chunk = recentChunks.get(database, `${id} ${columns.join()}`, () => {
      const row = read.get(id, from, to);
      return row === null ? undefined : new Chunk(row);
    });
    if (chunk !== undefined) yield chunk;
  }
}

/** Lists ask for the totals of many links, whose chunks are few. */
const recentChunks = new RecentlyRead<Chunk>(({ memoryBytes }) => memoryBytes, 24_000_000);

function countIn(pairs: readonly number[], wanted: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < pairs.length; index += 2) if (wanted[pairs[index]!]) count += pairs[index + 1]!;
  return count;
}

function mapIn<Key, Value>(maps: Map<Key, Map<string, Value>>, key: Key): Map<string, Value> {
  const known = maps.get(key);
  if (known !== undefined) return known;
  const fresh = new Map<string, Value>();
  maps.set(key, fresh);
  return fresh;
}
