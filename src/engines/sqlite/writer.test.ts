import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { yieldToEventLoop } from '../../base/clock.ts';
import { Problem, type ProblemCode } from '../../base/errors.ts';
import { openForReading } from './database.ts';
import type { WordOperations } from './fake-writer-thread.ts';
import { SqliteWriter } from './writer.ts';

let folder: string;
let path: string;
let writer: SqliteWriter<WordOperations>;

const startThread = (): Worker => new Worker(new URL('./fake-writer-thread.ts', import.meta.url));

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'terse-writer-'));
  path = join(folder, 'test.db');
  writer = await SqliteWriter.start<WordOperations>({ startThread, path });
});

afterEach(async () => {
  await writer.close();
  rmSync(folder, { recursive: true, force: true });
});

function wordsOnDisk(): string[] {
  using reader = openForReading(path);
  const rows = reader.query<{ word: string }, []>('SELECT word FROM words ORDER BY rowid').all();
  return rows.map(({ word }) => word);
}

async function refusalOf(run: Promise<unknown>): Promise<ProblemCode> {
  const outcome = await run.catch((error: unknown) => error);
  if (outcome instanceof Problem) return outcome.code;
  throw new Error(`expected a refusal, got ${String(outcome)}`);
}

const wordsNamed = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`);

test('a write that resolved can be read by another connection', async () => {
  expect(await writer.run('keep', 'one')).toBe('one');
  expect(wordsOnDisk()).toEqual(['one']);
});

test('writes that come together share a commit, keep their order, and each caller gets its own result', async () => {
  const words = wordsNamed('word', 1_000);
  expect(await Promise.all(words.map(word => writer.run('keep', word)))).toEqual(words);
  expect(wordsOnDisk()).toEqual(words);
  expect(writer.commits).toBe(1);
});

test('writes that come while others are committed share the next commit', async () => {
  const first = writer.run('keepSlowly', { word: 'first', durationMs: 20 });
  await yieldToEventLoop();
  const words = wordsNamed('word', 1_000);
  await Promise.all([first, ...words.map(word => writer.run('keep', word))]);
  expect(wordsOnDisk()).toEqual(['first', ...words]);
  expect(writer.commits).toBe(2);
});

test('closing waits for writes of the same turn', async () => {
  const kept = writer.run('keep', 'last');
  await writer.close();
  expect(await kept).toBe('last');
  expect(wordsOnDisk()).toEqual(['last']);
});

test('one transaction stays small enough to let other processes in', async () => {
  const heavy = 15_000;
  await Promise.all(wordsNamed('heavy', 5).map(word => writer.run('keep', word, heavy)));
  expect(writer.commits).toBe(5);
});

describe('an operation that throws', () => {
  test('rejects every write in its batch, and nothing of the batch is kept', async () => {
    const alone = writer.run('keep', 'alone');
    await yieldToEventLoop();
    const batch = [writer.run('keep', 'before'), writer.run('fail', 'broken'), writer.run('keep', 'after')];
    await alone;
    expect(await Promise.all(batch.map(refusalOf))).toEqual(batch.map(() => 'store_unavailable'));
    expect(wordsOnDisk()).toEqual(['alone']);
    expect(writer.commits).toBe(1);
  });

  test('does not end the thread: the next batch is written', async () => {
    const failed = writer.run('fail', 'broken').catch((error: unknown) => error);
    await yieldToEventLoop();
    const next = writer.run('keep', 'next');
    expect(await refusalOf(failed)).toBe('store_unavailable');
    expect(await next).toBe('next');
    expect(wordsOnDisk()).toEqual(['next']);
  });

  test('says why in the cause, for the log', async () => {
    const refusal: Problem = await writer.run('fail', 'broken on purpose').catch(error => error);
    expect(refusal.cause).toMatchObject({ message: 'broken on purpose' });
  });
});

test('beyond the rows that may wait, a write is refused as overloaded, and taken again afterwards', async () => {
  const first = writer.run('keep', 'first', 150_000);
  expect(await refusalOf(writer.run('keep', 'too much', 60_000))).toBe('overloaded');
  const second = writer.run('keep', 'fits', 50_000);
  expect(await Promise.all([first, second])).toEqual(['first', 'fits']);
  expect(await writer.run('keep', 'later', 200_000)).toBe('later');
  expect(wordsOnDisk()).toEqual(['first', 'fits', 'later']);
});

describe('a write that failed says whether it may have been kept', () => {
  const outcomeOf = async (run: Promise<unknown>): Promise<unknown> => {
    const refusal = await run.catch((error: unknown) => error);
    return refusal instanceof Problem ? refusal.outcome : 'no failure';
  };

  test('not when it was rolled back, refused or never begun', async () => {
    expect(await outcomeOf(writer.run('fail', 'broken'))).toBe('none');
    expect(await outcomeOf(writer.run('keep', 'too much', 200_001))).toBe('none');
    await writer.close();
    expect(await outcomeOf(writer.run('keep', 'late'))).toBe('none');
  });

  test('when the commit itself failed', async () => {
    expect(await outcomeOf(writer.run('commitItself', 'kept'))).toBe('unknown');
    expect(wordsOnDisk()).toEqual(['kept']);
  });

  test('when the thread died under it; what waited behind it was not', async () => {
    const begun = outcomeOf(writer.run('die', 'kept'));
    await yieldToEventLoop();
    const waiting = outcomeOf(writer.run('keep', 'waiting'));
    expect(await Promise.all([begun, waiting])).toEqual(['unknown', 'none']);
    expect(wordsOnDisk()).toEqual(['kept']);
    expect(await outcomeOf(writer.run('keep', 'later'))).toBe('none');
  });
});

test('a failed batch frees its place in the queue', async () => {
  expect(await refusalOf(writer.run('fail', 'broken', 200_000))).toBe('store_unavailable');
  expect(await writer.run('keep', 'next', 200_000)).toBe('next');
});

describe('closing', () => {
  test('waits for what was accepted and refuses what comes after', async () => {
    const accepted = [
      writer.run('keepSlowly', { word: 'slow', durationMs: 100 }),
      ...wordsNamed('waiting', 3).map(word => writer.run('keep', word)),
    ];
    const closing = writer.close();
    expect(await refusalOf(writer.run('keep', 'late'))).toBe('store_unavailable');
    await closing;
    expect(wordsOnDisk()).toEqual(['slow', ...wordsNamed('waiting', 3)]);
    expect(await Promise.all(accepted)).toEqual(['slow', ...wordsNamed('waiting', 3)]);
  });

  test('a second time waits as long as the first', async () => {
    const accepted = writer.run('keepSlowly', { word: 'slow', durationMs: 50 });
    void writer.close();
    await writer.close();
    expect(wordsOnDisk()).toEqual(['slow']);
    expect(await accepted).toBe('slow');
  });
});

test('a file that cannot be opened stops the start with the reason', async () => {
  const start = SqliteWriter.start({ startThread, path: join(folder, 'no-such-folder', 'test.db') });
  expect(await start.catch(error => error.message)).toBe('unable to open database file');
});
