/**
 * Recounts whole days. The long part, reading the log and counting into a separate file, is done while counting
 * continues; the rest is one transaction, in which the replay first catches up with what was counted until then. So
 * nothing is lost or counted twice, and a crash leaves the old numbers.
 *
 * A link whose clicks are deleted meanwhile is left as the deletion left it.
 */
import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { withBusyRetry } from '../../../engines/sqlite/database.ts';
import { migrate } from '../../../engines/sqlite/migrations.ts';
import { addToDeltas, type Deltas } from '../../aggregate.ts';
import { clicksAt } from '../../click.ts';
import type { PickedClicks, SpanReplay, TimeSpan } from '../../replay.ts';
import { createHours, prepareCounting } from './count.ts';
import { warehouseMigrations } from './schema.ts';

/** How often a replay catches up with the counting threads before it makes them wait. */
const roundsMax = 5;
/** Counted in one go: more clicks of a link in a minute are one change to its row. */
const clicksAtOnce = 50_000;
const bucketColumns = ['start', 'clicks', 'bots', 'suspicious', 'visitors'] as const;
const countTables = {
  minutes: bucketColumns,
  quarters: bucketColumns,
  days: [...bucketColumns, 'dimensions'],
} as const;

/** By code, the time before which its clicks were deleted. */
type Deletions = ReadonlyMap<string, number>;

/** `replay` covers whole days. */
export async function recountDays(database: Database, replay: SpanReplay): Promise<void> {
  const deletedBefore = readDeletions(database);
  const scratch = new ScratchCounts(`${database.filename}.repair`, deletedBefore);
  try {
    for (let round = 0; round < roundsMax && !replay.hasReached(readPositions(database)); round += 1)
      await scratch.add(replay.upTo(readPositions(database)));
    // Before anything waits for the lock, because it looks at every row; scopes counted since are in the scratch counts.
    const counted = scopesIn(database, replay.span);
    withBusyRetry(() => database.run('BEGIN IMMEDIATE'));
    try {
      await scratch.add(replay.upTo(readPositions(database)));
      await replay.requireKept();
      const deleted = changedSince(deletedBefore, readDeletions(database));
      replaceCounts(database, scratch.database, { span: replay.span, counted, deleted });
      replaceLedger(database, replay);
      replaceForgottenHours(database, scratch.database, replay.span, deleted);
      database.run('COMMIT');
    } catch (error) {
      if (database.inTransaction) database.run('ROLLBACK');
      throw error;
    }
  } finally {
    scratch.close();
  }
}

/** Replaces the rows of all scopes but the deleted links, and adds up the totals again. */
function replaceCounts(
  main: Database,
  scratch: Database,
  { span, counted, deleted }: { span: TimeSpan; counted: readonly number[]; deleted: ReadonlySet<string> },
): void {
  const { from, to } = span;
  const changed = new Set<number>();
  const idsByName = new Map<string, number>();
  const makeScope = main.query<{ id: number }, [string, number, string | null]>(`
    INSERT INTO scopes (name, clicks, bots, last_at, owner) VALUES (?1, 0, 0, ?2, ?3)
    ON CONFLICT (name) DO UPDATE SET last_at = max(last_at, ?2), owner = ?3 RETURNING id`);
  for (const { name, last_at, owner } of scratch
    .query<{ name: string; last_at: number; owner: string | null }, []>(
      'SELECT name, last_at, owner FROM scopes',
    )
    .iterate()) {
    if (!deleted.has(name)) idsByName.set(name, makeScope.get(name, last_at, owner)!.id);
  }
  const scopes = new Set([...counted, ...idsByName.values()]);
  const scopeOf = main.query<{ id: number }, [string]>('SELECT id FROM scopes WHERE name = ?');
  for (const name of deleted) scopes.delete(scopeOf.get(name)?.id ?? -1);
  for (const [table, columns] of Object.entries(countTables)) {
    const remove = main.query(`DELETE FROM ${table} WHERE scope = ? AND start >= ? AND start < ?`);
    for (const scope of scopes) if (remove.run(scope, from, to).changes > 0) changed.add(scope);
    const insert = main.query(
      `INSERT INTO ${table} (scope, ${columns.join(', ')}) VALUES (${['scope', ...columns].fill('?').join(', ')})`,
    );
    const recounted = scratch.query<Record<string, string | number | Uint8Array>, []>(`
      SELECT scopes.name, ${columns.map(column => `${table}.${column}`).join(', ')}
      FROM ${table} JOIN scopes ON scopes.id = scope`);
    for (const row of recounted.iterate()) {
      const scope = idsByName.get(String(row.name));
      if (scope === undefined) continue;
      insert.run(scope, ...columns.map(column => row[column]!));
      changed.add(scope);
    }
  }
  const sum = (field: string): string =>
    `${field} = (SELECT coalesce(sum(${field}), 0) FROM days WHERE scope = ?1)`;
  const addUp = main.query(
    `UPDATE scopes SET ${['clicks', 'bots', 'suspicious'].map(sum).join(', ')} WHERE id = ?1`,
  );
  for (const scope of changed) addUp.run(scope);
}

