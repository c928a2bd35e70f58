/**
 * Puts a stretch of time, counted on the side, in the place of what was counted of it. The long part, reading the stream and
 * counting, is done while others count on; the rest is one transaction, in which the replay first catches up with
 * whatever was counted until then. So nothing is lost, nothing is counted twice, and a crash leaves the old numbers.
 *
 * A link whose clicks are deleted while this goes on is left as the deletion left it.
 */
import type { Database } from 'bun:sqlite';
import { withBusyRetry } from '../../../engines/sqlite/database.ts';
import type { SpanReplay, TimeSpan } from '../../replay.ts';
import { Sketch } from '../../sketch.ts';
import { daysOf, isWholeDay } from '../../span-days.ts';
import { grainMs } from '../../warehouse.ts';
import { Scratch } from './scratch.ts';

/** How often a replay runs after those who count before it makes them wait. */
const roundsMax = 5;

type Marks = ReadonlyMap<string, number>;

export async function repairSpan(database: Database, replay: SpanReplay): Promise<number> {
  const marksBefore = readMarks(database);
  const scratch = new Scratch(`${database.filename}.repair`, marksBefore);
  try {
    for (let round = 0; round < roundsMax && !replay.hasReached(readPositions(database)); round += 1)
      await scratch.add(replay.upTo(readPositions(database)));
    // Before anybody has to wait for it: this looks at every row.
    const scopes = scopesWithin(database, replay.span);
    withBusyRetry(() => database.run('BEGIN IMMEDIATE'));
    try {
      await scratch.add(replay.upTo(readPositions(database)));
      const deleted = changedSince(marksBefore, readMarks(database));
      new Replacement(database, scratch, replay.span).put(scopes, deleted);
      database.run('COMMIT');
    } catch (error) {
      if (database.inTransaction) database.run('ROLLBACK');
      throw error;
    }
    return scratch.clicks;
  } finally {
    scratch.close();
  }
}

class Replacement {
  readonly #main: Database;
  readonly #scratch: Scratch;
  readonly #span: TimeSpan;

  constructor(main: Database, scratch: Scratch, span: TimeSpan) {
    this.#main = main;
    this.#scratch = scratch;
    this.#span = span;
  }

