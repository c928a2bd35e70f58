/**
 * Versioned schema changes. Each component owns an append-only list; a database remembers per component how many it has
 * run. ClickHouse has neither transactions nor locks for this, so every statement must be one that can be run again,
 * and by two at once (`IF NOT EXISTS`, `IF EXISTS`): when several processes start together, all of them may run a step,
 * and the version is noted only after the whole of it.
 *
 * Where everything exists, nothing is created: a user that only uses it needs no permission to.
 */
import { type ClickHouse, isUnknownTable, quoted } from './clickhouse.ts';

export interface MigrationSet {
  readonly component: string;
  /** Never edit or reorder a released step; append the next one. A step is a list, because a request is a statement. */
  readonly steps: readonly (readonly string[])[];
}

const migrationsTable = `
  CREATE TABLE IF NOT EXISTS migrations (component String, version UInt32, at DateTime DEFAULT now())
  ENGINE = MergeTree ORDER BY component`;

/** Adds what was done to `done`, in lines for the operator, and returns it; none when everything was there. */
export async function runMigrations(
  clickHouse: ClickHouse,
  { component, steps }: MigrationSet,
  done: string[] = [],
): Promise<string[]> {
  await clickHouse.ensureDatabase();
  const from = await versionOf(clickHouse, component);
  if (from > steps.length) {
    throw new Error(
      `the database was written by a newer Terse: its ${component} schema is version ${from}, this one knows ${steps.length}`,
    );
  }
  if (from === steps.length) return done;
  await clickHouse.run(migrationsTable);
  let version = from;
  try {
    for (const statements of steps.slice(from)) {
      for (const statement of statements) await clickHouse.run(statement);
      const body = JSON.stringify({ component, version: version + 1 });
      await clickHouse.insert({ table: 'migrations', format: 'JSONEachRow', body });
      version += 1;
    }
  } finally {
    // Each step stays when a later one fails.
    if (version > from) done.push(`brought the tables of ${component} to version ${version}`);
  }
  return done;
}

/** How many steps the database has run; none where the version table does not exist. */
export async function versionOf(clickHouse: ClickHouse, component: string): Promise<number> {
  try {
    const [row] = await clickHouse.rows<{ version: number }>(
      `SELECT max(version) AS version FROM migrations WHERE component = ${quoted(component)}`,
    );
    return row?.version ?? 0;
  } catch (error) {
    if (isUnknownTable(error)) return 0;
    throw error;
  }
}