function scopesIn(database: Database, { from, to }: TimeSpan): number[] {
  const ofTables = Object.keys(countTables).map(
    table => `SELECT scope FROM ${table} WHERE start >= ?1 AND start < ?2`,
  );
  return database
    .query<{ scope: number }, [number, number]>(ofTables.join(' UNION '))
    .all(from, to)
    .map(({ scope }) => scope);
}

/** Skipped and repeated numbers stay as they are: a day of the log does not show what came before it. */
function replaceLedger(main: Database, { span: { from, to }, hours }: SpanReplay): void {
  main.query('UPDATE ledger SET counted = 0 WHERE hour >= ? AND hour < ?').run(from, to);
  const write = main.query(`
    INSERT INTO ledger (hour, producer, counted, skipped, duplicates) VALUES (?1, ?2, ?3, 0, 0)
    ON CONFLICT (hour, producer) DO UPDATE SET counted = ?3`);
  for (const { hour, producer, clicks } of hours) write.run(hour, producer, clicks);
  main
    .query('DELETE FROM ledger WHERE hour >= ? AND hour < ? AND counted + skipped + duplicates = 0')
    .run(from, to);
}

/** What a link lost by a deletion during the recount counts as deleted. */
function replaceForgottenHours(
  main: Database,
  scratch: Database,
  span: TimeSpan,
  deleted: ReadonlySet<string>,
): void {
  main.query('DELETE FROM forgotten_hours WHERE hour >= ? AND hour < ?').run(span.from, span.to);
  const forgotten = new Map<number, number>();
  const add = (rows: readonly HourRow[], sign = 1): void => {
    for (const { hour, clicks } of rows) forgotten.set(hour, (forgotten.get(hour) ?? 0) + sign * clicks);
  };
  add(scratch.query<HourRow, []>('SELECT hour, clicks FROM forgotten_hours').all());
  for (const code of deleted) {
    add(hoursOfScope(scratch, code, span));
    add(hoursOfScope(main, code, span), -1);
  }
  const insert = main.query('INSERT INTO forgotten_hours (hour, clicks) VALUES (?, ?)');
  for (const [hour, clicks] of forgotten) if (clicks > 0) insert.run(hour, clicks);
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

function readPositions(database: Database): Map<string, number> {
  const rows = database.query<{ partition: string; position: number }, []>('SELECT * FROM positions').all();
  return new Map(rows.map(({ partition, position }) => [partition, position]));
}

function readDeletions(database: Database): Deletions {
  const rows = database.query<{ code: string; at: number }, []>('SELECT code, at FROM forgotten').all();
  return new Map(rows.map(({ code, at }) => [code, at]));
}

function changedSince(before: Deletions, now: Deletions): Set<string> {
  return new Set([...now].filter(([code, at]) => before.get(code) !== at).map(([code]) => code));
}

/**
 * A separate warehouse file for the clicks of a recount. Nothing of it has to survive: it has no journal, and the next
 * recount removes what a crash leaves of it.
 */
class ScratchCounts {
  readonly database: Database;
  readonly #path: string;
  readonly #forgottenBefore: (code: string) => number;
  readonly #count: (deltas: Deltas) => void;
  readonly #hours: ReturnType<typeof createHours>;

  constructor(path: string, deletions: Deletions) {
    rmSync(path, { force: true });
    this.#path = path;
    this.#forgottenBefore = code => deletions.get(code) ?? 0;
    this.database = new Database(path, { create: true, readwrite: true, strict: true });
    this.database.run('PRAGMA journal_mode = OFF');
    this.database.run('PRAGMA synchronous = OFF');
    migrate(this.database, warehouseMigrations);
    const insert = this.database.query('INSERT INTO forgotten VALUES (?, ?)');
    for (const [code, at] of deletions) insert.run(code, at);
    this.#count = prepareCounting(this.database);
    this.#hours = createHours(this.database);
  }

  async add(pieces: AsyncIterable<readonly PickedClicks[]>): Promise<void> {
    let held: PickedClicks[] = [];
    let heldClicks = 0;
    for await (const piece of pieces) {
      for (const picked of piece) {
        held.push(picked);
        heldClicks += picked.rows.length;
        if (heldClicks < clicksAtOnce) continue;
        this.#countAll(held);
        [held, heldClicks] = [[], 0];
      }
    }
    this.#countAll(held);
  }

  close(): void {
    this.database.close();
    rmSync(this.#path, { force: true });
  }

  #countAll(clicks: readonly PickedClicks[]): void {
    const deltas: Deltas = new Map();
    this.database.run('BEGIN');
    for (const picked of clicks) {
      const batch = clicksAt(picked.batch, picked.rows);
      addToDeltas(deltas, batch, { forgottenBefore: this.#forgottenBefore });
      this.#hours.noteCounted(batch, this.#forgottenBefore);
    }
    this.#count(deltas);
    this.database.run('COMMIT');
  }
}
