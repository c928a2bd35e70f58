/** Answers, from aggregates only. Synchronous, so it runs on a thread of its own and not where redirects do. */
import type { Database } from 'bun:sqlite';
import { type DimensionCounts, type DimensionName, dimensionNames } from '../../dimensions.ts';
import { Sketch } from '../../sketch/sketch.ts';
import {
  type Bucket,
  BucketSums,
  type CountsQuestion,
  type Grain,
  grainMs,
  type LedgerRow,
  type RankedLink,
  type RankingQuestion,
  type Scope,
  type ScopeCounts,
  type ScopeTotal,
  scopeName,
} from '../../warehouse.ts';
import type { StoredDimensions } from './count.ts';

type Range = [scope: number, from: number, to: number];

export function createReader(database: Database) {
  const scopeRow = database.query<
    Omit<ScopeTotal, 'lastClickAt'> & { id: number; last_at: number },
    [string]
  >('SELECT id, clicks, bots, suspicious, last_at FROM scopes WHERE name = ?');
  const buckets: Record<Grain, (...range: Range) => Bucket[]> = {
    minute: (...range) => minutes.all(...range),
    quarter: (...range) => quarters.all(...range),
    day: (...range) => days.all(...range),
  };
  const within = 'WHERE scope = ?1 AND start >= ?2 AND start < ?3';
  const bucketsOf = (table: string) =>
    database.query<Bucket, Range>(
      `SELECT start, clicks, bots, suspicious FROM ${table} ${within} ORDER BY start`,
    );
  const minutes = bucketsOf('minutes');
  const quarters = bucketsOf('quarters');
  const days = bucketsOf('days');

  const minuteSum = database.query<{ clicks: number }, Range>(
    `SELECT coalesce(sum(clicks), 0) AS clicks FROM minutes ${within}`,
  );

  const visitorsOf = (table: string) =>
    database.query<{ visitors: Uint8Array }, Range>(`SELECT visitors FROM ${table} ${within}`);
  const dayVisitors = visitorsOf('days');
  const quarterVisitors = visitorsOf('quarters');
  const minuteVisitors = visitorsOf('minutes');
  const dayDimensions = database.query<{ dimensions: string }, Range>(
    `SELECT dimensions FROM days ${within}`,
  );
  const ledgerRows = database.query<LedgerRow, [number, number]>(`
    SELECT hour, producer, counted, skipped, duplicates FROM ledger
    WHERE hour >= ? AND hour < ? ORDER BY hour, producer`);

  const ranked = (where: string) =>
    database.query<RankedLink, [Record<string, string | number>]>(
      `SELECT name AS code, clicks FROM scopes WHERE ${where} LIMIT $limit`,
    );
  const most = 'clicks > 0 AND (clicks, name) < ($clicks, $code) ORDER BY clicks DESC, name DESC';
  // One bound and no other: of two, SQLite would start at the wider one and walk over every tie.
  const least = '(clicks, name) > ($clicks, $code) ORDER BY clicks, name';
  const rankings = {
    most: ranked(`owner = $owner AND ${most}`),
    least: ranked(`owner = $owner AND ${least}`),
  };
  // With a plus it is found by name, and not by walking over all of the owner's links.
  const among = '+owner = $owner AND name IN (SELECT value FROM json_each($codes))';
  const rankingsAmong = { most: ranked(`${among} AND ${most}`), least: ranked(`${among} AND ${least}`) };

  const idOf = (scope: Scope): number | undefined => scopeRow.get(scopeName(scope))?.id;

  const visitorRows: Record<Grain, (...range: Range) => { visitors: Uint8Array }[]> = {
    minute: (...range) => minuteVisitors.all(...range),
    quarter: (...range) => quarterVisitors.all(...range),
    day: (...range) => dayVisitors.all(...range),
  };

  /** Whole days from their own sketches, what is left at both ends from quarter hours, and of those from minutes. */
  function addVisitors(
    into: Sketch,
    scope: number,
    from: number,
    to: number,
    grains: readonly Grain[],
  ): void {
    const [grain, ...finer] = grains;
    if (grain === undefined || from >= to) return;
    const first = Math.ceil(from / grainMs[grain]) * grainMs[grain];
    const last = Math.floor(to / grainMs[grain]) * grainMs[grain];
    if (first >= last) {
      addVisitors(into, scope, from, to, finer);
      return;
    }
    for (const { visitors } of visitorRows[grain](scope, first, last)) into.merge(Sketch.from(visitors));
    addVisitors(into, scope, from, first, finer);
    addVisitors(into, scope, last, to, finer);
  }

  return {
    series(scope: Scope, grain: Grain, from: number, to: number): Bucket[] {
      const id = idOf(scope);
      return id === undefined ? [] : buckets[grain](id, from, to);
    },
    // One snapshot, so that nothing is counted between two looks.
    counts: database.transaction(({ scopes, grain, from, to, recent }: CountsQuestion): ScopeCounts => {
      const series = new BucketSums();
      let [recentClicks, clicks, bots, suspicious, lastClickAt] = [0, 0, 0, 0, 0];
      for (const scope of scopes) {
        const row = scopeRow.get(scopeName(scope));
        if (row === null) continue;
        for (const bucket of buckets[grain](row.id, from, to)) series.add(bucket);
        recentClicks += minuteSum.get(row.id, recent.from, recent.to)!.clicks;
        clicks += row.clicks;
        bots += row.bots;
        suspicious += row.suspicious;
        lastClickAt = Math.max(lastClickAt, row.last_at);
      }
      const total = { clicks, bots, suspicious, lastClickAt: lastClickAt || null };
      return { series: series.all(), recentClicks, total };
    }),
    // Here too.
    uniques: database.transaction((scopes: readonly Scope[], from: number, to: number): number => {
      const visitors = new Sketch();
      for (const scope of scopes) {
        const id = idOf(scope);
        if (id !== undefined) addVisitors(visitors, id, from, to, ['day', 'quarter', 'minute']);
      }
      return Math.round(visitors.estimate());
    }),
    dimensions(scopes: readonly Scope[], from: number, to: number, top: number): DimensionCounts {
      const sums = new Map<DimensionName, Map<string, number>>(dimensionNames.map(name => [name, new Map()]));
      const fromDay = Math.floor(from / grainMs.day) * grainMs.day;
      for (const scope of scopes) {
        const id = idOf(scope);
        if (id === undefined) continue;
        for (const { dimensions } of dayDimensions.all(id, fromDay, to))
          addDimensions(sums, JSON.parse(dimensions));
      }
      return Object.fromEntries(
        dimensionNames.map(name => [name, mostFrequent(sums.get(name)!, top)]),
      ) as unknown as DimensionCounts;
    },
    total(scope: Scope): ScopeTotal {
      const row = scopeRow.get(scopeName(scope));
      if (row === null) return { clicks: 0, bots: 0, suspicious: 0, lastClickAt: null };
      const { clicks, bots, suspicious, last_at: lastClickAt } = row;
      return { clicks, bots, suspicious, lastClickAt };
    },
    ranking({ ownerId: owner, order, after, limit, codes }: RankingQuestion): RankedLink[] {
      const start = order === 'most' ? Number.MAX_SAFE_INTEGER : 1;
      const page = { owner, clicks: after?.clicks ?? start, code: after?.code ?? '', limit };
      if (codes === undefined) return rankings[order].all(page);
      return rankingsAmong[order].all({ ...page, codes: JSON.stringify(codes) });
    },
    ledger: (from: number, to: number): LedgerRow[] => ledgerRows.all(from, to),
  };
}

function addDimensions(sums: Map<DimensionName, Map<string, number>>, stored: StoredDimensions): void {
  for (const name of dimensionNames) {
    const sum = sums.get(name)!;
    for (const [value, clicks] of Object.entries(stored[name] ?? {}))
      sum.set(value, (sum.get(value) ?? 0) + clicks);
  }
}

/** Ties go by name, so that the same clicks always give the same list. */
function mostFrequent(counts: ReadonlyMap<string, number>, top: number): { value: string; clicks: number }[] {
  return [...counts]
    .map(([value, clicks]) => ({ value, clicks }))
    .sort((a, b) => b.clicks - a.clicks || (a.value < b.value ? -1 : 1))
    .slice(0, top);
}
