/** Counting: deltas into rows. Runs inside the transaction that also moves the positions. */

import type { Database } from 'bun:sqlite';
import type { CountDelta, DayDelta, Deltas } from '../../aggregate.ts';
import type { ClickBatch } from '../../click.ts';
import { type DimensionName, dimensionNames } from '../../dimensions.ts';
import { hourMs, hourOf } from '../../replay.ts';
import { Sketch } from '../../sketch/sketch.ts';
import type { HourSum } from '../../warehouse.ts';

export function prepareCounting(database: Database): (deltas: Deltas) => void {
  const addToScope = database.query<{ id: number }, [string, number, number, number, number, string | null]>(`
    INSERT INTO scopes (name, clicks, bots, suspicious, last_at, owner) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (name) DO UPDATE
    SET clicks = clicks + ?2, bots = bots + ?3, suspicious = suspicious + ?4, last_at = max(last_at, ?5), owner = ?6
    RETURNING id`);
  const readDay = database.query<{ visitors: Uint8Array; dimensions: string }, [number, number]>(
    'SELECT visitors, dimensions FROM days WHERE scope = ? AND start = ?',
  );
  const writeDay = database.query(`
    INSERT INTO days (scope, start, clicks, bots, suspicious, visitors, dimensions)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (scope, start) DO UPDATE
    SET clicks = clicks + ?3, bots = bots + ?4, suspicious = suspicious + ?5, visitors = ?6, dimensions = ?7`);

  const countMinute = prepareBuckets(database, 'minutes');
  const countQuarter = prepareBuckets(database, 'quarters');
  const countDay = (
    scope: number,
    start: number,
    delta: DayDelta,
    visitors: Uint8Array | undefined,
  ): void => {
    const before = readDay.get(scope, start);
    const stored = before === null ? {} : (JSON.parse(before.dimensions) as StoredDimensions);
    const dimensions = JSON.stringify(addValues(stored, delta.dimensions));
    const merged = before === null ? (visitors ?? delta.visitors.toBytes()) : mergedBytes(delta, before);
    writeDay.run(scope, start, delta.clicks, delta.bots, delta.suspicious, merged, dimensions);
  };

  return deltas => {
    for (const [name, delta] of deltas) {
      const { clicks, bots, suspicious, lastClickAt, ownerId } = delta;
      const scope = addToScope.get(name, clicks, bots, suspicious, lastClickAt, ownerId)!.id;
      // Most links are followed in one minute of many: then quarter hour and day have the minute's visitors.
      const visitors = delta.minutes.size === 1 ? onlyVisitors(delta.minutes) : undefined;
      for (const [start, counts] of delta.minutes) countMinute(scope, start, counts, visitors);
      for (const [start, counts] of delta.quarters) countQuarter(scope, start, counts, visitors);
      for (const [start, counts] of delta.days) countDay(scope, start, counts, visitors);
    }
  };
}

function onlyVisitors(minutes: ReadonlyMap<number, CountDelta>): Uint8Array | undefined {
  for (const { visitors } of minutes.values()) return visitors.toBytes();
  return undefined;
}

