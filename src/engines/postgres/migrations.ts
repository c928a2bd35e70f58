/**
 * Versioned schema changes. Each component (links, accounts, …) owns an append-only list; a database remembers per
 * component how many it has run. Each step is one transaction under one advisory lock, so when several processes start
 * at once the second finds the step done.
 *
 * Steps must be quick on large tables. Adding a table is; adding a column is, with or without a constant default.
 * Building an index on a table that has rows is not: it would stop all writes to it. Such a step has to be made outside
 * of a transaction (CREATE INDEX CONCURRENTLY), which this runner will learn when the first one is needed. A step waits
 * for a table's lock for a short while only, because everyone who comes later waits behind it.
 */
import { Problem } from '../../base/errors.ts';
import { stateOf } from './failures.ts';
import type { Postgres, PostgresTransaction } from './postgres.ts';

export interface MigrationSet {
  readonly component: string;
  /** Never edit or reorder a released step; append the next one. */
  readonly steps: readonly string[];
}

/** Of advisory locks: the first number says that a lock is Terse's, and for what. */
const migrationLock = [0x7e25e, 1] as const;
const stepMaxMs = 60_000;
const tableLockMaxMs = 2_000;
/** How often a step is tried whose table is locked by somebody else. */
const lockAttemptsMax = 15;
const lockNotAvailable = '55P03';
const undefinedTable = '42P01';

/** What was done, in lines for whoever set it up; none when everything was there. */
export async function runMigrations(postgres: Postgres, sets: readonly MigrationSet[]): Promise<string[]> {
  // Most often there is nothing to do, and then nobody's lock is in the way.
  const versions = await versionsIn(postgres).catch(error => {
    if (stateOf(error) === undefinedTable) return new Map<string, number>();
    throw error;
  });
  const done: string[] = [];
  for (const set of sets) {
    if (versions.get(set.component) === set.steps.length) continue;
    let steps = 0;
    while (await runNextStep(postgres, set)) steps += 1;
    if (steps > 0) done.push(`brought the tables of ${set.component} to version ${set.steps.length}`);
  }
  return done;
}

/** False when there was none. */
async function runNextStep(postgres: Postgres, set: MigrationSet): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await postgres.transaction(tx => nextStep(tx, set), { deadlineMs: stepMaxMs });
    } catch (error) {
      const isLocked = error instanceof Problem && stateOf(error.cause) === lockNotAvailable;
      if (!isLocked || attempt === lockAttemptsMax) throw error;
    }
  }
}

async function nextStep(tx: PostgresTransaction, { component, steps }: MigrationSet): Promise<boolean> {
  await tx.query(`SET LOCAL statement_timeout = ${stepMaxMs}`);
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', migrationLock);
  await tx.query(`SET LOCAL lock_timeout = ${tableLockMaxMs}`);
  await tx.query(
    'CREATE TABLE IF NOT EXISTS migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL)',
  );
  const version = (await versionsIn(tx)).get(component) ?? 0;
  if (version > steps.length) {
    throw new Error(
      `the database was written by a newer Terse: its ${component} schema is version ${version}, this one knows ${steps.length}`,
    );
  }
  const step = steps[version];
  if (step === undefined) return false;
  await tx.query(step);
  await tx.query(
    `INSERT INTO migrations (component, version) VALUES ($1, $2)
     ON CONFLICT (component) DO UPDATE SET version = excluded.version`,
    [component, version + 1],
  );
  return true;
}

async function versionsIn(tx: PostgresTransaction): Promise<Map<string, number>> {
  const rows = await tx.query<{ component: string; version: number }>(
    'SELECT component, version FROM migrations',
  );
  return new Map(rows.map(({ component, version }) => [component, version]));
}
