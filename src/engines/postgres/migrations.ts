/**
 * Versioned schema changes. Each component (links, accounts, …) owns an append-only list; a database remembers per
 * component how many it has run. Each step is one transaction under one advisory lock, so when several processes start
 * at once the second finds the step done.
 *
 * Steps must be quick on large tables. Adding a table is; adding a column is, with or without a constant default.
 * Building an index on a table that has rows is not: it would stop all writes to it. Such a step has to be made outside
 * of a transaction (CREATE INDEX CONCURRENTLY), which this runner will learn when the first one is needed. A step waits
 * for a table's lock for a short while only, because every later transaction waits behind it.
 */
import { Problem } from '../../base/errors.ts';
import { stateOf } from './failures.ts';
import type { Postgres, PostgresTransaction } from './postgres.ts';

export interface MigrationSet {
  readonly component: string;
  /** Never edit or reorder a released step; append the next one. */
  readonly steps: readonly string[];
  /** Columns that a table of the component must have, from a table of fields: those that it lacks are added. */
  readonly columns?: { readonly table: string; readonly definitions: readonly ColumnDefinition[] };
}

export interface ColumnDefinition {
  readonly name: string;
  /** Its type and constant default. */
  readonly definition: string;
}

/** Of advisory locks: the first number says that a lock is Terse's, and for what. */
const migrationLock = [0x7e25e, 1] as const;
const stepMaxMs = 60_000;
const tableLockMaxMs = 2_000;
/** How often a step is tried whose table is locked by another transaction. */
const lockAttemptsMax = 15;
const lockNotAvailable = '55P03';
const undefinedTable = '42P01';

/** Adds what was done to `done`, in lines for the operator, and returns it; none when everything was there. */
export async function runMigrations(
  postgres: Postgres,
  sets: readonly MigrationSet[],
  done: string[] = [],
): Promise<string[]> {
  // Most often there is nothing to do, and then no lock is needed.
  const versions = await versionsIn(postgres).catch(error => {
    if (stateOf(error) === undefinedTable) return new Map<string, number>();
    throw error;
  });
  for (const set of sets) {
    if (versions.get(set.component) !== set.steps.length) await runSteps(postgres, set, done);
    await addMissingColumns(postgres, set, done);
  }
  return done;
}

async function runSteps(postgres: Postgres, set: MigrationSet, done: string[]): Promise<void> {
  let reached: number | undefined;
  try {
    for (;;) {
      const next = await runNextStep(postgres, set);
      if (next === undefined) break;
      reached = next;
    }
  } finally {
    // Each step stays when a later one fails.
    if (reached !== undefined) done.push(`brought the tables of ${set.component} to version ${reached}`);
  }
}

async function addMissingColumns(
  postgres: Postgres,
  { columns, component }: MigrationSet,
  done: string[],
): Promise<void> {
  if (columns === undefined || (await missingColumns(postgres, columns)).length === 0) return;
  const added = await runLocked(postgres, async tx => {
    const missing = await missingColumns(tx, columns);
    for (const { name, definition } of missing)
      await tx.query(`ALTER TABLE ${columns.table} ADD COLUMN ${name} ${definition}`);
    return missing;
  });
  done.push(...added.map(({ name }) => `added the column ${name} to the tables of ${component}`));
}

async function missingColumns(
  { query }: Pick<PostgresTransaction, 'query'>,
  { table, definitions }: NonNullable<MigrationSet['columns']>,
): Promise<ColumnDefinition[]> {
  const rows = await query<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped',
    [table],
  );
  const present = new Set(rows.map(({ name }) => name));
  return definitions.filter(({ name }) => !present.has(name));
}

/** The version that it led to; undefined when there was none. */
const runNextStep = (postgres: Postgres, set: MigrationSet): Promise<number | undefined> =>
  runLocked(postgres, tx => nextStep(tx, set));

/** One process at a time, waiting for a table's lock for a short while only. */
async function runLocked<Result>(
  postgres: Postgres,
  work: (tx: PostgresTransaction) => Promise<Result>,
): Promise<Result> {
  const run = async (tx: PostgresTransaction): Promise<Result> => {
    await tx.query(`SET LOCAL statement_timeout = ${stepMaxMs}`);
    await tx.query('SELECT pg_advisory_xact_lock($1, $2)', migrationLock);
    await tx.query(`SET LOCAL lock_timeout = ${tableLockMaxMs}`);
    return work(tx);
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await postgres.transaction(run, { deadlineMs: stepMaxMs });
    } catch (error) {
      const isLocked = error instanceof Problem && stateOf(error.cause) === lockNotAvailable;
      if (!isLocked || attempt === lockAttemptsMax) throw error;
    }
  }
}

async function nextStep(
  tx: PostgresTransaction,
  { component, steps }: MigrationSet,
): Promise<number | undefined> {
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
  if (step === undefined) return undefined;
  await tx.query(step);
  await tx.query(
    `INSERT INTO migrations (component, version) VALUES ($1, $2)
     ON CONFLICT (component) DO UPDATE SET version = excluded.version`,
    [component, version + 1],
  );
  return version + 1;
}

async function versionsIn(tx: PostgresTransaction): Promise<Map<string, number>> {
  const rows = await tx.query<{ component: string; version: number }>(
    'SELECT component, version FROM migrations',
  );
  return new Map(rows.map(({ component, version }) => [component, version]));
}