/** Minutes and quarter hours are alike: numbers that add up, and visitors that merge. */
function prepareBuckets(database: Database, table: 'minutes' | 'quarters') {
  const read = database.query<{ visitors: Uint8Array }, [number, number]>(
    `SELECT visitors FROM ${table} WHERE scope = ? AND start = ?`,
  );
  const insert = database.query(
    `INSERT OR IGNORE INTO ${table} (scope, start, clicks, bots, suspicious, visitors) VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const add = database.query(`
    UPDATE ${table} SET clicks = clicks + ?3, bots = bots + ?4, suspicious = suspicious + ?5, visitors = ?6
    WHERE scope = ?1 AND start = ?2`);
  return (scope: number, start: number, delta: CountDelta, visitors: Uint8Array | undefined): void => {
    const { clicks, bots, suspicious } = delta;
    // The row is new more often than not, and then nothing has to be read.
    const inserted = insert.run(scope, start, clicks, bots, suspicious, visitors ?? delta.visitors.toBytes());
    if (inserted.changes === 0)
      add.run(scope, start, clicks, bots, suspicious, mergedBytes(delta, read.get(scope, start)!));
  };
}

function mergedBytes({ visitors }: CountDelta, before: { visitors: Uint8Array }): Uint8Array {
  visitors.merge(Sketch.from(before.visitors));
  return visitors.toBytes();
}

/**
 * How often each value of a dimension came on one day, in bounded space. Strangers choose referrers, so a list that keeps
 * the first values it sees can be filled with invented ones. This one keeps the most frequent (Space-Saving, merged a
 * batch at a time as in Agarwal et al., “Mergeable summaries”): once a list is full, its least frequent values make room
 * and their clicks go to `(other)`, so the sum stays exact. A value that enters a full list is ranked as if it had come
 * before as often as the least frequent one. That head start is its floor; it is never shown.
 *
 * Invariants, of a list of k values and N clicks: whatever came more than N/k times is listed; no value is shown with more
 * clicks than it had, nor with more than N/k fewer; what was never removed is exact. Up to the limits everything is exact.
 */
type Counts = Record<string, number>;

export type StoredDimensions = Partial<Record<DimensionName, Counts>> & {
  /** Of each key of the counts, in their order; only for lists that something was removed from. */
  floors?: Partial<Record<DimensionName, number[]>>;
};

/** A list that outgrows `most` is cut down to `kept`, so that it is not sorted for every new value. */
const valuesIn = { kept: 1_000, most: 1_100 } as const;
/** The whole list is written with every batch of clicks, and 1,000 host names of full length would be 253 KB. */
const charactersIn = { kept: 60_000, most: 65_536 } as const;
const otherValue = '(other)';

/** Changes what is stored. */
export function addValues(
  stored: StoredDimensions,
  more: Readonly<Record<DimensionName, ReadonlyMap<string, number>>>,
): StoredDimensions {
  for (const name of dimensionNames) {
    if (more[name].size === 0) continue;
    // Without a prototype, because a host may be called `__proto__`.
    const counts: Counts = Object.setPrototypeOf(stored[name] ?? {}, null);
    stored[name] = counts;
    const floors = floorsOf(counts, stored.floors?.[name]);
    const floor = leastRank(counts, floors);
    for (const [value, clicks] of more[name]) {
      if (floors.size > 0 && counts[value] === undefined) floors.set(value, floor);
      counts[value] = (counts[value] ?? 0) + clicks;
    }
    trim(counts, floors);
    if (floors.size > 0)
      stored.floors = { ...stored.floors, [name]: Object.keys(counts).map(value => floors.get(value) ?? 0) };
  }
  return stored;
}

/** Empty for a list that nothing was removed from. */
function floorsOf(counts: Counts, stored: readonly number[] | undefined): Map<string, number> {
  if (stored === undefined) return new Map();
  return new Map(Object.keys(counts).map((value, index) => [value, stored[index] ?? 0]));
}

/** What is not in a list that was trimmed came at most so often. */
function leastRank(counts: Counts, floors: ReadonlyMap<string, number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const [value, floor] of floors)
    if (value !== otherValue) least = Math.min(least, counts[value]! + floor);
  return least;
}

function trim(counts: Counts, floors: Map<string, number>): void {
  const values = Object.keys(counts).filter(value => value !== otherValue);
  let characters = values.reduce((sum, value) => sum + value.length, 0);
  if (values.length <= valuesIn.most && characters <= charactersIn.most) return;
  const rank = (value: string): number => counts[value]! + (floors.get(value) ?? 0);
  // Sorting is stable: of equals, the one that has been there longer stays.
  values.sort((a, b) => rank(b) - rank(a));
  let removed = 0;
  while (values.length > valuesIn.kept || characters > charactersIn.kept) {
    const value = values.pop()!;
    characters -= value.length;
    removed += counts[value]!;
    delete counts[value];
    floors.delete(value);
  }
  counts[otherValue] = (counts[otherValue] ?? 0) + removed;
  for (const value of values) floors.set(value, floors.get(value) ?? 0);
}

/**
 * What counts add up to hour by hour, for comparing with the ledger. What a link has lost because its owner had its clicks
 * deleted is noted by the hour as well, or every deletion would look like a loss.
 *
 * Links that were followed in an hour are found by their minutes, which have an index by time, and added up from their
 * quarter hours. Once minutes of an hour were dropped it cannot be compared any more.
 */
export function createHours(database: Database) {
  const addForgotten = database.query(`
    INSERT INTO forgotten_hours (hour, clicks) VALUES (?1, ?2)
    ON CONFLICT (hour) DO UPDATE SET clicks = clicks + ?2`);
  const addScope = database.query(`
    INSERT INTO forgotten_hours (hour, clicks)
    SELECT start - start % ${hourMs}, sum(clicks + bots) FROM quarters WHERE scope = ? GROUP BY 1
    ON CONFLICT (hour) DO UPDATE SET clicks = clicks + excluded.clicks`);
  const anyMark = database.query<{ found: number }, []>('SELECT 1 AS found FROM forgotten LIMIT 1');
  const noteSince = database.query(`
    INSERT INTO comparable_hours (only, since) VALUES (1, ?1)
    ON CONFLICT (only) DO UPDATE SET since = max(since, ?1)`);
  const readSince = database.query<{ since: number }, []>('SELECT since FROM comparable_hours');
  const sums = database.query<{ hour: number; counted: number }, [number, number]>(`
    SELECT quarters.start - quarters.start % ${hourMs} AS hour, sum(quarters.clicks + quarters.bots) AS counted
    FROM (SELECT DISTINCT scope FROM minutes INDEXED BY minutes_by_start WHERE start >= ?1 AND start < ?2) AS followed
    JOIN scopes ON scopes.id = followed.scope AND instr(scopes.name, ':') = 0
    JOIN quarters ON quarters.scope = followed.scope AND quarters.start >= ?1 AND quarters.start < ?2
    GROUP BY 1`);
  const forgottenRows = database.query<{ hour: number; clicks: number }, [number, number]>(
    'SELECT hour, clicks FROM forgotten_hours WHERE hour >= ? AND hour < ?',
  );

  return {
    /** Of clicks that are being counted, those that their link's owner had deleted. */
    noteCounted(batch: ClickBatch, forgottenBefore: (code: string) => number): void {
      if (anyMark.get() === null) return;
      const marks = batch.links.map(({ code }) => forgottenBefore(code));
      const hours = new Map<number, number>();
      for (const [row, at] of batch.at.entries())
        if (at < marks[batch.link[row]!]!) hours.set(hourOf(at), (hours.get(hourOf(at)) ?? 0) + 1);
      for (const [hour, clicks] of hours) addForgotten.run(hour, clicks);
    },
    /** All that was counted of a link is about to be deleted. */
    noteDeletion(scope: number): void {
      addScope.run(scope);
    },
    /** Minutes before this were dropped, at least some of them. */
    noteDrop(before: number): void {
      noteSince.run(hourOf(before - 1) + hourMs);
    },
    comparableSince: (): number => readSince.get()?.since ?? 0,
    sums: database.transaction((from: number, to: number): HourSum[] => {
      const hours = new Map<number, HourSum>();
      const sumOf = (hour: number): HourSum =>
        hours.get(hour) ?? { hour, counted: 0, forgotten: 0, kept: null };
      for (const { hour, counted } of sums.all(from, to)) hours.set(hour, { ...sumOf(hour), counted });
      for (const { hour, clicks } of forgottenRows.all(from, to))
        hours.set(hour, { ...sumOf(hour), forgotten: clicks });
      return [...hours.values()].sort((a, b) => a.hour - b.hour);
    }),
  };
}
