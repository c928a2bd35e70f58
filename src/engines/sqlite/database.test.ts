import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isBusy, openForReading, openForWriting, withBusyRetry } from './database.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-database-'));
  path = join(folder, 'test.db');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function thrownBy(attempt: () => unknown): unknown {
  try {
    attempt();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

test('a commit is on the disk before it counts: the log is written ahead and synced with every commit', () => {
  using database = openForWriting(path);
  expect(database.query('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  const full = 2;
  expect(database.query('PRAGMA synchronous').get()).toEqual({ synchronous: full });
});

test('the reading connection sees what was committed and cannot write', () => {
  using writer = openForWriting(path);
  writer.run('CREATE TABLE words (word TEXT)');
  using reader = openForReading(path);
  writer.run("INSERT INTO words VALUES ('kept')");
  expect(reader.query('SELECT word FROM words').all()).toEqual([{ word: 'kept' }]);
  expect(() => reader.run("INSERT INTO words VALUES ('more')")).toThrow('readonly');
});

test('reading goes on while a write transaction is open, and sees nothing of it', () => {
  using writer = openForWriting(path);
  writer.run('CREATE TABLE words (word TEXT)');
  using reader = openForReading(path);
  writer.run('BEGIN IMMEDIATE');
  writer.run("INSERT INTO words VALUES ('not yet')");
  expect(reader.query('SELECT word FROM words').all()).toEqual([]);
  writer.run('COMMIT');
  expect(reader.query('SELECT word FROM words').all()).toEqual([{ word: 'not yet' }]);
});

test('a writer that finds the lock taken tries again until it is free', () => {
  using holder = openForWriting(path);
  using other = openForWriting(path);
  holder.run('BEGIN IMMEDIATE');
  expect(isBusy(thrownBy(() => other.run('BEGIN IMMEDIATE')))).toBe(true);
  let attempts = 0;
  withBusyRetry(() => {
    attempts += 1;
    if (attempts === 5) holder.run('COMMIT');
    other.run('BEGIN IMMEDIATE');
  });
  expect(attempts).toBe(5);
  other.run('COMMIT');
});

test('only a busy database is tried again: any other failure is reported at once', () => {
  using database = new Database(':memory:');
  let attempts = 0;
  const failure = thrownBy(() =>
    withBusyRetry(() => {
      attempts += 1;
      database.run('SELECT * FROM nowhere');
    }),
  );
  expect(failure).toMatchObject({ message: 'no such table: nowhere' });
  expect(isBusy(failure)).toBe(false);
  expect(attempts).toBe(1);
});
