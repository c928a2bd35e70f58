import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForWriting } from './database.ts';
import { copySnapshot, damageOf, isInUse } from './snapshot.ts';

/** Much is synced, and a busy disk is no reason to fail. */
setDefaultTimeout(60_000);

let folder: string;
let source: Database;
let copy: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-snapshot-'));
  copy = join(folder, 'copy.db');
  source = openForWriting(join(folder, 'source.db'));
  source.run(`
    CREATE TABLE things (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, picture BLOB) STRICT;
    CREATE INDEX things_by_picture ON things (picture);
    CREATE TABLE pairs (one INTEGER, other TEXT, PRIMARY KEY (other, one)) STRICT, WITHOUT ROWID;
    CREATE TRIGGER pairs_stay BEFORE DELETE ON pairs BEGIN SELECT RAISE(ABORT, 'pairs stay'); END;
  `);
  source.run('BEGIN');
  for (let number = 0; number < 500; number += 1) {
    source
      .query('INSERT INTO things (name, picture) VALUES (?, ?)')
      .run(`thing ${number}`, new Uint8Array([number, 0]));
    source.query('INSERT INTO pairs VALUES (?, ?)').run(Number.MAX_SAFE_INTEGER - number, `o'${number}\n`);
  }
  source.run('COMMIT');
});
afterEach(() => {
  source.close();
  rmSync(folder, { recursive: true, force: true });
});

const copied = () => copySnapshot(join(folder, 'source.db'), copy);

/** Runs statements on the copy as damage or a stranger would. */
function alter(statements: string): void {
  using database = new Database(copy, { readwrite: true });
  database.run(statements);
}

const pageBytes = 4_096;

function rootPagesOf(...names: [string, string]): [number, number] {
  using database = new Database(copy, { readonly: true });
  const query = database.query<{ rootpage: number }, [string]>(
    'SELECT rootpage FROM sqlite_schema WHERE name = ?',
  );
  const [one, other] = names;
  return [query.get(one)!.rootpage, query.get(other)!.rootpage];
}

describe('a copy', () => {
  test('holds the same rows, indexes and triggers, and adds up to the same', () => {
    const sums = copied();
    expect(sums.map(({ table, rows }) => [table, rows])).toEqual([
      ['sqlite_schema', 4],
      ['pairs', 500],
      ['things', 500],
      ['sqlite_sequence', 1],
    ]);
    expect(damageOf(copy, sums)).toBeUndefined();
    using database = new Database(copy, { readonly: true });
    const schema = 'SELECT type, name, sql FROM sqlite_schema ORDER BY name';
    expect(database.query(schema).all()).toEqual(source.query(schema).all());
    const rows = 'SELECT * FROM things ORDER BY id';
    expect(database.query(rows).all()).toEqual(source.query(rows).all());
    expect(database.query('SELECT seq FROM sqlite_sequence').get()).toEqual({ seq: 500 });
  });

  test('gives no key again that the source has given, and leaves the source as it was', () => {
    source.run('DELETE FROM things WHERE id = 500');
    const sums = copied();
    expect(source.query('SELECT count(*) AS rows FROM things').get()).toEqual({ rows: 499 });
    expect(damageOf(copy, sums)).toBeUndefined();
    using database = new Database(copy, { readwrite: true });
    database.run("INSERT INTO things (name) VALUES ('next')");
    expect(database.query("SELECT id FROM things WHERE name = 'next'").get()).toEqual({ id: 501 });
  });

  test('has what was committed before it was begun, from the log as well, and nothing that is open', () => {
    source.run("INSERT INTO things (name) VALUES ('committed')");
    source.run("BEGIN IMMEDIATE; INSERT INTO things (name) VALUES ('open')");
    const sums = copied();
    source.run('ROLLBACK');
    expect(sums.find(({ table }) => table === 'things')?.rows).toBe(501);
    expect(damageOf(copy, sums)).toBeUndefined();
  });

  test('is never written over an existing file, and no other user can read it', () => {
    writeFileSync(copy, 'mine');
    expect(copied).toThrow('EEXIST');
    rmSync(copy);
    copied();
    expect(statSync(copy).mode & 0o777).toBe(0o600);
  });
});

describe('damage is found', () => {
  test.each([
    [
      'a row that differs',
      "UPDATE things SET name = 'other' WHERE id = 7",
      'things does not hold what it did',
    ],
    ['a number that differs by one', 'UPDATE pairs SET one = one - 1000', 'pairs does not hold what it did'],
    ['a row that is missing', 'DELETE FROM things WHERE id = 500', 'things does not hold what it did'],
    ['a trigger that is missing', 'DROP TRIGGER pairs_stay', 'sqlite_schema does not hold what it did'],
    [
      'a key that would be given again',
      'UPDATE sqlite_sequence SET seq = 1',
      'sqlite_sequence does not hold',
    ],
  ])('%s', (_what, statements, words) => {
    const sums = copied();
    alter(statements);
    expect(damageOf(copy, sums)).toContain(words);
  });

  test('bytes that are no database', () => {
    const sums = copied();
    writeFileSync(copy, 'x'.repeat(8192));
    expect(damageOf(copy, sums)).toBe('file is not a database');
  });

  test('an index whose pages are another’s', () => {
    const sums = copied();
    const [one, other] = rootPagesOf('things_by_picture', 'sqlite_autoindex_things_1');
    const bytes = readFileSync(copy);
    bytes.copy(bytes, (one - 1) * pageBytes, (other - 1) * pageBytes, other * pageBytes);
    writeFileSync(copy, bytes);
    expect(damageOf(copy, sums)).toMatch(/^Tree \d+ page \d+/);
  });
});

test('a database is in use while another process has it open', async () => {
  const path = join(folder, 'used.db');
  openForWriting(path).close();
  expect(isInUse(path)).toBe(false);
  const holder = Bun.spawn(
    [
      process.execPath,
      '-e',
      `const { openForReading } = await import(${JSON.stringify(join(import.meta.dir, 'database.ts'))});
      const database = openForReading(${JSON.stringify(path)});
      database.query('SELECT 1 FROM sqlite_schema').get();
      console.log('open');
      await Bun.sleep(60_000);`,
    ],
    { stdin: 'ignore', stdout: 'pipe' },
  );
  try {
    await holder.stdout.getReader().read();
    expect(isInUse(path)).toBe(true);
  } finally {
    holder.kill('SIGKILL');
    await holder.exited;
  }
  expect(isInUse(path)).toBe(false);
});
