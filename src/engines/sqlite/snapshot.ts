/**
 * A copy of a database as it was at one moment, made while others write to it, and sums of what every table holds.
 *
 * Copying and summing happen inside one read transaction, so both speak of the same moment: a copy that adds up to the
 * same sums is the database of that moment. SQLite's own ways of copying (its backup interface, VACUUM INTO) cannot say
 * what they read, only what they wrote. No writer waits meanwhile, but the write-ahead log cannot be emptied; therefore
 * indexes are built after the transaction, out of the copy alone.
 */
import { Database } from 'bun:sqlite';
import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { isBusy } from './database.ts';

/** What a table holds, so that two databases can be compared without being side by side. */
export interface TableSum {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 over all rows in the order of their keys. */
  readonly sha256: string;
}

interface SchemaObject {
  readonly type: 'table' | 'index' | 'trigger' | 'view';
  readonly name: string;
  readonly sql: string;
}

/** The sum of the definitions of all tables, indexes and triggers goes by this name. */
const schemaName = 'sqlite_schema';
/** Where SQLite remembers which keys it gave; they must not be given again. */
const sequenceName = 'sqlite_sequence';
const busyMs = 5_000;
/** Rows are hashed many at a time. */
const hashedCharactersMin = 64 * 1024;

/** Copies into a new file, which is on the disk when this returns. */
export function copySnapshot(from: string, to: string): TableSum[] {
  // A file that is there already would be added to; the database is attached only if there is a file.
  writeFileSync(to, '', { flag: 'wx', mode: 0o600 });
  const database = new Database(from, { readwrite: true, strict: true });
  try {
    database.run(`PRAGMA busy_timeout = ${busyMs}`);
    database.run('PRAGMA foreign_keys = OFF');
    database.query('ATTACH ? AS copy').run(to);
    // It counts for nothing before it is whole, and is synced at the end.
    database.run('PRAGMA copy.synchronous = OFF');
    const { sums, later } = copyTables(database);
    for (const { sql } of later) database.run(sql.replace(/^CREATE (UNIQUE INDEX|\w+) /, 'CREATE $1 copy.'));
    return sums;
  } finally {
    database.close();
    syncFile(to);
  }
}

function copyTables(database: Database): { sums: TableSum[]; later: SchemaObject[] } {
  database.run('BEGIN');
  try {
    const objects = schemaOf(database);
    const tables = objects.filter(({ type }) => type === 'table');
    for (const { name, sql } of tables) {
      database.run(sql.replace(/^CREATE TABLE /, 'CREATE TABLE copy.'));
      database.run(`INSERT INTO copy.${quoted(name)} SELECT * FROM main.${quoted(name)}`);
    }
    if (hasSequence(database)) {
      database.run(`DELETE FROM copy.${sequenceName}`);
      database.run(`INSERT INTO copy.${sequenceName} SELECT * FROM main.${sequenceName}`);
    }
    const sums = tableSums(database);
    database.run('COMMIT');
    return { sums, later: objects.filter(({ type }) => type !== 'table') };
  } catch (error) {
    if (database.inTransaction) database.run('ROLLBACK');
    throw error;
  }
}

/** What is wrong with a copy; undefined when it is sound and holds exactly what the sums say. */
export function damageOf(path: string, expected: readonly TableSum[]): string | undefined {
  const database = new Database(path, { readonly: true, strict: true });
  try {
    const verdicts = database.query<{ integrity_check: string }, []>('PRAGMA integrity_check(1)').all();
    const verdict = verdicts.find(({ integrity_check }) => integrity_check !== 'ok');
    // A line that says in which database comes first.
    if (verdict !== undefined) return verdict.integrity_check.split('\n').at(-1);
    const found = new Map(tableSums(database).map(sum => [sum.table, sum]));
    const differing = expected.find(({ table, sha256 }) => found.get(table)?.sha256 !== sha256);
    if (differing !== undefined) return `${differing.table} does not hold what it did`;
    return found.size === expected.length ? undefined : 'there are tables that were not there';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    database.close();
  }
}

/** Whether another process has the database open. */
export function isInUse(path: string): boolean {
  const database = new Database(path, { readwrite: true, strict: true });
  try {
    database.run('PRAGMA busy_timeout = 0');
    // A process that has a database with a write-ahead log open holds a shared lock on it until it closes it.
    database.run('PRAGMA locking_mode = EXCLUSIVE');
    database.query('SELECT 1 FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

function tableSums(database: Database): TableSum[] {
  const objects = schemaOf(database);
  const tables = objects.filter(({ type }) => type === 'table').map(({ name }) => name);
  if (hasSequence(database)) tables.push(sequenceName);
  return [
    sumOf(
      schemaName,
      objects.map(({ type, name, sql }) => `${type} ${name} ${sql}`),
    ),
    ...tables.map(table => sumOf(table, rowsOf(database, table))),
  ];
}

function sumOf(table: string, texts: Iterable<string>): TableSum {
  const hash = new Bun.CryptoHasher('sha256');
  let rows = 0;
  let waiting = '';
  for (const text of texts) {
    rows += 1;
    waiting += `${text}\n`;
    if (waiting.length < hashedCharactersMin) continue;
    hash.update(waiting);
    waiting = '';
  }
  return { table, rows, sha256: hash.update(waiting).digest('hex') };
}

/** Each row as SQL literals, in which no number or byte is rounded; not by an index, whose order may be another. */
function* rowsOf(database: Database, table: string): Generator<string> {
  const columns = database
    .query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map(({ name }) => `quote(${quoted(name)})`);
  const rows = database.query<{ text: string }, []>(
    `SELECT concat_ws(',', ${columns.join(', ')}) AS text FROM main.${quoted(table)} NOT INDEXED`,
  );
  for (const { text } of rows.iterate()) yield text;
}

function schemaOf(database: Database): SchemaObject[] {
  return database
    .query<SchemaObject, []>(
      `SELECT type, name, sql FROM main.sqlite_schema
      WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name`,
    )
    .all();
}

function hasSequence(database: Database): boolean {
  return database.query(`SELECT 1 FROM main.sqlite_schema WHERE name = '${sequenceName}'`).get() !== null;
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
