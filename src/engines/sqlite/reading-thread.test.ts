import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../base/errors.ts';
import { ReadingThread } from './reading-thread.ts';

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
  rmSync(folder, { recursive: true });
});

const keep = (word: string): void => void database.run('INSERT INTO words VALUES (?)', [word]);
const refusalOf = (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => 'an answer',
    (error: unknown) => (error instanceof Problem ? error.code : error),
  );

test('nobody starts a thread that is not asked anything', () => {
  expect(started).toBe(0);
});

test('everyone gets the answer to their own question, or that there is none', async () => {
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
  'a thread that cannot read (%s) is told of, and the next question starts another',
  async fault => {
    keep('a');
    expect(await refusalOf(thread.ask(fault))).toBe('store_unavailable');
    expect(await thread.ask('a')).toBe(1);
    expect(started).toBe(2);
  },
);

test('whoever waits when it is closed hears so, and so does whoever comes later', async () => {
  const waiting = thread.ask('a');
  thread.close();
  expect(await refusalOf(waiting)).toBe('store_unavailable');
  expect(await refusalOf(thread.ask('a'))).toBe('store_unavailable');
});
