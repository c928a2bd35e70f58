/** Random questions about clicks, from a seed: any range, zone, filter, list and scope. */
import type { Random } from '../../src/base/random.ts';
import { bucketStarts, type Interval } from '../../src/base/zone.ts';
import { type DimensionName, dimensionNames } from '../../src/clicks/dimensions.ts';
import {
  type Breakdown,
  type Filter,
  grainMs,
  type Question,
  type Scope,
} from '../../src/clicks/warehouse.ts';

/** The scopes, times and values to ask about. */
export interface AskedWorld {
  readonly from: number;
  readonly to: number;
  readonly links: readonly Scope[];
  readonly owners: readonly Scope[];
  readonly tags: readonly Scope[];
  /** Values that clicks have, of each dimension that has any. */
  readonly values: Readonly<Partial<Record<DimensionName, readonly string[]>>>;
}

export type ScopeKind = 'link' | 'links' | 'owner' | 'tag' | 'tags' | 'mixed';

export interface QuestionBounds {
  /** The unit of all times. */
  readonly grain?: 'minute' | 'quarter' | 'any';
  readonly isFiltered?: boolean;
  /** No range begins before it. */
  readonly from?: number;
  readonly filtersMax?: number;
}

/** Including offsets of half and quarter hours, and clock changes of half an hour. */
const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Adelaide',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Pacific/Marquesas',
];
/** As many as an answer of the API has at most. */
const startsMax = 2_232;

export class RandomQuestions {
  readonly #random: Random;
  readonly #world: AskedWorld;

  constructor(random: Random, world: AskedWorld) {
    this.#random = random;
    this.#world = world;
  }

  *take(count: number, bounds?: QuestionBounds): Generator<Question> {
    for (let taken = 0; taken < count; taken += 1) yield this.next(bounds);
  }

  next(bounds: QuestionBounds = {}): Question {
    const { grain = 'any', isFiltered, filtersMax = 4 } = bounds;
    const isByMinute = grain === 'any' ? this.#chance(0.5) : grain === 'minute';
    const { from, to } = this.#range(isByMinute ? grainMs.minute : grainMs.quarter, bounds.from);
    const filterCount =
      isFiltered === false ? 0 : isFiltered ? this.#int(1, filtersMax) : this.#int(0, filtersMax);
    return {
      scopes: this.#scopes(),
      from,
      to,
      starts: this.#chance(0.2) ? [] : this.#starts(from, to, isByMinute),
      filters: Array.from({ length: this.#chance(0.4) && isFiltered !== true ? 0 : filterCount }, () =>
        this.#filter(),
      ),
      breakdowns: Array.from({ length: this.#int(0, 5) }, () => this.#breakdown()),
    };
  }

  #range(stepMs: number, earliest = Number.NEGATIVE_INFINITY): { from: number; to: number } {
    const world = { from: Math.max(this.#world.from, earliest), to: this.#world.to };
    // From minutes to weeks, some of them without any clicks.
    const steps = (world.to - world.from) / stepMs;
    const length = Math.max(1, Math.floor(steps ** Math.sqrt(this.#random.float()))) * stepMs;
    const slack = this.#chance(0.1) ? grainMs.day : 0;
    const first = Math.max(world.from - slack, earliest);
    const last = Math.max(first, world.to + slack - length);
    const from = Math.ceil((first + this.#random.float() * (last - first)) / stepMs) * stepMs;
    return { from, to: from + length };
  }

  #starts(from: number, to: number, isByMinute: boolean): number[] {
    const lengthMs = to - from;
    const intervals: Interval[] = ['day'];
    if (lengthMs <= (startsMax - 2) * 60 * 60_000) intervals.push('hour');
    if (isByMinute && lengthMs <= (startsMax - 2) * grainMs.minute) intervals.push('minute');
    const starts = bucketStarts(from, to, this.#pick(intervals), this.#pick(zones), startsMax);
    return [from, ...starts.filter(start => start > from)];
  }

  #scopes(): Scope[] {
    const { links, owners, tags } = this.#world;
    // The busy ones stand first.
    const anyOf = (scopes: readonly Scope[]): Scope =>
      scopes[Math.floor(this.#random.float() ** 2 * scopes.length)]!;
    const anyLink = (): Scope => anyOf(links);
    const kinds: Record<ScopeKind, () => Scope[]> = {
      link: () => [anyLink()],
      links: () => distinct(Array.from({ length: this.#int(2, 8) }, anyLink)),
      owner: () => [anyOf(owners)],
      tag: () => [anyOf(tags)],
      tags: () => distinct(Array.from({ length: this.#int(2, 3) }, () => anyOf(tags))),
      mixed: () => [anyOf(owners), anyLink(), anyOf(tags)],
    };
    const common: ScopeKind[] = ['link', 'link', 'links', 'owner', 'tag'];
    return kinds[this.#pick(this.#chance(0.9) ? common : (['tags', 'mixed'] as const))]();
  }

  #filter(): Filter {
    const dimension = this.#pick(dimensionNames);
    const known = this.#world.values[dimension] ?? [];
    const value = (): string =>
      known.length === 0 || this.#chance(0.1)
        ? this.#pick(['', 'unknown', "o'neil \\ ", '(other)'])
        : this.#pick(known);
    // Most values are rare: without excluding filters, hardly any click would match.
    const isExcluded = this.#chance(0.4);
    return {
      dimension,
      values: [...new Set(Array.from({ length: this.#int(1, 3) }, value))],
      isExcluded,
    };
  }

  #breakdown(): Breakdown {
    const dimension = this.#pick(dimensionNames);
    const known = this.#world.values[dimension] ?? [];
    const isSearch = this.#chance(0.2);
    return {
      dimension,
      offset: this.#chance(0.3) ? this.#int(0, 5) : 0,
      limit: this.#pick([1, 3, 10, 20, 100, 1_000]),
      search: isSearch && known.length > 0 ? this.#part(this.#pick(known)) : isSearch ? 'E' : '',
    };
  }

  /** Some letters of a value, in either case. */
  #part(value: string): string {
    const from = this.#int(0, Math.max(0, value.length - 1));
    const part = value.slice(from, from + this.#int(1, 3));
    return this.#chance(0.5) ? part.toUpperCase() : part;
  }

  #chance(probability: number): boolean {
    return this.#random.float() < probability;
  }

  #int(min: number, max: number): number {
    return min + Math.floor(this.#random.float() * (max - min + 1));
  }

  #pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random.float() * values.length)]!;
  }
}

const distinct = (scopes: readonly Scope[]): Scope[] => [
  ...new Map(scopes.map(scope => [JSON.stringify(scope), scope])).values(),
];

/** For a table of how many questions of which kind were asked. */
export function kindOf({ scopes, filters, from, to }: Question): string {
  const kinds = new Set(scopes.map(({ kind }) => kind));
  const what = kinds.size > 1 ? 'mixed' : scopes.length > 1 ? `${scopes[0]!.kind}s` : scopes[0]!.kind;
  const isByQuarter = [from, to].every(at => at % grainMs.quarter === 0);
  return `${what}, ${filters.length === 0 ? 'all clicks' : 'filtered'}, by ${isByQuarter ? 'quarter hours' : 'minutes'}`;
}
