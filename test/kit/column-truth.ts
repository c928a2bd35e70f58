/**
 * The right answers about millions of clicks, computed click by click from columns sorted by link and time. Slower than
 * a warehouse, but simple; compare-answers.ts first compares it with the simplest oracle (fake-warehouse-truth.ts).
 */
import {
  type ClickBatch,
  clickSignals,
  humanKind,
  type LinkEntry,
  visitKinds,
} from '../../src/clicks/click.ts';
import { type DimensionName, dimensions } from '../../src/clicks/dimensions.ts';
import type { TrueAnswer } from '../../src/clicks/fake-warehouse-truth.ts';
import { Sketch } from '../../src/clicks/sketch/sketch.ts';
import { tokenOf } from '../../src/clicks/sketch/token.ts';
import type {
  Breakdown,
  BreakdownPage,
  Counts,
  Filter,
  Question,
  Scope,
} from '../../src/clicks/warehouse.ts';

/** The lists are the same for all batches, except for links. */
type Lists = Pick<ClickBatch, 'agents' | 'referrers' | 'places' | 'visits'>;

interface LinkClicks {
  readonly number: number;
  readonly code: string;
  readonly from: number;
  readonly to: number;
}

const notSuspicious = clickSignals.indexOf('none');

export class ColumnTruth {
  readonly #lists: Lists;
  readonly #at: Float64Array;
  readonly #kind: Uint8Array;
  readonly #signal: Uint8Array;
  readonly #token: Uint32Array;
  /** A link with the tags that it had at the time. */
  readonly #entry: Uint32Array;
  readonly #agent: Uint16Array;
  readonly #referrer: Uint16Array;
  readonly #place: Uint16Array;
  readonly #visit: Uint16Array;
  #count = 0;
  /** Places of clicks in the columns, by link and time. */
  #order = new Uint32Array(0);
  readonly #entries: LinkEntry[] = [];
  readonly #entryNumbers = new Map<string, number>();
  readonly #links = new Map<string, LinkClicks>();
  readonly #linksOfOwners = new Map<string, LinkClicks[]>();

  constructor(clicksMax: number, lists: Lists) {
    this.#lists = lists;
    this.#at = new Float64Array(clicksMax);
    this.#kind = new Uint8Array(clicksMax);
    this.#signal = new Uint8Array(clicksMax);
    this.#token = new Uint32Array(clicksMax);
    this.#entry = new Uint32Array(clicksMax);
    this.#agent = new Uint16Array(clicksMax);
    this.#referrer = new Uint16Array(clicksMax);
    this.#place = new Uint16Array(clicksMax);
    this.#visit = new Uint16Array(clicksMax);
  }

  add(batch: ClickBatch): void {
    const entries = batch.links.map(entry => this.#entryNumber(entry));
    const start = this.#count;
    this.#at.set(batch.at, start);
    this.#kind.set(batch.kind, start);
    this.#signal.set(batch.signal, start);
    this.#agent.set(batch.agent, start);
    this.#referrer.set(batch.referrer, start);
    this.#place.set(batch.place, start);
    this.#visit.set(batch.visit, start);
    for (let index = 0; index < batch.at.length; index += 1) {
      this.#token[start + index] = tokenOf(batch.visitorHigh[index]!, batch.visitorLow[index]!);
      this.#entry[start + index] = entries[batch.link[index]!]!;
    }
    this.#count += batch.at.length;
  }

  #entryNumber(entry: LinkEntry): number {
    const key = JSON.stringify([entry.code, entry.ownerId, entry.tags]);
    const known = this.#entryNumbers.get(key);
    if (known !== undefined) return known;
    this.#entryNumbers.set(key, this.#entries.length);
    return this.#entries.push(entry) - 1;
  }