  put(scopes: ReadonlySet<number>, deleted: ReadonlySet<string>): void {
    /** Scopes here, and what they are called on the side, where they have clicks. */
    const touched = new Map<number, number | undefined>([...scopes].map(scope => [scope, undefined]));
    for (const { id, name, last_at, owner } of this.#scratch.database
      .query<ScopeRow, []>('SELECT id, name, last_at, owner FROM scopes')
      .iterate()) {
      if (!deleted.has(name)) touched.set(this.#ensureScope(name, last_at, owner), id);
    }
    for (const code of deleted) touched.delete(this.#scopeOf(code));
    this.#replaceHours(deleted);
    for (const [scope, side] of touched) {
      this.#replaceBuckets('minutes', scope, side);
      this.#replaceBuckets('quarters', scope, side);
      for (const day of daysOf(this.#span)) this.#replaceDay(scope, side, day);
      this.#addUp(scope);
    }
  }

  #ensureScope(name: string, lastAt: number, owner: string | null): number {
    return this.#main
      .query<{ id: number }, [string, number, string | null]>(`
        INSERT INTO scopes (name, clicks, bots, last_at, owner) VALUES (?1, 0, 0, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET last_at = max(last_at, ?2), owner = ?3 RETURNING id`)
      .get(name, lastAt, owner)!.id;
  }

  #scopeOf(name: string): number {
    const row = this.#main.query<{ id: number }, [string]>('SELECT id FROM scopes WHERE name = ?').get(name);
    return row?.id ?? -1;
  }

  #replaceBuckets(table: 'minutes' | 'quarters', scope: number, side: number | undefined): void {
    const { from, to } = this.#span;
    this.#main
      .query(`DELETE FROM ${table} WHERE scope = ? AND start >= ? AND start < ?`)
      .run(scope, from, to);
    if (side === undefined) return;
    const insert = this.#main.query(`
      INSERT INTO ${table} (scope, start, clicks, bots, suspicious, visitors) VALUES (?, ?, ?, ?, ?, ?)`);
    const rows = this.#scratch.database
      .query<BucketRow & { start: number }, [number]>(
        `SELECT start, clicks, bots, suspicious, visitors FROM ${table} WHERE scope = ?`,
      )
      .all(side);
    for (const { start, clicks, bots, suspicious, visitors } of rows)
      insert.run(scope, start, clicks, bots, suspicious, visitors);
  }

  /** Numbers and visitors of a day are those of its quarter hours. Its lists are counted anew with the whole of it. */
  #replaceDay(scope: number, side: number | undefined, day: number): void {
    const quarters = this.#main
      .query<BucketRow, [number, number, number]>(`
        SELECT clicks, bots, suspicious, visitors FROM quarters WHERE scope = ? AND start >= ? AND start < ?`)
      .all(scope, day, day + grainMs.day);
    if (quarters.length === 0) {
      this.#main.query('DELETE FROM days WHERE scope = ? AND start = ?').run(scope, day);
      return;
    }
    const visitors = new Sketch();
    for (const quarter of quarters) visitors.merge(Sketch.from(quarter.visitors));
    const sum = (field: 'clicks' | 'bots' | 'suspicious'): number =>
      quarters.reduce((total, quarter) => total + quarter[field], 0);
    const here = dimensionsOf(this.#main, scope, day);
    const aside = side === undefined ? undefined : dimensionsOf(this.#scratch.database, side, day);
    const dimensions = (isWholeDay(this.#span, day) ? aside : (here ?? aside)) ?? '{}';
    this.#main
      .query(`
        INSERT OR REPLACE INTO days (scope, start, clicks, bots, suspicious, visitors, dimensions)
        VALUES (?, ?, ?, ?, ?, ?, ?)`)
      .run(scope, day, sum('clicks'), sum('bots'), sum('suspicious'), visitors.toBytes(), dimensions);
  }

  #addUp(scope: number): void {
    const sum = (field: string): string =>
      `${field} = (SELECT coalesce(sum(${field}), 0) FROM days WHERE scope = ?1)`;
    this.#main
      .query(`UPDATE scopes SET ${['clicks', 'bots', 'suspicious'].map(sum).join(', ')} WHERE id = ?1`)
      .run(scope);
  }

  /**
   * What the ledger says of skipped and repeated numbers stays: an hour of the stream does not tell what came before it.
   * What a link lost by a deletion meanwhile counts as deleted.
   */
  #replaceHours(deleted: ReadonlySet<string>): void {
    const { from, to } = this.#span;
    this.#main.query('UPDATE ledger SET counted = 0 WHERE hour >= ? AND hour < ?').run(from, to);
    const write = this.#main.query(`
      INSERT INTO ledger (hour, producer, counted, skipped, duplicates) VALUES (?1, ?2, ?3, 0, 0)
      ON CONFLICT (hour, producer) DO UPDATE SET counted = ?3`);
    for (const { hour, producer, clicks } of this.#scratch.hoursOfProducers.values())
      write.run(hour, producer, clicks);
    this.#main
      .query('DELETE FROM ledger WHERE hour >= ? AND hour < ? AND counted + skipped + duplicates = 0')
      .run(from, to);
    this.#main.query('DELETE FROM forgotten_hours WHERE hour >= ? AND hour < ?').run(from, to);
    const forgotten = new Map<number, number>();
    const add = (hour: number, clicks: number): void =>
      void forgotten.set(hour, (forgotten.get(hour) ?? 0) + clicks);
    for (const { hour, clicks } of this.#scratch.database
      .query<HourRow, []>('SELECT hour, clicks FROM forgotten_hours')
      .all())
      add(hour, clicks);
    for (const code of deleted) {
      for (const { hour, clicks } of hoursOfScope(this.#scratch.database, code, this.#span))
        add(hour, clicks);
      for (const { hour, clicks } of hoursOfScope(this.#main, code, this.#span)) add(hour, -clicks);
    }
    const note = this.#main.query('INSERT INTO forgotten_hours (hour, clicks) VALUES (?, ?)');
    for (const [hour, clicks] of forgotten) if (clicks > 0) note.run(hour, clicks);
  }
}

interface ScopeRow {
  readonly id: number;
  readonly name: string;
  readonly last_at: number;
  readonly owner: string | null;
}

interface BucketRow {
  readonly clicks: number;
  readonly bots: number;
  readonly suspicious: number;
  readonly visitors: Uint8Array;
}

interface HourRow {
  readonly hour: number;
  readonly clicks: number;
}

function hoursOfScope(database: Database, name: string, { from, to }: TimeSpan): HourRow[] {
  return database
    .query<HourRow, [string, number, number]>(`
      SELECT start - start % 3600000 AS hour, sum(quarters.clicks + quarters.bots) AS clicks
      FROM quarters JOIN scopes ON scopes.id = scope
      WHERE name = ? AND start >= ? AND start < ? GROUP BY 1`)
    .all(name, from, to);
}

function dimensionsOf(database: Database, scope: number, day: number): string | undefined {
  return database
    .query<{ dimensions: string }, [number, number]>(
      'SELECT dimensions FROM days WHERE scope = ? AND start = ?',
    )
    .get(scope, day)?.dimensions;
}

/** Every scope that has anything within the stretch. Days count only as a whole: of others, quarter hours tell. */
function scopesWithin(database: Database, span: TimeSpan): Set<number> {
  const found = new Set<number>();
  for (const [table, from, to] of [
    ['minutes', span.from, span.to],
    ['quarters', span.from, span.to],
    ...daysOf(span)
      .filter(day => isWholeDay(span, day))
      .map(day => ['days', day, day + 1] as const),
  ] as const) {
    const rows = database.query<{ scope: number }, [number, number]>(
      `SELECT scope FROM ${table} WHERE start >= ? AND start < ?`,
    );
    for (const { scope } of rows.iterate(from, to)) found.add(scope);
  }
  return found;
}

function readPositions(database: Database): Map<string, number> {
  const rows = database.query<{ partition: string; position: number }, []>('SELECT * FROM positions').all();
  return new Map(rows.map(({ partition, position }) => [partition, position]));
}

function readMarks(database: Database): Marks {
  const rows = database.query<{ code: string; at: number }, []>('SELECT code, at FROM forgotten').all();
  return new Map(rows.map(({ code, at }) => [code, at]));
}

function changedSince(before: Marks, now: Marks): Set<string> {
  return new Set([...now].filter(([code, at]) => before.get(code) !== at).map(([code]) => code));
}
