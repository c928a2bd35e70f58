/**
 * Clicks in the order of their links, in columns: the unit that runs are made of and that questions read. Clicks of one
 * link lie together and in the order of time; links are in the order of `compareLinks`. What repeats (agents, referrers,
 * places, visits, tags) stands once in a list of the chunk, and a click has its place there.
 */
import type { ClickBatch } from '../../click.ts';
import { type Dimension, dimensions } from '../../dimensions.ts';
import { unpackBytes, unpackColumn, unpackText } from './columns.ts';

export const chunkRowsMax = 8_192;

/** The lists of a chunk. Entries are texts, whose fields are separated. */
export const listNames = ['agent', 'referrer', 'place', 'visit', 'tags'] as const;
export type ListName = (typeof listNames)[number];
const fieldSeparator = '\x1f';
export const entrySeparator = '\x1e';
export const listSeparator = '\x1d';

/** The dimensions that each list has, in the order of the fields of its entries. */
export const listDimensions: Readonly<Record<Exclude<ListName, 'tags'>, readonly Dimension[]>> = {
  agent: dimensions.filter(({ of }) => of === 'agent'),
  referrer: dimensions.filter(({ of }) => of === 'referrer'),
  place: dimensions.filter(({ of }) => of === 'place'),
  visit: dimensions.filter(({ of }) => of === 'visit'),
};

export const entryOf = (values: readonly string[]): string =>
  values.map(withoutSeparators).join(fieldSeparator);
export const fieldsOf = (entry: string): string[] => entry.split(fieldSeparator);
/** A link without tags has no field at all. */
export const tagsIn = (entry: string): string[] => (entry === '' ? [] : fieldsOf(entry));

function withoutSeparators(value: string): string {
  let text = value;
  for (const separator of [fieldSeparator, entrySeparator, listSeparator])
    if (text.includes(separator)) text = text.replaceAll(separator, ' ');
  return text;
}

/** The entries of a batch's lists. */
export function entriesIn(batch: ClickBatch): Record<Exclude<ListName, 'tags'>, string[]> {
  const of = <Entry>(list: readonly Entry[], name: Exclude<ListName, 'tags'>): string[] =>
    list.map(entry =>
      entryOf(listDimensions[name].map(({ value }) => (value as (entry: Entry) => string)(entry))),
    );
  return {
    agent: of(batch.agents, 'agent'),
    referrer: of(batch.referrers, 'referrer'),
    place: of(batch.places, 'place'),
    visit: of(batch.visits, 'visit'),
  };
}

/** Kind and signal of a click in one byte. */
export const kindByte = (kind: number, signal: number): number => kind | (signal << 4);
export const kindIn = (byte: number): number => byte & 0xf;
export const signalIn = (byte: number): number => byte >> 4;
/** The byte of a person's click that is not suspicious is zero, and a suspicious one has the kind zero. */
export const isHuman = (byte: number): boolean => (byte & 0xf) === 0;

