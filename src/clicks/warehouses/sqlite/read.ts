/** Totals of scopes, and an owner's links in the order of their clicks. */
import type { Database } from 'bun:sqlite';
import {
  grainMs,
  type RankedLink,
  type RankingQuestion,
  type Scope,
  type ScopeTotal,
} from '../../warehouse.ts';
import { type AnswerSources, answerQuestion } from './answer.ts';
import { type Chunk, compareLinks, hashOf, isHuman, type LinkKey, tagsIn } from './chunk.ts';
import { entriesOfRun } from './merge.ts';
import { readSummary } from './merge-cursor.ts';
import { liveRuns, type Run, scopeOf, totalsRuns } from './runs.ts';
import { chunksBetween, hashMax } from './scope-reader.ts';
import { sumsIn, sumsOf } from './sums.ts';
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

const everything: [number, number] = [0, Number.MAX_SAFE_INTEGER];

export function createTotals(sources: AnswerSources) {
  const { database, legacy, forgottenBefore } = sources;
  const untotalled = (): Run[] => liveRuns(database, ...everything).filter(({ totalled }) => totalled === 0);

  /** Of a link whose clicks were deleted only those count that came later, and they are in no total. */
  function totalSince(scope: Scope, at: number): TotalSums {
    const from = Math.floor(at / grainMs.day) * grainMs.day;
    const last = liveRuns(database, ...everything).at(-1)?.day ?? from;
    const question = {
      scopes: [scope],
      from,
      to: last + grainMs.day,
      starts: [],
      filters: [],
      breakdowns: [],
    };
    return { ...answerQuestion(sources, question).counts, lastAt: 0 };
  }

  return {
    /** Run by run, and in the order of links: links that lie together are in the same chunks. */
    totals(scopes: readonly Scope[]): ScopeTotal[] {
      const asked = scopes.map(scope => ({ scope, key: keyOfScope(scope), sums: noSums() }));
      const inOrder = [...asked].sort((a, b) => compareLinks(a.key, b.key));
      for (const { id } of totalsRuns(database))
        for (const { key, sums } of inOrder) addSums(sums, findTotal(database, id, key) ?? noSums());
      for (const run of untotalled())
        for (const { scope, key, sums } of inOrder) addSums(sums, sumsInRun(database, run, scope, key));
      return asked.map(({ scope, sums }) => {
        const forgotten = scope.kind === 'link' ? forgottenBefore(scope.code) : 0;
        if (forgotten > 0) {
          const since = totalSince(scope, forgotten);
          return totalOf({ ...since, lastAt: since.clicks + since.bots > 0 ? sums.lastAt : 0 });
        }
        addSums(sums, legacy.total(scope) ?? noSums());
        return totalOf(sums);
      });
    },

    ranking({ ownerId, order, after, limit, codes }: RankingQuestion): RankedLink[] {
      const wanted = codes && new Set(codes);
      const sign = order === 'most' ? -1 : 1;
      const compare = (a: RankedLink, b: RankedLink): number =>
        sign * (a.clicks - b.clicks || (a.code < b.code ? -1 : a.code > b.code ? 1 : 0));
      const best: RankedLink[] = [];
      const hasForgotten = database.query('SELECT 1 FROM forgotten LIMIT 1').get() !== null;
      for (const [code, counted] of clicksOf(ownerId)) {
        if (wanted && !wanted.has(code)) continue;
        const forgotten = hasForgotten ? forgottenBefore(code) : 0;
        const clicks =
          forgotten === 0 ? counted : totalSince({ kind: 'link', code, ownerId }, forgotten).clicks;
        const link = { code, clicks };
        if (clicks === 0 || (after !== undefined && compare(link, after) <= 0)) continue;
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
    for (const run of untotalled()) {
      if (run.singles === 1) addLinks(database, run, ownerId, clicks);
      else
        for (const { key, sums } of entriesOfRun(database, run))
          if (key.owner === ownerId && isLinkKey(key)) add(key.code, sums.clicks);
    }
    for (const { code, clicks: more } of legacy.links(ownerId)) add(code, more);
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

/** All that a run has of a scope. */
function sumsInRun(database: Database, run: Run, scope: Scope, key: LinkKey): TotalSums {
  const summary = run.level === 0 ? null : readSummary(database, run.id, scopeOf(key.owner, key.code));
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
      addSums(sums, sumsIn(chunk, found.from, found.to, run.day));
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
