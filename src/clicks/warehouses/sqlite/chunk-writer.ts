/** Sorted clicks into chunks. */
import type { Database } from 'bun:sqlite';
import {
  byList,
  chunkColumns,
  chunkRowsMax,
  entrySeparator,
  type LinkKey,
  type LinkRows,
  type ListName,
  listNames,
  listSeparator,
  type Rows,
} from './chunk.ts';
import { type Column, packColumn, packText } from './columns.ts';

/** Stores clicks that are sorted: those of `links`, which lie in `rows` one after the other. */
export function storeChunk(database: Database, run: number, rows: Rows, links: readonly LinkRows[]): void {
  const [from, to] = [links[0]!.from, links.at(-1)!.to];
  const count = to - from;
  const part = <Any extends Column>(column: Any): Any => column.subarray(from, to) as Any;
  const at = part(rows.at);
  let [least, most] = [at[0]!, 0];
  for (let index = 0; index < count; index += 1) {
    const time = at[index]!;
    if (time < least) least = time;
    if (time > most) most = time;
  }
  const { owner, hash } = links[0]!.key;
  const pack = (name: ListName): Uint8Array => packColumn(part(rows.codes[name]), count);
  prepareInsert(database).run({
    run,
    owner,
    hash,
    rows: count,
    firstAt: least,
    lastAt: most,
    links: packText(linkText(links)),
    counts: packColumn(countsOf(links), links.length),
    lists: packText(listNames.map(name => rows.lists[name].join(entrySeparator)).join(listSeparator)),
    at: packColumn(at, count, true),
    kind: packColumn(part(rows.kind), count),
    token: packColumn(part(rows.token), count, true),
    agent: pack('agent'),
    referrer: pack('referrer'),
    place: pack('place'),
    visit: pack('visit'),
    tags: pack('tags'),
  });
}

function countsOf(links: readonly LinkRows[]): Uint32Array {
  const counts = new Uint32Array(links.length);
  for (let index = 0; index < links.length; index += 1) counts[index] = links[index]!.to - links[index]!.from;
  return counts;
}

function linkText(links: readonly LinkRows[]): string {
  const codes: string[] = new Array(links.length);
  let owner: string | undefined;
  for (let index = 0; index < links.length; index += 1) {
    const { key } = links[index]!;
    codes[index] =
      key.owner === owner ? key.code : `${owner === undefined ? '' : '\n'}${key.owner}\t${key.code}`;
    owner = key.owner;
  }
  // What follows a separator that is too many is an owner.
  return codes.join('\t').replaceAll('\t\n', '\n');
}

/** A chunk ends sooner when its lists have become this long, which they do when visitors send invented values. */
const textLengthMax = 1_000_000;
/** Clicks that are added before their texts are looked at. */
const rowsAtOnce = 256;

/** Makes chunks of clicks that come in order from several places, and stores them. */
export class ChunkWriter {
  readonly #database: Database;
  readonly #run: number;
  readonly #onChunk: ((rows: Rows, links: readonly LinkRows[]) => void) | undefined;
  #rows = 0;
  #textLength = 0;
  #at!: Uint32Array;
  #kind!: Uint8Array;
  #token!: Uint32Array;
  #codes!: Record<ListName, Uint32Array>;
  #links!: { key: LinkKey; from: number; to: number }[];
  #lists!: Record<ListName, EntryList>;
  /** Of lists that clicks came with, where each entry is in ours. */
  #places!: Map<Rows, Record<ListName, Int32Array>>;
  #recent: { readonly rows: Rows; readonly places: Record<ListName, Int32Array> } | undefined;

  /** `onChunk` is called with each chunk that was stored. */
  constructor(database: Database, run: number, onChunk?: (rows: Rows, links: readonly LinkRows[]) => void) {
    this.#database = database;
    this.#run = run;
    this.#onChunk = onChunk;
    this.#begin();
  }

  /** Clicks of a link, in the order of time; a link may come in several pieces. */
  append(key: LinkKey, rows: Rows, from: number, to: number): void {
    for (let start = from; start < to; ) {
      if (this.#rows === chunkRowsMax || this.#textLength > textLengthMax) this.flush();
      const end = Math.min(to, start + chunkRowsMax - this.#rows, start + rowsAtOnce);
      this.#add(key, rows, start, end);
      start = end;
    }
  }

  flush(): void {
    const count = this.#rows;
    if (count === 0) return;
    const links = this.#links;
    const rows: Rows = {
      at: this.#at.subarray(0, count),
      kind: this.#kind.subarray(0, count),
      token: this.#token.subarray(0, count),
      codes: byList(name => this.#codes[name].subarray(0, count)),
      lists: byList(name => this.#lists[name].entries),
    };
    storeChunk(this.#database, this.#run, rows, links);
    this.#begin();
    this.#onChunk?.(rows, links);
  }

  /** With new arrays: the old ones belong to the caller who was given the chunk. */
  #begin(): void {
    this.#rows = 0;
    this.#textLength = 0;
    this.#at = new Uint32Array(chunkRowsMax);
    this.#kind = new Uint8Array(chunkRowsMax);
    this.#token = new Uint32Array(chunkRowsMax);
    this.#codes = byList(() => new Uint32Array(chunkRowsMax));
    this.#links = [];
    this.#lists = byList(() => new EntryList());
    this.#places = new Map();
    this.#recent = undefined;
  }

  #add(key: LinkKey, rows: Rows, from: number, to: number): void {
    const start = this.#rows;
    this.#rows += to - from;
    const last = this.#links[this.#links.length - 1];
    if (last !== undefined && last.key.code === key.code && last.key.owner === key.owner)
      last.to = this.#rows;
    else this.#links.push({ key, from: start, to: this.#rows });
    const { at, kind, token, codes, lists } = rows;
    const offset = start - from;
    for (let index = from; index < to; index += 1) {
      this.#at[offset + index] = at[index]!;
      this.#kind[offset + index] = kind[index]!;
      this.#token[offset + index] = token[index]!;
    }
    const places = this.#placesOf(rows);
    for (const name of listNames) {
      const [source, target, known] = [codes[name], this.#codes[name], places[name]];
      for (let index = from; index < to; index += 1) {
        const entry = source[index]!;
        let place = known[entry]!;
        if (place < 0) {
          const list = this.#lists[name];
          const before = list.entries.length;
          place = list.placeOf(lists[name][entry]!);
          if (place === before) this.#textLength += lists[name][entry]!.length;
          known[entry] = place;
        }
        target[offset + index] = place;
      }
    }
  }

  #placesOf(rows: Rows): Record<ListName, Int32Array> {
    if (this.#recent?.rows === rows) return this.#recent.places;
    let places = this.#places.get(rows);
    if (places === undefined) {
      places = byList(name => new Int32Array(rows.lists[name].length).fill(-1));
      this.#places.set(rows, places);
    }
    this.#recent = { rows, places };
    return places;
  }
}

/** Texts, each once, in the order in which they first came. */
export class EntryList {
  readonly entries: string[] = [];
  readonly #places = new Map<string, number>();

  placeOf(entry: string): number {
    const known = this.#places.get(entry);
    if (known !== undefined) return known;
    const place = this.entries.length;
    this.entries.push(entry);
    this.#places.set(entry, place);
    return place;
  }
}

const prepareInsert = (database: Database) =>
  database.query(`
    INSERT INTO chunks (run, owner, hash, rows, first_at, last_at, ${chunkColumns.join(', ')})
    VALUES ($run, $owner, $hash, $rows, $firstAt, $lastAt, ${chunkColumns.map(name => `$${name}`).join(', ')})`);
