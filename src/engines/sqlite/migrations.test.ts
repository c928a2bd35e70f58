import type { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForWriting } from './database.ts';
import { countedSteps } from './fake-migrating-process.ts';
import { migrate } from './migrations.ts';

let folder: string;
let path: string;
let database: Database;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-migrations-'));
  path = join(folder, 'test.db');
  database = openForWriting(path);
});

afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

const createNotes = 'CREATE TABLE notes (text TEXT NOT NULL) STRICT';
const addTitle = 'ALTER TABLE notes ADD COLUMN title TEXT';

function versionOf(component: string): number | undefined {
  const query = database.query<{ version: number }, [string]>(
    'SELECT version FROM migrations WHERE component = ?',
  );
  return query.get(component)?.version;
}

function columnsOf(table: string): string[] {
  const query = database.query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)');
  return query.all(table).map(({ name }) => name);
}

test('a file gets every step once, and later only the new ones', () => {
  migrate(database, { component: 'notes', steps: [createNotes] });
  expect(columnsOf('notes')).toEqual(['text']);
  migrate(database, { component: 'notes', steps: [createNotes, addTitle] });
  migrate(database, { component: 'notes', steps: [createNotes, addTitle] });
  expect(columnsOf('notes')).toEqual(['text', 'title']);
  expect(versionOf('notes')).toBe(2);
});

test('components do not count each other’s steps', () => {
  migrate(database, { component: 'notes', steps: [createNotes, addTitle] });
  migrate(database, { component: 'other', steps: ['CREATE TABLE other (id INTEGER) STRICT'] });
  expect([versionOf('notes'), versionOf('other')]).toEqual([2, 1]);
  expect(columnsOf('other')).toEqual(['id']);
});

test('a file written by a newer version is refused in words that say so, and left alone', () => {
  migrate(database, { component: 'notes', steps: [createNotes, addTitle] });
  expect(() => migrate(database, { component: 'notes', steps: [createNotes] })).toThrow(
    'the data folder was written by a newer Terse: its notes schema is version 2, this one knows 1',
  );
  expect(versionOf('notes')).toBe(2);
  expect(database.inTransaction).toBe(false);
});

test('a step that fails leaves neither its changes nor a new version behind, and can be mended', () => {
  const broken = `${addTitle}; INSERT INTO nowhere VALUES (1)`;
  expect(() => migrate(database, { component: 'notes', steps: [createNotes, broken] })).toThrow('nowhere');
  expect(versionOf('notes')).toBe(1);
  expect(columnsOf('notes')).toEqual(['text']);
  expect(database.inTransaction).toBe(false);
  migrate(database, { component: 'notes', steps: [createNotes, addTitle] });
  expect(versionOf('notes')).toBe(2);
});

test('processes that migrate one empty file at once run each step once, and none of them fails', async () => {
  const file = join(folder, 'shared.db');
  const script = join(import.meta.dir, 'fake-migrating-process.ts');
  const processes = Array.from({ length: 6 }, () =>
    Bun.spawn([process.execPath, script, file], { stderr: 'inherit' }),
  );
  expect(await Promise.all(processes.map(({ exited }) => exited))).toEqual(processes.map(() => 0));
  const shared = openForWriting(file);
  const steps = shared.query<{ step: number }, []>('SELECT step FROM runs ORDER BY rowid').all();
  expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: 20 }, (_, step) => step));
  expect(shared.query('SELECT version FROM migrations').get()).toEqual({
    version: countedSteps.steps.length,
  });
  shared.close();
});
