/**
 * Clicks on their way into ClickHouse, as columns. What a batch holds as lists and positions stays lists and positions,
 * so the work per click is a handful of copies. All batches of a block become one set of columns: a stream may hold a few
 * clicks in each of thousands of messages, and whatever is sent per batch would be sent as often.
 */
import {
  longColumn,
  type NativeColumn,
  nativeBlock,
  numberColumn,
  wordColumn,
  wordsColumn,
} from '../../../engines/clickhouse/native-block.ts';
import { type LinkEntry, type ListColumn, listColumns } from '../../click.ts';
import { dimensions, valuesOf } from '../../dimensions.ts';
import { tokenOf } from '../../sketch/token.ts';
import { scopeName } from '../../warehouse.ts';
import type { CountedClicks } from './block.ts';
import { incomingTypes } from './columns.ts';

type ForgottenBefore = (code: string) => number;

/** Empty when there is no click to count. */
export function incomingBody(clicks: readonly CountedClicks[], forgottenBefore: ForgottenBefore): Uint8Array {
  const count = clicks.reduce((sum, { rows }) => sum + rows.length, 0);
  if (count === 0) return new Uint8Array();
  const columns = new IncomingColumns(count);
  for (const part of clicks) columns.add(part, forgottenBefore);
  return Buffer.concat(nativeBlock(count, columns.finished()));
}

class IncomingColumns {
  readonly #count: number;
  readonly #longs: Readonly<Record<'at' | 'sequence' | 'visitor', Halves>>;
  readonly #numbers: { readonly token: Uint32Array; readonly kind: Uint8Array; readonly signal: Uint8Array };
  readonly #lists: Readonly<Record<'scopes' | 'tags', WordLists>>;
  /** By column. */
  readonly #words = new Map<string, Words>();
  #filled = 0;

  constructor(count: number) {
    this.#count = count;
    this.#longs = { at: new Halves(count), sequence: new Halves(count), visitor: new Halves(count) };
    this.#numbers = {
      token: new Uint32Array(count),
      kind: new Uint8Array(count),
      signal: new Uint8Array(count),
    };
    this.#lists = { scopes: new WordLists(count), tags: new WordLists(count) };
  }

  add({ producer, batch, rows }: CountedClicks, forgottenBefore: ForgottenBefore): void {
    const { links, agents } = batch;
    const first = this.#filled;
    this.#filled += rows.length;
    this.#addNumbers(first, batch, rows);
    const positions = Object.fromEntries(
      listColumns.map(column => [column, picked(batch[column], rows)]),
    ) as Record<ListColumn, Uint32Array>;
    const { link } = positions;

    for (const dimension of dimensions)
      if (dimension.of !== 'kind')
        this.#word(dimension.column).add(first, valuesOf(batch, dimension), positions[dimension.of]);
    const texts = {
      owner: [links.map(({ ownerId }) => ownerId ?? ''), link],
      agent: [agents.map(({ userAgent }) => userAgent), positions.agent],
      producer: [[producer], new Uint32Array(rows.length)],
    } as const;
    for (const [column, [values, chosen]] of Object.entries(texts))
      this.#word(column).add(first, values, chosen);

    this.#lists.tags.add(
      first,
      links.map(({ tags }) => tags),
      link,
    );
    // Behind each link's scopes stand those without the link, for clicks that its owner had deleted.
    const scopes = links.map(scopesOf);
    const forgotten = links.map(({ code }) => forgottenBefore(code));
    const chosen = link.map((entry, index) =>
      batch.at[rows[index]!]! < forgotten[entry]! ? entry + links.length : entry,
    );
    this.#lists.scopes.add(first, [...scopes, ...scopes.map(([, ...others]) => others)], chosen);
  }

  #addNumbers(first: number, batch: CountedClicks['batch'], rows: Uint32Array): void {
    const { at, sequence, visitor } = this.#longs;
    const { token, kind, signal } = this.#numbers;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index]!;
      const [high, low] = [batch.visitorHigh[row]!, batch.visitorLow[row]!];
      visitor.low[first + index] = low;
      visitor.high[first + index] = high;
      token[first + index] = tokenOf(high, low);
      kind[first + index] = batch.kind[row]!;
      signal[first + index] = batch.signal[row]!;
      at.set(first + index, batch.at[row]!);
      sequence.set(first + index, batch.firstSequence + row);
    }
  }

  #word(column: string): Words {
    let words = this.#words.get(column);
    if (words === undefined) {
      words = new Words(this.#count);
      this.#words.set(column, words);
    }
    return words;
  }

  /** In the order of the table's own columns. */
  finished(): NativeColumn[] {
    const [longs, numbers, lists] = [this.#longs, this.#numbers, this.#lists].map(
      columns => new Map(Object.entries(columns)),
    ) as [Map<string, Halves>, Map<string, Uint8Array | Uint32Array>, Map<string, WordLists>];
    return Object.entries(incomingTypes).map(([name, type]) => {
      const long = longs.get(name);
      if (long !== undefined) return longColumn(name, type, long.low, long.high);
      const values = numbers.get(name);
      if (values !== undefined) return numberColumn(name, type, values);
      return (lists.get(name) ?? this.#word(name)).finished(name);
    });
  }
}

