import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForWriting } from '../../../engines/sqlite/database.ts';
import type { Spending } from '../../rate-limit.ts';
import { SqliteBuckets } from './buckets.ts';

const startMs = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;

let folder: string;
let path: string;
const opened: SqliteBuckets[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-buckets-'));
  path = join(folder, 'limits.db');
});
afterEach(() => {
  for (const buckets of opened.splice(0)) buckets.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(options: { pagesMax?: number; secret?: Uint8Array } = {}): SqliteBuckets {
  const buckets = new SqliteBuckets({ path, secret: new Uint8Array(32), busyMaxMs: 20, ...options });
  opened.push(buckets);
  return buckets;
}

const oneOf = (count: number, key = 'a'): Spending => ({
  key,
  rate: { count, periodMs: hourMs },
  capacity: count,
  cost: 1,
});
const takes = (buckets: SqliteBuckets, spending: Spending, now = startMs): boolean =>
  buckets.take([spending], now).allowed;
const rowsOf = (): number => {
  using database = openForWriting(path);
  return database.query<{ count: number }, []>('SELECT count(*) AS count FROM buckets').get()!.count;
};

/** Overwrites the first page of a table, so that the file still opens. */
function spoil(table: string): void {
  const database = openForWriting(path);
  const query = 'SELECT rootpage FROM sqlite_master WHERE name = ?';
  const { rootpage } = database.query<{ rootpage: number }, [string]>(query).get(table)!;
  database.close();
  const content = readFileSync(path);
  content.fill(7, (rootpage - 1) * 4_096, rootpage * 4_096);
  writeFileSync(path, content);
}

test('all processes that open the file share its buckets', () => {
  const [first, second] = [open(), open()];
  for (let turn = 0; turn < 5; turn += 1) {
    expect([takes(first, oneOf(10)), takes(second, oneOf(10))]).toEqual([true, true]);
  }
  expect([takes(first, oneOf(10)), takes(second, oneOf(10))]).toEqual([false, false]);
});

test('taken tokens are remembered by the next process that opens the file', () => {
  const before = open();
  takes(before, oneOf(1));
  before.close();
  expect(takes(open(), oneOf(1))).toBe(false);
});

test('the file identifies no person, and its hashes cannot be computed without the secret', () => {
  const buckets = open();
  takes(buckets, oneOf(1, 'address 203.0.113.7'));
  buckets.close();
  const content = readdirSync(folder)
    .map(name => readFileSync(join(folder, name), 'latin1'))
    .join();
  expect(content).not.toContain('203.0.113.7');
  expect(takes(open({ secret: new Uint8Array(32).fill(1) }), oneOf(1, 'address 203.0.113.7'))).toBe(true);
});

test('buckets that are full again are deleted', () => {
  const buckets = open();
  for (let n = 0; n < 500; n += 1) takes(buckets, oneOf(1, `old ${n}`));
  expect(rowsOf()).toBe(500);
  for (let n = 0; n < 200; n += 1) takes(buckets, oneOf(1, `new ${n}`), startMs + hourMs);
  expect(rowsOf()).toBe(200);
});

test('a file that has grown to its limit makes room by evicting the buckets that would be full soonest', () => {
  const buckets = open({ pagesMax: 64 });
  expect(takes(buckets, oneOf(1, 'long'), startMs + hourMs)).toBe(true);
  for (let n = 0; n < 5_000; n += 1) expect(takes(buckets, oneOf(1, `short ${n}`))).toBe(true);
  expect(statSync(path).size).toBeLessThanOrEqual(64 * 4_096);
  expect(rowsOf()).toBeGreaterThan(500);
  expect(takes(buckets, oneOf(1, 'long'), startMs + hourMs)).toBe(false);
});

describe('a file that cannot be used', () => {
  test('because another process holds it is reported to the caller, and used again afterwards', () => {
    const buckets = open();
    takes(buckets, oneOf(2));
    const holder = openForWriting(path);
    holder.run('BEGIN IMMEDIATE');
    expect(() => takes(buckets, oneOf(2))).toThrow('locked');
    holder.run('COMMIT');
    holder.close();
    expect([takes(buckets, oneOf(2)), takes(buckets, oneOf(2))]).toEqual([true, false]);
  });

  test('because it is garbage is recreated', () => {
    writeFileSync(path, 'no database at all '.repeat(1_000));
    const buckets = open();
    expect([takes(buckets, oneOf(1)), takes(buckets, oneOf(1))]).toEqual([true, false]);
  });

  test('because it is damaged while in use is reported once and recreated, for all processes', () => {
    const [first, second] = [open(), open()];
    takes(first, oneOf(1));
    takes(second, oneOf(5, 'b'));
    for (const buckets of [first, second]) buckets.close();
    spoil('buckets');
    expect(() => takes(first, oneOf(1))).toThrow('malformed');
    expect([takes(first, oneOf(1)), takes(second, oneOf(1))]).toEqual([true, false]);
  });

  test('because it was deleted while in use is recreated, and shared again', () => {
    const [first, second] = [open(), open()];
    takes(first, oneOf(1));
    takes(second, oneOf(2, 'b'));
    rmSync(path);
    expect([takes(first, oneOf(1)), takes(second, oneOf(1))]).toEqual([true, false]);
  });

  test('because there is no folder is reported to the caller, and works once there is one', () => {
    rmSync(folder, { recursive: true, force: true });
    const buckets = open();
    expect(() => takes(buckets, oneOf(1))).toThrow();
    mkdirSync(folder);
    expect([takes(buckets, oneOf(1)), takes(buckets, oneOf(1))]).toEqual([true, false]);
  });
});
