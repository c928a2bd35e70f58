/** Counting: deltas into rows. Runs inside the transaction that also moves the positions. */
import type { Database } from 'bun:sqlite';
import type { CountDelta, DayDelta, Deltas } from '../../aggregate.ts';
import { Sketch } from '../../sketch.ts';
import { addValues, type StoredDimensions } from './value-counts.ts';

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
