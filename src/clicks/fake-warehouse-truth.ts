/**
 * Clicks as a warehouse receives them, and the right answer to any question about them, computed in the simplest way
 * from the single clicks. It shares nothing with the warehouses but the estimate of visitors.
 */
import type { AskedWorld } from '../../test/kit/random-questions.ts';
import type { Random } from '../base/random.ts';
import { randomClicks, type SampleClick, sampleBatch, samplesStart } from './batch-samples.ts';
import { type Click, type ClickBatch, clickAt } from './click.ts';
import {
  type ClickValues,
  type DimensionName,
  dimensionNames,
  type ShownClick,
  type ValueCount,
} from './dimensions.ts';
import type { LogBatch } from './log.ts';
import { Sketch } from './sketch/sketch.ts';
import {
  type Answer,
  type Breakdown,
  type BreakdownPage,
  type Counts,
  compareShown,
  type Filter,
  grainMs,
  type Question,
  type RankedLink,
  type RecentQuestion,
  type Scope,
  type ScopeTotal,
  type Warehouse,
} from './warehouse.ts';

export const link = (code: string, ownerId: string | null = 'acc_1'): Scope => ({
  kind: 'link',
  code,
  ownerId,
});

/** Batches of one partition, one after the other. */
export function partition(
  name: string,
  clicks: readonly SampleClick[],
  batchSize: number,
  producer = name,
): LogBatch[] {
  const batches: LogBatch[] = [];
  for (let start = 0; start < clicks.length; start += batchSize) {
    const batch = sampleBatch(start + 1, clicks.slice(start, start + batchSize));
    batches.push({ partition: name, from: start, to: start + batch.at.length, producer, batch });
  }
  return batches;
}

const owners = ['acc_1', 'acc_2', null] as const;
/** The owner of a link of `randomTraffic`. */
export const ownerOf = (code: string): string | null =>
  owners[Number(code.replaceAll(/\D/g, '')) % owners.length]!;

/** `randomClicks` whose links each have one owner. */
export const randomTraffic = (random: Random, count: number, days?: number): SampleClick[] =>
  randomClicks(random, count, days).map(click => ({ ...click, ownerId: ownerOf(click.code!) }));

/** The parts of an answer that do not depend on the engine. */
export type TrueAnswer = Pick<Answer, 'counts' | 'series' | 'visitors' | 'breakdowns'>;

export class Truth {
  readonly #clicks: Click[] = [];
  readonly #forgotten = new Map<string, number>();

  constructor(clicks: readonly SampleClick[] = []) {
    this.add(clicks);
  }

  add(clicks: readonly SampleClick[]): this {
    return this.addBatch(sampleBatch(1, clicks));
  }

  addBatch(batch: ClickBatch): this {
    for (let index = 0; index < batch.at.length; index += 1) this.#clicks.push(clickAt(batch, index));
    return this;
  }

  forget(code: string, at: number): void {
    this.#forgotten.set(code, at);
  }

