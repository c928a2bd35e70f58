/**
 * Answers to questions. Counts, series and lists come in one request, visitors in another beside it. Without filters they
 * come from aggregates: of each stretch of the range from the table with the fewest rows. With filters they come from
 * single clicks. Where a list shows that something was counted between the reading of one and the other, they are read
 * again.
 */
import { backoffMs } from '../../../base/backoff.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import { type ClickHouse, quotedList, type Settings } from '../../../engines/clickhouse/clickhouse.ts';
import { type DimensionName, dimensionOf } from '../../dimensions.ts';
import { type Answer, type Question, scopeName } from '../../warehouse.ts';
import { tableName } from './columns.ts';
import {
  complete,
  countSources,
  listedSources,
  listSources,
  listSpansOf,
  type Pages,
  readPages,
  singleCounts,
  singleLists,
} from './pages.ts';
import { byKey } from './schema.ts';
import { filterConditions, marksOf, scopeConditions, singlesText, whenText } from './singles.ts';
import type { Generation } from './upgrade.ts';
import { countVisitors, countVisitorsIn } from './visitors.ts';

export interface AnswerTools {
  readonly clickHouse: ClickHouse;
  readonly clock: Clock;
  /** Since when single clicks are kept. */
  readonly keptFrom: number;
}

export const readAnswer = (
  tools: AnswerTools,
  generation: Generation,
  question: Question,
): Promise<Answer> =>
  question.filters.length === 0
    ? fromAggregates(tools, generation, question)
    : fromSingles(tools, generation, question);

async function fromAggregates(
  { clickHouse, clock, keptFrom }: AnswerTools,
  generation: Generation,
  question: Question,
): Promise<Answer> {
  const { scopes, from, to } = question;
  const names = [...new Set(scopes.map(scopeName))];
  const spans = listSpansOf(question, generation.listsFrom, keptFrom);
  const listed = listedIn(question);
  const { number } = generation;
  const sources = countSources(number, names, question, question.starts);
  let settings: Settings = byKey;
  if (listed.length > 0) {
    sources.push(...listSources(number, names, spans, listed));
    if (spans.widened !== undefined) sources.push(...listedSources(number, names, spans.widened));
    if (spans.singles.length > 0) {
      const conditions = scopeConditions(scopes, await marksOf(clickHouse, scopes));
      const condition = `${conditions.any} AND ${whenText(spans.singles)}`;
      sources.push(...singleLists(generation, { ...conditions, condition, listed }));
      settings = {};
    }
  }
  const [pages, visitors] = await Promise.all([
    readAgreeing({ clickHouse, clock }, sources, question, settings),
    countVisitors(clickHouse, { generation: number, scopes: names, from, to }),
  ]);
  return {
    ...answerOf(question, pages, visitors),
    source: 'aggregates',
    coveredFrom: 0,
    listsByDayUntil: listed.length === 0 ? 0 : (spans.widened?.until ?? 0),
  };
}

async function fromSingles(
  { clickHouse, clock, keptFrom }: AnswerTools,
  generation: Generation,
  question: Question,
): Promise<Answer> {
  const { scopes, from, to, starts, filters } = question;
  const conditions = scopeConditions(scopes, await marksOf(clickHouse, scopes));
  const range = { from: Math.max(from, keptFrom), to };
  const condition = `${conditions.any} AND ${whenText([range])} ${filterConditions(filters)}`;
  const query = { ...conditions, condition, listed: listedIn(question) };
  const sources = [singleCounts(generation, query, starts), ...singleLists(generation, query)];
  const [pages, visitors, coveredFrom] = await Promise.all([
    readAgreeing({ clickHouse, clock }, sources, question),
    countVisitorsIn(clickHouse, singlesText(generation, 'visitor', `${condition} AND kind = 'human'`)),
    coverageOf(clickHouse, generation, question, keptFrom),
  ]);
  return { ...answerOf(question, pages, visitors), source: 'clicks', coveredFrom, listsByDayUntil: 0 };
}

/** Dimensions whose values have to be read: links are only listed of owners and tags; one is read for comparing. */
function listedIn({ scopes, breakdowns }: Question): DimensionName[] {
  const isOfLinks = scopes.every(({ kind }) => kind === 'link');
  const names = new Set(breakdowns.map(({ dimension }) => dimension));
  const listed = [...names].filter(name => dimensionOf(name).isOfLinks || !isOfLinks);
  return listed.length === 0 || names.has(complete) ? listed : [...listed, complete];
}

/** A block arrives in one table after the other, and a busy server needs some time for it. */
const attemptsMin = 3;
const tornMaxMs = 1_500;
const pauses = { minMs: 10, maxMs: 400 };

async function readAgreeing(
  { clickHouse, clock }: Pick<AnswerTools, 'clickHouse' | 'clock'>,
  sources: readonly string[],
  question: Question,
  settings?: Settings,
): Promise<Pages> {
  const isListed = listedIn(question).length > 0;
  const untilMs = clock.monotonicMs() + tornMaxMs;
  for (let attempt = 1; ; attempt += 1) {
    const pages = await readPages(clickHouse, sources, question.breakdowns, settings);
    const isLate = attempt >= attemptsMin && clock.monotonicMs() >= untilMs;
    if (isLate || !isListed || !pages.isTorn) return pages;
    await sleep(clock, backoffMs(attempt, pauses));
  }
}

function answerOf({ starts, breakdowns }: Question, pages: Pages, visitors: number) {
  return {
    counts: pages.counts,
    series: starts.map(start => pages.bucketAt(start)),
    visitors: Math.min(visitors, pages.counts.clicks),
    breakdowns: breakdowns.map((breakdown, place) => pages.pageOf(breakdown, place)),
  };
}

/** Single clicks may be kept for less long than they were; the counts say whether any are missing. */
export async function coverageOf(
  clickHouse: ClickHouse,
  { number }: Generation,
  { scopes, from, to }: Pick<Question, 'scopes' | 'from' | 'to'>,
  keptFrom: number,
): Promise<number> {
  const tables = (['clicks', 'earlier'] as const).map(table => tableName(table, number));
  const [row] = await clickHouse.rows<{ parts: number; oldest: string }>(`
    SELECT count() AS parts, min(partition) AS oldest FROM system.parts
    WHERE database = currentDatabase() AND table IN ${quotedList(tables)} AND active AND rows > 0`);
  const oldest = row === undefined || row.parts === 0 ? to : dayOf(row.oldest);
  const kept = Math.max(keptFrom, oldest);
  if (kept <= from) return 0;
  const names = scopes.map(scopeName);
  const sources = countSources(number, names, { from, to: Math.min(kept, to) }, []);
  const { counts } = await readPages(clickHouse, sources, []);
  return counts.clicks + counts.bots > 0 ? kept : 0;
}

/** Of a partition's name, such as `20260601`. */
const dayOf = (name: string): number =>
  Date.UTC(Number(name.slice(0, 4)), Number(name.slice(4, 6)) - 1, Number(name.slice(6, 8)));
