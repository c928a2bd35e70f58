/**
 * Answers to questions, totals of scopes, and an owner's links in the order of their clicks, from runs. Of each run that
 * lies in the range a question reads the summary of the scope, where it has one and the question has no filters,
 * otherwise the clicks of the scope, which lie together. Synchronous, so it runs on a thread of its own and not where
 * redirects do.
 */
import type { Database } from 'bun:sqlite';
import {
  type Answer,
  grainMs,
  pageOf,
  type Question,
  type RankedLink,
  type RankingQuestion,
  type Scope,
  type ScopeTotal,
} from '../../warehouse.ts';
import { type Chunk, compareLinks, hashOf, isHuman, type LinkKey, tagsIn } from './chunk.ts';
import type { LegacyCounts } from './legacy.ts';
import { entriesOfRun } from './merge.ts';
import { readSummary } from './merge-cursor.ts';
import { firstFrom } from './run-writer.ts';
import { liveRuns, type Run, scopeOf, totalsRuns } from './runs.ts';
import { chunksBetween, hashMax, ScopeReader } from './scope-reader.ts';
import { sumsIn, sumsOf } from './sums.ts';
import { DayMinutes, Tally } from './tally.ts';
import {
  addSums,
  findTotal,
  isLinkKey,
  keyOf,
  noSums,
  ownerKey,
  readTotals,
  type TotalSums,
  tagKey,
  totalOf,
} from './totals.ts';

const isQuarter = (at: number): boolean => at % grainMs.quarter === 0;

/** Where answers come from. */
export interface AnswerSources {
  readonly database: Database;
  readonly legacy: LegacyCounts;
  readonly forgottenBefore: (code: string) => number;
}

export function answerQuestion(
  { database, legacy, forgottenBefore }: AnswerSources,
  question: Question,
): Answer {
  const { scopes, from, to, starts, filters, breakdowns } = question;
  const firstDay = Math.floor(from / grainMs.day) * grainMs.day;
  const runs = liveRuns(database, firstDay, to);
  const isFiltered = filters.length > 0;
  const isByMinute = ![from, to, ...starts].every(isQuarter);
  const needsSingles = isFiltered || isByMinute;
  const covered = Math.max(
    isFiltered ? legacy.missingUntil(firstDay, to) : 0,
    needsSingles ? rolledOffUntil(runs) : 0,
  );
  const coveredFrom = covered > from ? covered : 0;
  const range = { from: Math.max(from, coveredFrom), to };
  const tally = new Tally(question);
  // Run by run, and links in their order: links that lie together are in the same chunks.
  const readers = scopes
    .map(scope => new ScopeReader(database, scope, question, tally))
    .sort((a, b) => compareLinks(a.key, b.key));
  const forgotten = readers.map(({ scope }) => (scope.kind === 'link' ? forgottenBefore(scope.code) : 0));
  for (const run of runs) {
    if (needsSingles && run.singles === 0) continue;
    const minutes = new DayMinutes(run.day, range, starts);
    if (minutes.isEmpty) continue;
    for (const [index, reader] of readers.entries())
      if (run.day + grainMs.day > forgotten[index]!)
        reader.read(run, minutes, Math.max(0, forgotten[index]! - run.day));
  }
  for (const reader of readers) {
    reader.finish();
    if (!isFiltered) legacy.add(tally, reader.scope, question, isByMinute);
  }
  const sums = tally.sums();
  return {
    counts: sums,
    series: tally.series(starts.length),
    visitors: Math.min(tally.visitors.estimate(), sums.clicks),
    breakdowns: breakdowns.map(breakdown => pageOf(tally.lists.get(breakdown.dimension)!, breakdown)),
    source: filters.length > 0 ? 'clicks' : 'aggregates',
    coveredFrom,
    listsByDayUntil: isFiltered || breakdowns.length === 0 ? 0 : legacy.until(firstDay, to),
  };
}

export const rolledOffUntil = (runs: readonly Run[]): number =>
  runs.reduce((until, { singles, day }) => (singles === 0 ? Math.max(until, day + grainMs.day) : until), 0);

const everything: [number, number] = [0, Number.MAX_SAFE_INTEGER];

