/** Counting: deltas into rows. Runs inside the transaction that also moves the positions. */
import type { Database } from 'bun:sqlite';
import type { CountDelta, DayDelta, Deltas } from '../../aggregate.ts';
import { Sketch } from '../../sketch.ts';
import { type DimensionName, dimensionNames } from '../../warehouse.ts';

/** Distinct values kept per dimension, scope and day; what comes after them is counted together. */
const valuesMax = 1_000;
export const otherValue = '(other)';

export type StoredDimensions = Partial<Record<DimensionName, Record<string, number>>>;

export function prepareCounting(database: Database): (deltas: Deltas) => void {
  const addToScope = database.query<{ id: number }, [string, number, number, number]>(`
    INSERT INTO scopes (name, clicks, bots, last_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (name) DO UPDATE SET clicks = clicks + ?2, bots = bots + ?3, last_at = max(last_at, ?4)
    RETURNING id`);
  const readDay = database.query<{ visitors: Uint8Array; dimensions: string }, [number, number]>(
    'SELECT visitors, dimensions FROM days WHERE scope = ? AND start = ?',
  );
  const writeDay = database.query(`
    INSERT INTO days (scope, start, clicks, bots, visitors, dimensions) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (scope, start) DO UPDATE SET clicks = clicks + ?3, bots = bots + ?4, visitors = ?5, dimensions = ?6`);

  const countMinute = prepareBuckets(database, 'minutes');
  const countQuarter = prepareBuckets(database, 'quarters');
  const countDay = (scope: number, start: number, delta: DayDelta): void => {
    const before = readDay.get(scope, start);
    const stored = before === null ? {} : (JSON.parse(before.dimensions) as StoredDimensions);
    const dimensions = JSON.stringify(mergeDimensions(stored, delta));
    writeDay.run(scope, start, delta.clicks, delta.bots, mergedBytes(delta, before), dimensions);
  };

  return deltas => {
    for (const [name, delta] of deltas) {
      const scope = addToScope.get(name, delta.clicks, delta.bots, delta.lastClickAt)!.id;
      for (const [start, counts] of delta.minutes) countMinute(scope, start, counts);
      for (const [start, counts] of delta.quarters) countQuarter(scope, start, counts);
      for (const [start, counts] of delta.days) countDay(scope, start, counts);
    }
  };
}

/** Minutes and quarter hours are alike: numbers that add up, and visitors that merge. */
function prepareBuckets(database: Database, table: 'minutes' | 'quarters') {
  const read = database.query<{ visitors: Uint8Array }, [number, number]>(
    `SELECT visitors FROM ${table} WHERE scope = ? AND start = ?`,
  );
  const write = database.query(`
    INSERT INTO ${table} (scope, start, clicks, bots, visitors) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (scope, start) DO UPDATE SET clicks = clicks + ?3, bots = bots + ?4, visitors = ?5`);
  return (scope: number, start: number, delta: CountDelta): void => {
    const visitors = mergedBytes(delta, read.get(scope, start));
    write.run(scope, start, delta.clicks, delta.bots, visitors);
  };
}

function mergedBytes({ visitors }: CountDelta, before: { visitors: Uint8Array } | null): Uint8Array {
  if (before !== null) visitors.merge(Sketch.from(before.visitors));
  return visitors.toBytes();
}

function mergeDimensions(stored: StoredDimensions, { dimensions }: DayDelta): StoredDimensions {
  for (const name of dimensionNames) {
    const counts = stored[name] ?? {};
    stored[name] = counts;
    let distinct = Object.keys(counts).length;
    for (const [value, clicks] of dimensions[name]) {
      const isNew = !Object.hasOwn(counts, value);
      const key = isNew && distinct >= valuesMax ? otherValue : value;
      if (isNew && key === value) distinct += 1;
      counts[key] = (Object.hasOwn(counts, key) ? counts[key]! : 0) + clicks;
    }
  }
  return stored;
}
