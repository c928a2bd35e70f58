import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { DiskWatch, ReadingThread } from './reading-thread.ts';

let folder: string;
let database: Database;
let started: number;
let rounds: number[];
let thread: ReadingThread<number | null>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-reading-'));
  const path = join(folder, 'words.db');
  database = new Database(path);
  database.run('PRAGMA journal_mode = WAL');
  database.run('CREATE TABLE words (word TEXT PRIMARY KEY)');
  started = 0;
  rounds = [];
  thread = new ReadingThread({
    startThread: () => {
      started += 1;
      return new Worker(new URL('./fake-reading-thread.ts', import.meta.url));
    },
    path,
    onRound: longestMs => rounds.push(longestMs),
  });
});
afterEach(() => {
  thread.close();
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

const keep = (word: string): void => void database.run('INSERT INTO words VALUES (?)', [word]);
const refusalOf = (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => 'an answer',
    (error: unknown) => (error instanceof Problem ? error.code : error),
  );

test('a thread that is not asked anything is not started', () => {
  expect(started).toBe(0);
});

test('every caller gets the answer to its own question, or that there is none', async () => {
  const words = Array.from({ length: 500 }, (_, n) => `${'x'.repeat(n % 7)}${n}`);
  for (const word of words) keep(word);
  const answers = await Promise.all([...words, 'missing'].map(word => thread.ask(word)));
  expect(answers).toEqual([...words.map(({ length }) => length), null]);
  expect(started).toBe(1);
});

test('questions that come while others are answered share a round', async () => {
  keep('a');
  await Promise.all(Array.from({ length: 100 }, () => thread.ask('a')));
  expect(rounds).toHaveLength(2);
  expect(rounds.every(longestMs => longestMs >= 0)).toBe(true);
});

test('what was committed before a question is in its answer', async () => {
  for (let n = 0; n < 200; n += 1) {
    keep(`w${n}`);
    expect(await thread.ask(`w${n}`)).toBe(`w${n}`.length);
  }
});

test.each(['fail', 'die'])(
  'a thread that cannot read (%s) is reported, and the next question starts another',
  async fault => {
    keep('a');
    expect(await refusalOf(thread.ask(fault))).toBe('store_unavailable');
    expect(await thread.ask('a')).toBe(1);
    expect(started).toBe(2);
  },
);

test('closing it rejects the questions that wait, and later ones', async () => {
  const waiting = thread.ask('a');
  thread.close();
  expect(await refusalOf(waiting)).toBe('store_unavailable');
  expect(await refusalOf(thread.ask('a'))).toBe('store_unavailable');
});

let clock: ManualClock;
let diskReads: number;
let watch: DiskWatch;
beforeEach(() => {
  clock = new ManualClock();
  diskReads = 5;
  watch = new DiskWatch({ clock, diskReads: () => diskReads });
});

test('reads are quick until one has waited for the disk', () => {
  expect(watch.isSlow).toBe(false);
  diskReads += 1;
  watch.note(0.2);
  expect(watch.isSlow).toBe(false);
  watch.note(30);
  expect(watch.isSlow).toBe(true);
});

test('a read that took long without the disk is the fault of a busy machine', () => {
  watch.note(30);
  expect(watch.isSlow).toBe(false);
});

test('a read that waited in the past says nothing about a later one that did not', () => {
  diskReads += 1;
  watch.note(30);
  clock.advance(60_000);
  watch.note(30);
  expect(watch.isSlow).toBe(false);
});

test('reads are quick again a minute after the last that waited', () => {
  for (let times = 0; times < 3; times += 1) {
    diskReads += 1;
    watch.note(2);
    clock.advance(59_000);
    expect(watch.isSlow).toBe(true);
  }
  clock.advance(1_000);
  expect(watch.isSlow).toBe(false);
});