export function createTotals({ database, legacy, forgottenBefore }: AnswerSources) {
  /**
   * Run by run, and in the order of links: links that lie together are in the same chunks. Of a link whose clicks were
   * deleted only those count that came later; of those, totals know when the last one came.
   */
  function totals(scopes: readonly Scope[]): ScopeTotal[] {
    const asked = scopes.map(scope => ({
      scope,
      key: keyOfScope(scope),
      since: scope.kind === 'link' ? forgottenBefore(scope.code) : 0,
      sums: noSums(),
    }));
    const inOrder = [...asked].sort((a, b) => compareLinks(a.key, b.key));
    for (const { id } of totalsRuns(database))
      for (const { key, since, sums } of inOrder) {
        const total = findTotal(database, id, key) ?? noSums();
        addSums(sums, since === 0 ? total : { ...noSums(), lastAt: total.lastAt });
      }
    for (const run of liveRuns(database, ...everything))
      for (const { scope, key, since, sums } of inOrder)
        if (since === 0 ? run.totalled === 0 : since < run.day + grainMs.day)
          addSums(sums, sumsInRun(database, run, scope, key, Math.max(0, since - run.day)));
    return asked.map(({ scope, sums }) => {
      addSums(sums, legacy.total(scope) ?? noSums());
      return totalOf(sums.clicks + sums.bots === 0 ? noSums() : sums);
    });
  }

  return {
    totals,

    ranking({ ownerId, order, after, limit, codes }: RankingQuestion): RankedLink[] {
      const wanted = codes && new Set(codes);
      const sign = order === 'most' ? -1 : 1;
      const compare = (a: RankedLink, b: RankedLink): number =>
        sign * (a.clicks - b.clicks || (a.code < b.code ? -1 : a.code > b.code ? 1 : 0));
      const best: RankedLink[] = [];
      for (const [code, clicks] of clicksOf(ownerId)) {
        const link = { code, clicks };
        if (clicks === 0 || (wanted && !wanted.has(code))) continue;
        if (after !== undefined && compare(link, after) <= 0) continue;
        if (best.length === limit && compare(link, best[limit - 1]!) >= 0) continue;
        insertSorted(best, link, compare);
        if (best.length > limit) best.pop();
      }
      return best;
    },
  };

  /** People's clicks of all links of an owner. */
  function clicksOf(ownerId: string): Map<string, number> {
    const clicks = new Map<string, number>();
    const add = (code: string, more: number): void => void clicks.set(code, (clicks.get(code) ?? 0) + more);
    for (const { id } of totalsRuns(database))
      for (const { key, sums } of readTotals(database, id, ownerId))
        if (isLinkKey(key)) add(key.code, sums.clicks);
    for (const run of liveRuns(database, ...everything)) {
      if (run.totalled === 1) continue;
      if (run.singles === 1) addLinks(database, run, ownerId, clicks);
      else
        for (const { key, sums } of entriesOfRun(database, run))
          if (key.owner === ownerId && isLinkKey(key)) add(key.code, sums.clicks);
    }
    for (const { code, clicks: more } of legacy.links(ownerId)) add(code, more);
    const deleted = database
      .query<{ code: string }, []>('SELECT code FROM forgotten')
      .all()
      .flatMap(({ code }) => (clicks.has(code) ? [{ kind: 'link', code, ownerId } as const] : []));
    for (const [index, { clicks: left }] of totals(deleted).entries()) clicks.set(deleted[index]!.code, left);
    return clicks;
  }
}

function insertSorted(
  list: RankedLink[],
  link: RankedLink,
  compare: (a: RankedLink, b: RankedLink) => number,
): void {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(list[middle]!, link) < 0) low = middle + 1;
    else high = middle;
  }
  list.splice(low, 0, link);
}

function keyOfScope(scope: Scope): LinkKey {
  if (scope.kind === 'link') return keyOf(scope.ownerId ?? '', scope.code);
  return scope.kind === 'owner' ? ownerKey(scope.ownerId) : tagKey(scope.ownerId, scope.tag);
}

const wholeDay = { from: 0, to: grainMs.day };

/** All that a run has of a scope, of a link from a millisecond of the day on. */
function sumsInRun(database: Database, run: Run, scope: Scope, key: LinkKey, since: number): TotalSums {
  // A summary of single clicks has all of them; one that has taken their place, only those that count.
  const hasSummary = run.level > 0 && (since === 0 || run.singles === 0);
  const summary = hasSummary ? readSummary(database, run.id, scopeOf(key.owner, key.code)) : null;
  if (summary !== null) return sumsOf(summary, run.day);
  const sums = noSums();
  const isLink = scope.kind === 'link';
  const bounds = isLink
    ? { owner: key.owner, hash: hashOf(key.code), end: hashOf(key.code) }
    : { owner: key.owner, hash: -1, end: hashMax };
  const columns = [
    'links',
    'counts',
    'at',
    'kind',
    ...(scope.kind === 'tag' ? (['tags', 'lists'] as const) : []),
  ] as const;
  for (const chunk of chunksBetween(database, columns, run.id, { ...bounds, ...wholeDay })) {
    const found = isLink ? chunk.rowsOf(key) : ownerRows(chunk, key.owner);
    if (found === undefined) continue;
    if (scope.kind !== 'tag') {
      const from = firstFrom(chunk.at, found.from, found.to, since);
      addSums(sums, sumsIn(chunk, from, found.to, run.day));
      continue;
    }
    const has = chunk.lists.tags.map(entry => tagsIn(entry).includes(scope.tag));
    for (let index = found.from; index < found.to; index += 1)
      if (has[chunk.codes.tags[index]!]) addSums(sums, sumsIn(chunk, index, index + 1, run.day));
  }
  return sums;
}

function ownerRows(chunk: Chunk, owner: string): { readonly from: number; readonly to: number } | undefined {
  const links = chunk.linksOf(owner);
  if (links === undefined) return undefined;
  return { from: chunk.starts[links.first]!, to: chunk.starts[links.first + links.codes.length]! };
}

/** People's clicks of each of an owner's links in a run. */
function addLinks(database: Database, run: Run, owner: string, clicks: Map<string, number>): void {
  const columns = ['links', 'counts', 'kind'] as const;
  for (const chunk of chunksBetween(database, columns, run.id, {
    owner,
    hash: -1,
    end: hashMax,
    ...wholeDay,
  })) {
    const links = chunk.linksOf(owner);
    if (links === undefined) continue;
    const { starts, kind } = chunk;
    for (const [index, code] of links.codes.entries()) {
      let people = 0;
      for (let at = starts[links.first + index]!; at < starts[links.first + index + 1]!; at += 1)
        if (isHuman(kind[at]!)) people += 1;
      clicks.set(code, (clicks.get(code) ?? 0) + people);
    }
  }
}