  answer({ scopes, from, to, starts, filters, breakdowns }: Question): TrueAnswer {
    const isAskedFor = (click: Click): boolean =>
      click.at >= from && click.at < to && meetsAll(click, filters);
    // A click that is in two of the scopes is in this list twice.
    const found = scopes.flatMap(scope => this.#in(scope).filter(isAskedFor));
    const listed = scopes
      .filter(({ kind }) => kind !== 'link')
      .flatMap(scope => this.#in(scope).filter(isAskedFor));
    const counts = countsOf(found);
    return {
      counts,
      series: starts.map((start, index) =>
        countsOf(found.filter(({ at }) => at >= start && at < (starts[index + 1] ?? to))),
      ),
      visitors: Math.min(counts.clicks, visitorsOf(found)),
      // Only the statistics of owners and tags list links.
      breakdowns: breakdowns.map(breakdown =>
        listOf(breakdown.dimension === 'link' ? listed : found, breakdown),
      ),
    };
  }

  /** In the order of time; the order of simultaneous clicks is not defined. */
  recent({ scopes, from, to, filters, skip, limit }: RecentQuestion): ShownClick[] {
    const isShown = (click: Click): boolean =>
      click.at >= Math.max(from, this.#forgotten.get(click.code) ?? 0) &&
      click.at < to &&
      meetsAll(click, filters);
    return scopes
      .flatMap(scope => this.#in(scope).filter(isShown))
      .map(click => ({
        code: click.code,
        at: click.at,
        kind: click.kind,
        signal: click.signal,
        ...(Object.fromEntries(
          dimensionNames.filter(name => name !== 'link').map(name => [name, valueIn(click, name)]),
        ) as ClickValues),
      }))
      .sort(compareShown)
      .slice(skip, skip + limit);
  }

  total(scope: Scope): ScopeTotal {
    const clicks = this.#in(scope);
    const lastClickAt = clicks.reduce((last, { at }) => Math.max(last, at), Number.NEGATIVE_INFINITY);
    return { ...countsOf(clicks), lastClickAt: clicks.length === 0 ? null : lastClickAt };
  }

  /** All of an owner's links, the most clicked first. */
  ranking(ownerId: string): RankedLink[] {
    const codes = new Set(this.#clicks.filter(click => click.ownerId === ownerId).map(({ code }) => code));
    return [...codes]
      .map(code => ({ code, clicks: countsOf(this.#in(link(code, ownerId))).clicks }))
      .filter(({ clicks }) => clicks > 0)
      .sort((a, b) => b.clicks - a.clicks || (a.code < b.code ? 1 : -1));
  }

  /** The scopes and values to ask about, in the order in which they first occur, and a few without clicks. */
  world({ from, to } = sampledRange): AskedWorld {
    const clicks = this.#clicks;
    const distinct = (scopes: Scope[]): Scope[] => [
      ...new Map(scopes.map(scope => [JSON.stringify(scope), scope])).values(),
    ];
    const owned = clicks.flatMap(({ ownerId, tags }) => (ownerId === null ? [] : [{ ownerId, tags }]));
    return {
      from,
      to,
      links: distinct([...clicks.map(({ code, ownerId }) => link(code, ownerId)), link('nobody')]),
      owners: distinct([
        ...owned.map(({ ownerId }): Scope => ({ kind: 'owner', ownerId })),
        { kind: 'owner', ownerId: "acc_1' OR 1 = 1 --" },
      ]),
      tags: distinct([
        ...owned.flatMap(({ ownerId, tags }) => tags.map((tag): Scope => ({ kind: 'tag', ownerId, tag }))),
        { kind: 'tag', ownerId: 'acc_1', tag: 'unknown' },
      ]),
      values: Object.fromEntries(
        dimensionNames.map(name => [name, [...new Set(clicks.map(click => valueIn(click, name)))]]),
      ),
    };
  }

  #in(scope: Scope): Click[] {
    return this.#clicks.filter(click => {
      if (click.ownerId !== scope.ownerId) return false;
      if (scope.kind === 'link')
        return click.code === scope.code && click.at >= (this.#forgotten.get(click.code) ?? 0);
      return scope.kind === 'owner' || click.tags.includes(scope.tag);
    });
  }
}

function countsOf(clicks: readonly Click[]): Counts {
  const people = clicks.filter(({ kind }) => kind === 'human');
  return {
    clicks: people.length,
    bots: clicks.length - people.length,
    suspicious: people.filter(({ signal }) => signal !== 'none').length,
  };
}

function visitorsOf(clicks: readonly Click[]): number {
  const sketch = new Sketch();
  for (const { kind, visitor } of clicks) if (kind === 'human') sketch.addHex(visitor);
  return sketch.estimate();
}

const meetsAll = (click: Click, filters: readonly Filter[]): boolean =>
  filters.every(
    ({ dimension, values, isExcluded }) => values.includes(valueIn(click, dimension)) !== isExcluded,
  );

function valueIn(click: Click, dimension: DimensionName): string {
  const { code, country, region, city, agent, referrer, visit, kind } = click;
  switch (dimension) {
    case 'link':
      return code;
    case 'country':
      return country;
    case 'region':
      return region;
    case 'city':
      return city;
    case 'device':
      return agent.device;
    case 'browser':
      return agent.browser;
    case 'os':
      return agent.os;
    case 'referrer':
      return referrer.domain;
    case 'referrerUrl':
      return referrer.referrer;
    case 'bot':
      return kind === 'human' ? '' : kind;
    default:
      return visit[dimension];
  }
}

/** Clicks of people; in the list of bots, all others. */
function listOf(clicks: readonly Click[], { dimension, offset, limit, search }: Breakdown): BreakdownPage {
  const counted = clicks.filter(({ kind }) => (kind === 'human') !== (dimension === 'bot'));
  const values: ValueCount[] = [...Map.groupBy(counted, click => valueIn(click, dimension))]
    .map(([value, group]) => ({ value, clicks: group.length }))
    .filter(({ value }) => value.toLowerCase().includes(search.toLowerCase()))
    .sort((a, b) => b.clicks - a.clicks || (a.value < b.value ? -1 : 1));
  return { values: values.slice(offset, offset + limit), total: values.length };
}

export interface Mismatch {
  /** As JSON, so that it can be asked again. */
  readonly question: string;
  /** The first few. */
  readonly differences: readonly string[];
}

interface Oracle {
  answer(question: Question): TrueAnswer;
}

/**
 * The differences of an answer from the truth, if any. If single clicks may have been removed, a filtered answer must
 * say since when it has them, and be right about the time since; every other answer must be right completely.
 */
export function mismatchOf(
  truth: Oracle,
  question: Question,
  received: Answer,
  coveredMax = 0,
): Mismatch | undefined {
  const { coveredFrom, counts, visitors, breakdowns } = received;
  const expected = truth.answer(coveredFrom > question.from ? since(question, coveredFrom) : question);
  const missing = received.series.length - expected.series.length;
  const isRight =
    coveredFrom <= (question.filters.length === 0 ? 0 : coveredMax) &&
    received.series.length === question.starts.length &&
    received.series.slice(0, missing).every(({ clicks, bots }) => clicks + bots === 0) &&
    Bun.deepEquals({ counts, series: received.series.slice(missing), visitors, breakdowns }, expected);
  if (isRight) return undefined;
  const differences = [
    ...(coveredFrom > coveredMax || (coveredFrom > 0 && question.filters.length === 0)
      ? [`says that it has clicks from ${new Date(coveredFrom).toISOString()} on`]
      : []),
    ...differencesIn('', expected, { counts, series: received.series.slice(missing), visitors, breakdowns }),
    ...differencesIn(
      'before.',
      [],
      received.series.slice(0, missing).filter(({ clicks, bots }) => clicks + bots > 0),
    ),
  ];
  return { question: JSON.stringify(question), differences: differences.slice(0, 12) };
}

/** Where two values differ, as `series.3.clicks: 7, not 8`. */
function differencesIn(path: string, expected: unknown, received: unknown): string[] {
  if (Bun.deepEquals(expected, received)) return [];
  if (typeof expected !== 'object' || typeof received !== 'object' || expected === null || received === null)
    return [`${path.slice(0, -1)}: ${JSON.stringify(received)}, not ${JSON.stringify(expected)}`];
  const [was, is] = [expected, received] as Record<string, unknown>[];
  return [...new Set([...Object.keys(was!), ...Object.keys(is!)])].flatMap(key =>
    differencesIn(`${path}${key}.`, was![key], is![key]),
  );
}

/** The question limited to the time since then; its series has only the last buckets. */
function since(question: Question, from: number): Question {
  const next = question.starts.findIndex(start => start > from);
  const starts = next === -1 ? question.starts.slice(-1) : question.starts.slice(Math.max(0, next - 1));
  return { ...question, from, starts: starts.map(start => Math.max(start, from)) };
}

/** Asks one question after the other; returns the first few wrong answers. */
export async function mismatches(
  warehouse: Pick<Warehouse, 'answer'>,
  truth: Oracle,
  questions: Iterable<Question>,
  coveredMax?: number,
): Promise<Mismatch[]> {
  const found: Mismatch[] = [];
  for (const question of questions) {
    const mismatch = mismatchOf(truth, question, await warehouse.answer(question), coveredMax);
    if (mismatch !== undefined) found.push(mismatch);
    if (found.length >= 3) break;
  }
  return found;
}

export const startsEvery = (lengthMs: number, { from, to }: { from: number; to: number }): number[] =>
  Array.from({ length: Math.ceil((to - from) / lengthMs) }, (_, index) => from + index * lengthMs);

/** Every dimension with all of its values. */
export const allLists: readonly Breakdown[] = dimensionNames.map(dimension => ({
  dimension,
  offset: 0,
  limit: 20_000,
  search: '',
}));

/** A few questions that cover a scope: by day, quarter hour and minute, and filtered. */
export function questionsAbout(scope: Scope, { from, to }: { from: number; to: number }): Question[] {
  const scopes = [scope];
  const range = { from, to };
  const plain = { scopes, ...range, starts: [], filters: [], breakdowns: [] };
  const early = { from, to: Math.min(to, from + 1.5 * grainMs.day) };
  const late = { from: early.to, to: Math.min(to, early.to + 1.5 * grainMs.day) };
  return [
    { ...plain, starts: startsEvery(grainMs.day, range), breakdowns: allLists },
    { ...plain, starts: startsEvery(grainMs.quarter, range) },
    ...[early, late].map(part => ({ ...plain, ...part, starts: startsEvery(grainMs.minute, part) })),
    {
      ...plain,
      starts: startsEvery(grainMs.day, range),
      filters: [{ dimension: 'country', values: ['DE', ''], isExcluded: false }],
      breakdowns: allLists.slice(0, 5),
    },
  ];
}

/** The days of `randomTraffic`, with empty time before and after. */
export const sampledRange = { from: samplesStart - grainMs.day / 2, to: samplesStart + 5.5 * grainMs.day };
export const sampledScopes: readonly Scope[] = [
  link('link0'),
  link('link1', 'acc_2'),
  link('link2', null),
  link('link3'),
  link('nobody'),
  { kind: 'owner', ownerId: 'acc_1' },
  { kind: 'tag', ownerId: 'acc_1', tag: 'a' },
  { kind: 'tag', ownerId: 'acc_2', tag: 'b' },
];

export const allQuestions = sampledScopes.flatMap(scope => questionsAbout(scope, sampledRange));
/** Some questions of every kind and scope. */
export const someQuestions = allQuestions.filter((_, index) => index % 3 === 0);
/** One scope of each kind, which is enough to see whether a step changed anything. */
const comparedScopes = sampledScopes.filter((_, index) => [0, 2, 5, 7].includes(index));

/** Everything a warehouse says about some traffic, to compare with another warehouse or another moment. */
export async function everythingIn(
  warehouse: Warehouse,
  scopes: readonly Scope[] = comparedScopes,
  range = sampledRange,
) {
  return Promise.all(
    scopes.map(async scope => ({
      answers: await Promise.all(
        questionsAbout(scope, range).map(async question => comparable(await warehouse.answer(question))),
      ),
      total: await warehouse.total(scope),
    })),
  );
}

/** An answer without the parts that depend on the progress of maintenance. */
export const comparable = ({ counts, series, visitors, breakdowns }: Answer): TrueAnswer => ({
  counts,
  series,
  visitors,
  breakdowns,
});
