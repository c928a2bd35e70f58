/**
 * Answers to questions, from runs: of each run that lies in the range, the summary of the scope where it has one and the
 * question has no filters, otherwise the clicks of the scope, which lie together. Synchronous, so it runs on a thread of
 * its own and not where redirects do.
 */
import type { Database } from 'bun:sqlite';
import { type Answer, grainMs, pageOf, type Question } from '../../warehouse.ts';
import { compareLinks } from './chunk.ts';
import type { LegacyCounts } from './legacy.ts';
import { liveRuns, type Run } from './runs.ts';
import { ScopeReader } from './scope-reader.ts';
import { DayMinutes, Tally } from './tally.ts';

const isQuarter = (at: number): boolean => at % grainMs.quarter === 0;

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
  for (const [index, reader] of readers.entries()) {
    reader.finish();
    if (!isFiltered && forgotten[index] === 0) legacy.add(tally, reader.scope, question, isByMinute);
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

const rolledOffUntil = (runs: readonly Run[]): number =>
  runs.reduce((until, { singles, day }) => (singles === 0 ? Math.max(until, day + grainMs.day) : until), 0);