/** Links of one owner are in the order of a hash, which is quicker to sort and to compare than texts are. */
export function hashOf(code: string): number {
  let hash = 0x811c_9dc5;
  for (let index = 0; index < code.length; index += 1)
    hash = Math.imul(hash ^ code.charCodeAt(index), 0x0100_0193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b_3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

export interface LinkKey {
  /** Empty for none. */
  readonly owner: string;
  readonly hash: number;
  readonly code: string;
}

export function compareLinks(a: LinkKey, b: LinkKey): number {
  if (a.owner !== b.owner) return a.owner < b.owner ? -1 : 1;
  if (a.hash !== b.hash) return a.hash - b.hash;
  return a.code === b.code ? 0 : a.code < b.code ? -1 : 1;
}

/** Some clicks in columns, in any order, with the lists that they point into. */
export interface Rows {
  /** Milliseconds after the start of the day. */
  readonly at: Uint32Array;
  readonly kind: Uint8Array;
  readonly token: Uint32Array;
  readonly codes: Readonly<Record<ListName, Uint32Array>>;
  readonly lists: Readonly<Record<ListName, readonly string[]>>;
}

export interface ChunkRow {
  readonly links: Uint8Array;
  readonly counts: Uint8Array;
  readonly lists: Uint8Array;
  readonly at: Uint8Array;
  readonly kind: Uint8Array;
  readonly token: Uint8Array;
  readonly agent: Uint8Array;
  readonly referrer: Uint8Array;
  readonly place: Uint8Array;
  readonly visit: Uint8Array;
  readonly tags: Uint8Array;
}

export const chunkColumns = [
  'links',
  'counts',
  'lists',
  'at',
  'kind',
  'token',
  ...listNames,
] as const satisfies readonly (keyof ChunkRow)[];

export interface OwnerLinks {
  readonly owner: string;
  readonly codes: readonly string[];
  /** The place of the first one among all links of the chunk. */
  readonly first: number;
}

/** A chunk as it is stored. Columns are unpacked when they are first asked for. */
export class Chunk implements Rows {
  readonly #row: Partial<ChunkRow>;
  readonly #columns = new Map<string, Uint32Array>();
  #kind: Uint8Array | undefined;
  #lists: Record<ListName, readonly string[]> | undefined;
  #owners: readonly OwnerLinks[] | undefined;
  #starts: Uint32Array | undefined;
  readonly codes: Readonly<Record<ListName, Uint32Array>>;

  constructor(row: Partial<ChunkRow>) {
    this.#row = row;
    const column = (name: ListName): Uint32Array => this.#column(name);
    this.codes = {
      get agent() {
        return column('agent');
      },
      get referrer() {
        return column('referrer');
      },
      get place() {
        return column('place');
      },
      get visit() {
        return column('visit');
      },
      get tags() {
        return column('tags');
      },
    };
  }

  /** About how many bytes of memory it takes with everything unpacked; as measured, 420 KB with usual lists. */
  get memoryBytes(): number {
    return 250_000 + Object.values(this.#row).reduce((sum, { length }) => sum + 2 * length, 0);
  }

  get at(): Uint32Array {
    return this.#column('at');
  }

  get kind(): Uint8Array {
    this.#kind ??= unpackBytes(this.#row.kind!);
    return this.#kind;
  }

  get token(): Uint32Array {
    return this.#column('token');
  }

  /** How many clicks each link has. */
  get counts(): Uint32Array {
    return this.#column('counts');
  }

  get lists(): Record<ListName, readonly string[]> {
    if (this.#lists === undefined) {
      const texts = unpackText(this.#row.lists!).split(listSeparator);
      this.#lists = byList(name => texts[listNames.indexOf(name)]!.split(entrySeparator));
    }
    return this.#lists;
  }

  /** All columns at once, for code that goes over all clicks. */
  rows(): Rows {
    const codes = byList(name => this.#column(name));
    return { at: this.at, kind: this.kind, token: this.token, codes, lists: this.lists };
  }

  /** Owners in their order, each with the codes of its links and the place of the first. */
  get owners(): readonly OwnerLinks[] {
    if (this.#owners === undefined) {
      let first = 0;
      this.#owners = unpackText(this.#row.links!)
        .split('\n')
        .map(line => {
          const codes = line.split('\t');
          const owner = codes.shift()!;
          first += codes.length;
          return { owner, codes, first: first - codes.length };
        });
    }
    return this.#owners;
  }

  /** Where the clicks of each link begin, and where those of the last one end. */
  get starts(): Uint32Array {
    if (this.#starts === undefined) {
      const { counts } = this;
      this.#starts = new Uint32Array(counts.length + 1);
      for (let link = 0; link < counts.length; link += 1)
        this.#starts[link + 1] = this.#starts[link]! + counts[link]!;
    }
    return this.#starts;
  }

  linksOf(owner: string): OwnerLinks | undefined {
    return this.owners.find(each => each.owner === owner);
  }

  /** Where the clicks of a link lie; undefined when there are none. */
  rowsOf(key: LinkKey): { readonly from: number; readonly to: number } | undefined {
    const links = this.linksOf(key.owner);
    if (links === undefined) return undefined;
    const { codes, first } = links;
    let [low, high] = [0, codes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const code = codes[middle]!;
      if (compareLinks({ owner: key.owner, hash: hashOf(code), code }, key) < 0) low = middle + 1;
      else high = middle;
    }
    if (codes[low] !== key.code) return undefined;
    return { from: this.starts[first + low]!, to: this.starts[first + low + 1]! };
  }

  #column(name: Exclude<keyof ChunkRow, 'links' | 'lists' | 'kind'>): Uint32Array {
    const known = this.#columns.get(name);
    if (known !== undefined) return known;
    const column = unpackColumn(this.#row[name]!);
    this.#columns.set(name, column);
    return column;
  }
}

/** A piece of clicks of a link. */
export interface LinkRows {
  readonly key: LinkKey;
  readonly from: number;
  readonly to: number;
}

export const byList = <Value>(of: (name: ListName) => Value): Record<ListName, Value> => ({
  agent: of('agent'),
  referrer: of('referrer'),
  place: of('place'),
  visit: of('visit'),
  tags: of('tags'),
});
