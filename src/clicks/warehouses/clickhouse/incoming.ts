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
import { scopesOf } from '../../aggregate.ts';
import { tokenOf } from '../../sketch-token.ts';
import type { CountedClicks } from './block.ts';
import { incomingTypes } from './schema.ts';

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
  readonly #at: Halves;
  readonly #sequence: Halves;
  readonly #visitor: Halves;
  readonly #token: Uint32Array;
  readonly #kind: Uint8Array;
  readonly #signal: Uint8Array;
  readonly #code: Words;
  readonly #owner: Words;
  readonly #country: Words;
  readonly #city: Words;
  readonly #device: Words;
  readonly #browser: Words;
  readonly #os: Words;
  readonly #domain: Words;
  readonly #referrer: Words;
  readonly #agent: Words;
  readonly #producer: Words;
  readonly #scopes: WordLists;
  readonly #tags: WordLists;
  #filled = 0;

  constructor(count: number) {
    [this.#at, this.#sequence, this.#visitor] = [new Halves(count), new Halves(count), new Halves(count)];
    [this.#token, this.#kind] = [new Uint32Array(count), new Uint8Array(count)];
    this.#signal = new Uint8Array(count);
    [this.#scopes, this.#tags] = [new WordLists(count), new WordLists(count)];
    const words = (): Words => new Words(count);
    [this.#code, this.#owner, this.#producer] = [words(), words(), words()];
    [this.#country, this.#city, this.#domain, this.#referrer] = [words(), words(), words(), words()];
    [this.#device, this.#browser, this.#os, this.#agent] = [words(), words(), words(), words()];
  }

  add({ producer, batch, rows }: CountedClicks, forgottenBefore: ForgottenBefore): void {
    const { links, agents, referrers, places } = batch;
    const first = this.#filled;
    this.#filled += rows.length;
    this.#addNumbers(first, batch, rows);

    const link = picked(batch.link, rows);
    this.#code.add(first, links, ({ code }) => code, link);
    this.#owner.add(first, links, ({ ownerId }) => ownerId ?? '', link);
    this.#tags.add(
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
    this.#scopes.add(first, [...scopes, ...scopes.map(([, ...others]) => others)], chosen);

    const agent = picked(batch.agent, rows);
    this.#device.add(first, agents, ({ device }) => device, agent);
    this.#browser.add(first, agents, ({ browser }) => browser, agent);
    this.#os.add(first, agents, ({ os }) => os, agent);
    this.#agent.add(first, agents, ({ userAgent }) => userAgent, agent);

    const referrer = picked(batch.referrer, rows);
    this.#domain.add(first, referrers, ({ domain }) => domain, referrer);
    this.#referrer.add(first, referrers, entry => entry.referrer, referrer);

    const place = picked(batch.place, rows);
    this.#country.add(first, places, ({ country }) => country, place);
    this.#city.add(first, places, ({ city }) => city, place);
    this.#producer.add(first, [producer], name => name, new Uint32Array(rows.length));
  }

  #addNumbers(first: number, batch: CountedClicks['batch'], rows: Uint32Array): void {
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index]!;
      const [high, low] = [batch.visitorHigh[row]!, batch.visitorLow[row]!];
      this.#visitor.low[first + index] = low;
      this.#visitor.high[first + index] = high;
      this.#token[first + index] = tokenOf(high, low);
      this.#kind[first + index] = batch.kind[row]!;
      this.#signal[first + index] = batch.signal[row]!;
      this.#at.set(first + index, batch.at[row]!);
      this.#sequence.set(first + index, batch.firstSequence + row);
    }
  }

  /** In the order of the table's own columns. */
  finished(): NativeColumn[] {
    const types = incomingTypes;
    return [
      longColumn('at', types.at, this.#at.low, this.#at.high),
      this.#code.finished('code'),
      this.#scopes.finished('scopes'),
      this.#owner.finished('owner'),
      this.#tags.finished('tags'),
      numberColumn('kind', types.kind, this.#kind),
      numberColumn('signal', types.signal, this.#signal),
      longColumn('visitor', types.visitor, this.#visitor.low, this.#visitor.high),
      numberColumn('token', types.token, this.#token),
      this.#country.finished('country'),
      this.#city.finished('city'),
      this.#device.finished('device'),
      this.#browser.finished('browser'),
      this.#os.finished('os'),
      this.#domain.finished('domain'),
      this.#referrer.finished('referrer'),
      this.#agent.finished('agent'),
      this.#producer.finished('producer'),
      longColumn('sequence', types.sequence, this.#sequence.low, this.#sequence.high),
    ];
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

  /** `chosen` tells for each click, from the `first` on, which of the entries it has. */
  add<Entry>(
    first: number,
    entries: readonly Entry[],
    textOf: (entry: Entry) => string,
    chosen: Uint32Array,
  ): void {
    const numbers = entries.map(entry => this.#texts.numberOf(textOf(entry)));
    for (let index = 0; index < chosen.length; index += 1) {
      this.#positions[first + index] = numbers[chosen[index]!]!;
    }
  }

  finished(name: keyof typeof incomingTypes): NativeColumn {
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

  finished(name: keyof typeof incomingTypes): NativeColumn {
    return wordsColumn(name, this.#texts.all, this.#ends, Uint32Array.from(this.#positions));
  }
}

function picked(column: Uint32Array, rows: Uint32Array): Uint32Array {
  const values = new Uint32Array(rows.length);
  for (let index = 0; index < rows.length; index += 1) values[index] = column[rows[index]!]!;
  return values;
}