/** Numbers beyond 32 bits. */
class Halves {
  readonly low: Uint32Array;
  readonly high: Uint32Array;

  constructor(count: number) {
    this.low = new Uint32Array(count);
    this.high = new Uint32Array(count);
  }

  set(index: number, value: number): void {
    this.low[index] = value % 2 ** 32;
    this.high[index] = Math.floor(value / 2 ** 32);
  }
}

/** Distinct texts, numbered in the order of first sight. */
class Texts {
  readonly #numbers = new Map<string, number>();

  numberOf(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
    }
    return number;
  }

  get all(): string[] {
    return [...this.#numbers.keys()];
  }
}

/** A text for each click. */
class Words {
  readonly #texts = new Texts();
  readonly #positions: Uint32Array;

  constructor(count: number) {
    this.#positions = new Uint32Array(count);
  }

  /** `chosen` says for each click, from the `first` on, which of the values it has. */
  add(first: number, values: readonly string[], chosen: Uint32Array): void {
    const numbers = values.map(value => this.#texts.numberOf(value));
    for (let index = 0; index < chosen.length; index += 1) {
      this.#positions[first + index] = numbers[chosen[index]!]!;
    }
  }

  finished(name: string): NativeColumn {
    return wordColumn(name, this.#texts.all, this.#positions);
  }
}

/** A list of texts for each click. */
class WordLists {
  readonly #texts = new Texts();
  readonly #ends: Uint32Array;
  readonly #positions: number[] = [];

  constructor(count: number) {
    this.#ends = new Uint32Array(count);
  }

  add(first: number, lists: readonly (readonly string[])[], chosen: Uint32Array): void {
    const numbers = lists.map(list => list.map(text => this.#texts.numberOf(text)));
    for (let index = 0; index < chosen.length; index += 1) {
      const list = numbers[chosen[index]!]!;
      for (let place = 0; place < list.length; place += 1) this.#positions.push(list[place]!);
      this.#ends[first + index] = this.#positions.length;
    }
  }

  finished(name: string): NativeColumn {
    return wordsColumn(name, this.#texts.all, this.#ends, Uint32Array.from(this.#positions));
  }
}

/** The link first. */
function scopesOf({ code, ownerId, tags }: LinkEntry): string[] {
  const link = scopeName({ kind: 'link', code, ownerId });
  if (ownerId === null) return [link];
  const ofTags = tags.map(tag => scopeName({ kind: 'tag', ownerId, tag }));
  return [link, scopeName({ kind: 'owner', ownerId }), ...ofTags];
}

function picked(column: Uint32Array, rows: Uint32Array): Uint32Array {
  const values = new Uint32Array(rows.length);
  for (let index = 0; index < rows.length; index += 1) values[index] = column[rows[index]!]!;
  return values;
}
