/** Reads the data folder directly, to compare Terse's answers with what is stored. */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';

export function databasePath(dataFolder: string): string {
  return join(dataFolder, 'terse.db');
}

/** The rows of one query on the embedded database, from a connection that cannot change it. */
export function rowsOf<Row>(dataFolder: string, query: string): Row[] {
  const database = new Database(databasePath(dataFolder), { readwrite: true, strict: true });
  try {
    database.run('PRAGMA busy_timeout = 5000');
    database.run('PRAGMA query_only = ON');
    return database.query<Row, []>(query).all();
  } finally {
    database.close();
  }
}

/** Describes damage: failed integrity checks and destinations that are stored twice. Empty when there is none. */
export function damageIn(dataFolder: string): string[] {
  const checks = rowsOf<{ integrity_check: string }>(dataFolder, 'PRAGMA integrity_check');
  const doubles = rowsOf<{ long_url: string }>(
    dataFolder,
    'SELECT long_url FROM links GROUP BY long_url HAVING count(*) > 1 LIMIT 10',
  );
  return [
    ...checks.map(row => row.integrity_check).filter(verdict => verdict !== 'ok'),
    ...doubles.map(row => `${row.long_url} is kept twice`),
  ];
}
