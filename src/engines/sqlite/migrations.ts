/**
 * Versioned schema changes. Each component (links, accounts, …) owns an append-only list; a database
 * remembers per component how many it has run. One immediate transaction per step makes it safe when several
 * processes start at once: the second finds the step done. Steps must be quick on large tables: adding a
 * table is, adding a column is unless the table is STRICT (every row is checked), building an index is not.
 */
import type { Database } from 'bun:sqlite';
import { withBusyRetry } from './database.ts';

export interface MigrationSet {
  readonly component: string;
  /** Never edit or reorder a released step; append the next one. A function gets the names of the tables there are. */
  readonly steps: readonly (string | ((tables: ReadonlySet<string>) => string[]))[];
  /** Columns that a table of the component must have, from a table of fields: those that it lacks are added. */
  readonly columns?: { readonly table: string; readonly definitions: readonly ColumnDefinition[] };
}

export interface ColumnDefinition {
  readonly name: string;
  /** Its type and constant default. */
  readonly definition: string;
}

export function migrate(database: Database, set: MigrationSet): void {
  runSteps(database, set);
  const { columns } = set;
  if (columns === undefined || missingColumns(database, columns).length === 0) return;
  withBusyRetry(() =>
    database
      .transaction(() => {
        for (const { name, definition } of missingColumns(database, columns))
          database.run(`ALTER TABLE ${columns.table} ADD COLUMN ${name} ${definition}`);
      })
      .immediate(),
  );
}

function missingColumns(
  database: Database,
  { table, definitions }: NonNullable<MigrationSet['columns']>,
): ColumnDefinition[] {
  const rows = database.query<{ name: string }, []>(`PRAGMA table_info(${table})`).all();
  const present = new Set(rows.map(({ name }) => name));
  return definitions.filter(({ name }) => !present.has(name));
}

function tablesIn(database: Database): ReadonlySet<string> {
  const rows = database.query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'");
  return new Set(rows.all().map(({ name }) => name));
}

function runSteps(database: Database, set: MigrationSet): void {
  withBusyRetry(() =>
    database.run(
      'CREATE TABLE IF NOT EXISTS migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT',
    ),
  );
  const readVersion = database.query<{ version: number }, [string]>(
    'SELECT version FROM migrations WHERE component = ?',
  );
  // Most often there is nothing to do, and then no lock is needed.
  if (readVersion.get(set.component)?.version === set.steps.length) return;
  for (;;) {
    const done = withBusyRetry(() => {
      database.run('BEGIN IMMEDIATE');
      try {
        const version = readVersion.get(set.component)?.version ?? 0;
        if (version > set.steps.length) {
          throw new Error(
            `the data folder was written by a newer Terse: its ${set.component} schema is version ${version}, this one knows ${set.steps.length}`,
          );
        }
        const step = set.steps[version];
        if (step !== undefined) {
          const statements = typeof step === 'string' ? [step] : step(tablesIn(database));
          for (const statement of statements) database.run(statement);
          database.run(
            'INSERT INTO migrations (component, version) VALUES (?1, ?2) ON CONFLICT (component) DO UPDATE SET version = ?2',
            [set.component, version + 1],
          );
        }
        database.run('COMMIT');
        return step === undefined;
      } catch (error) {
        if (database.inTransaction) database.run('ROLLBACK');
        throw error;
      }
    });
    if (done) return;
  }
}
