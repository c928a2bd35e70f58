/**
 * Versioned schema changes. Each component owns an append-only list; a database remembers per component how many it has
 * run. ClickHouse has neither transactions nor locks for this, so every statement must be one that can be run again, and
 * by two at once (`IF NOT EXISTS`, `IF EXISTS`): when several processes start together, all of them may run a step, and
 * the version is noted only after the whole of it.
 *
 * Where everything is there, nothing is made: whoever only uses it needs no permission to.
 */
import type { ClickHouse } from './clickhouse.ts';
import { isUnknownTable } from './failures.ts';
import { quoted } from './text.ts';

export interface MigrationSet {
  readonly component: string;
  /** Never edit or reorder a released step; append the next one. A step is a list, because a request is a statement. */
  readonly steps: readonly (readonly string[])[];
}

const migrationsTable = `
  CREATE TABLE IF NOT EXISTS migrations (component String, version UInt32, at DateTime DEFAULT now())
  ENGINE = MergeTree ORDER BY component`;

/** What was done, in lines for whoever set it up; none when everything was there. */
export async function runMigrations(
  clickHouse: ClickHouse,
  { component, steps }: MigrationSet,
): Promise<string[]> {
  await clickHouse.ensureDatabase();
  const done = await versionOf(clickHouse, component);
  if (done > steps.length) {
    throw new Error(
      `the database was written by a newer Terse: its ${component} schema is version ${done}, this one knows ${steps.length}`,
    );
  }
  if (done === steps.length) return [];
  await clickHouse.run(migrationsTable);
  for (const [index, statements] of [...steps.entries()].slice(done)) {
    for (const statement of statements) await clickHouse.run(statement);
    const body = JSON.stringify({ component, version: index + 1 });
    await clickHouse.insert({ table: 'migrations', format: 'JSONEachRow', body });
  }
  return [`brought the tables of ${component} to version ${steps.length}`];
}

/** As many steps as the database has seen, and none where there is no table that would tell. */
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