  /** Call it once, after the last batch. */
  sort(): void {
    const numbers = new Map<string, number>();
    const ofEntry = this.#entries.map(({ code, ownerId }) => {
      const name = linkName(code, ownerId);
      const number = numbers.get(name) ?? numbers.size;
      numbers.set(name, number);
      return number;
    });
    const ends = new Uint32Array(numbers.size + 1);
    for (let click = 0; click < this.#count; click += 1) ends[ofEntry[this.#entry[click]!]! + 1]! += 1;
    for (let number = 1; number < ends.length; number += 1) ends[number]! += ends[number - 1]!;
    const next = ends.slice();
    this.#order = new Uint32Array(this.#count);
    for (let click = 0; click < this.#count; click += 1)
      this.#order[next[ofEntry[this.#entry[click]!]!]!++] = click;
    const at = this.#at;
    for (let number = 0; number < numbers.size; number += 1)
      this.#order.subarray(ends[number]!, ends[number + 1]!).sort((a, b) => at[a]! - at[b]!);
    for (const { code, ownerId } of this.#entries) {
      const name = linkName(code, ownerId);
      if (this.#links.has(name)) continue;
      const number = numbers.get(name)!;
      const link = { number, code, from: ends[number]!, to: ends[number + 1]! };
      this.#links.set(name, link);
      if (ownerId !== null) this.#linksOfOwners.getOrInsertComputed(ownerId, () => []).push(link);
    }
  }

  answer(question: Question): TrueAnswer {
    const { scopes, from, to, starts, filters, breakdowns } = question;
    const counts: Counts = { clicks: 0, bots: 0, suspicious: 0 };
    const series = starts.map(() => ({ clicks: 0, bots: 0, suspicious: 0 }));
    const visitors = new Sketch();
    const lists = breakdowns.map(({ dimension }) => new ListCounter(this.#columnOf(dimension), dimension));
    const tests = filters.map(filter => this.#testOf(filter));
    const [kind, signal, at] = [this.#kind, this.#signal, this.#at];
    for (const scope of scopes) {
      const isInScope = this.#tagTest(scope);
      for (const link of this.#linksIn(scope)) {
        const last = this.#firstSince(link, to);
        let bucket = 0;
        for (let place = this.#firstSince(link, from); place < last; place += 1) {
          const click = this.#order[place]!;
          if (isInScope[this.#entry[click]!] === 0) continue;
          if (!tests.every(({ column, isWanted }) => isWanted[column[click]!] === 1)) continue;
          while (bucket + 1 < starts.length && starts[bucket + 1]! <= at[click]!) bucket += 1;
          const isHuman = kind[click] === humanKind;
          const name = isHuman ? 'clicks' : 'bots';
          counts[name] += 1;
          if (starts.length > 0) series[bucket]![name] += 1;
          if (isHuman) {
            visitors.addToken(this.#token[click]!);
            if (signal[click] !== notSuspicious) {
              counts.suspicious += 1;
              if (starts.length > 0) series[bucket]!.suspicious += 1;
            }
          }
          for (const list of lists) list.add(click, isHuman, scope.kind);
        }
      }
    }
    return {
      counts,
      series,
      visitors: Math.min(counts.clicks, visitors.estimate()),
      breakdowns: breakdowns.map((breakdown, index) => lists[index]!.page(breakdown)),
    };
  }

  #linksIn(scope: Scope): readonly LinkClicks[] {
    if (scope.kind !== 'link') return this.#linksOfOwners.get(scope.ownerId) ?? [];
    const link = this.#links.get(linkName(scope.code, scope.ownerId));
    return link === undefined ? [] : [link];
  }

  /** For each entry, whether its clicks are in the scope; for links and owners all are. */
  #tagTest(scope: Scope): Uint8Array {
    return Uint8Array.from(this.#entries, ({ tags }) =>
      scope.kind !== 'tag' || tags.includes(scope.tag) ? 1 : 0,
    );
  }

  #firstSince({ from, to }: LinkClicks, time: number): number {
    let [low, high] = [from, to];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at[this.#order[middle]!]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #testOf({ dimension, values, isExcluded }: Filter): { column: ArrayLike<number>; isWanted: Uint8Array } {
    const { column, values: known } = this.#columnOf(dimension);
    return {
      column,
      isWanted: Uint8Array.from(known, value => (values.includes(value) !== isExcluded ? 1 : 0)),
    };
  }

  #columnOf(name: DimensionName): DimensionColumn {
    const { agents, referrers, places, visits } = this.#lists;
    const dimension = dimensions.find(each => each.name === name)!;
    const of = <Entry>(list: readonly Entry[], column: ArrayLike<number>): DimensionColumn => ({
      column,
      values: list.map(dimension.value as unknown as (entry: Entry) => string),
    });
    return {
      link: () => of(this.#entries, this.#entry),
      agent: () => of(agents, this.#agent),
      referrer: () => of(referrers, this.#referrer),
      place: () => of(places, this.#place),
      visit: () => of(visits, this.#visit),
      kind: () => of(visitKinds, this.#kind),
    }[dimension.of]();
  }
}

const linkName = (code: string, ownerId: string | null): string => `${ownerId ?? ''}/${code}`;

interface DimensionColumn {
  readonly column: ArrayLike<number>;
  /** For each number in the column. */
  readonly values: readonly string[];
}

class ListCounter {
  readonly #of: DimensionColumn;
  readonly #dimension: DimensionName;
  readonly #counts: Float64Array;

  constructor(of: DimensionColumn, dimension: DimensionName) {
    this.#of = of;
    this.#dimension = dimension;
    this.#counts = new Float64Array(of.values.length);
  }

  add(click: number, isHuman: boolean, scope: Scope['kind']): void {
    if (isHuman === (this.#dimension === 'bot') || (this.#dimension === 'link' && scope === 'link')) return;
    this.#counts[this.#of.column[click]!]! += 1;
  }

  page({ offset, limit, search }: Breakdown): BreakdownPage {
    const sums = new Map<string, number>();
    for (const [index, value] of this.#of.values.entries())
      if (this.#counts[index]! > 0) sums.set(value, (sums.get(value) ?? 0) + this.#counts[index]!);
    const wanted = search.toLowerCase();
    const values = [...sums]
      .filter(([value]) => value.toLowerCase().includes(wanted))
      .sort(([a, many], [b, others]) => others - many || (a < b ? -1 : 1))
      .map(([value, clicks]) => ({ value, clicks }));
    return { values: values.slice(offset, offset + limit), total: values.length };
  }
}
