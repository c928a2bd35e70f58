import { expect, test } from 'bun:test';
import { BucketTable, createMemoryLimiter } from './bucket.ts';
import { rateLimiterConformance } from './rate-limit.conformance.ts';
import type { Spending } from './rate-limit.ts';

const hourMs = 3_600_000;

const oneAnHour = (key: string): Spending => ({
  key,
  rate: { count: 1, periodMs: hourMs },
  capacity: 1,
  cost: 1,
});
const perMinute = (key: string): Spending => ({ ...oneAnHour(key), rate: { count: 1, periodMs: 60_000 } });

test('the table never exceeds its limit, and still serves every key', () => {
  const table = new BucketTable(100);
  for (let n = 0; n < 10_000; n += 1) {
    expect(table.take([oneAnHour(`key ${n}`)], n).allowed).toBe(true);
    expect(table.size).toBeLessThanOrEqual(100);
  }
});

test('buckets that are full again are evicted, whatever lies between them', () => {
  const table = new BucketTable(10_000);
  for (let n = 0; n < 10; n += 1) table.take([oneAnHour(`long ${n}`)], 0);
  for (let n = 0; n < 1_000; n += 1) table.take([perMinute(`short ${n}`)], 0);
  for (let n = 0; n < 500; n += 1) table.take([perMinute(`later ${n}`)], 60_000);
  expect(table.size).toBe(510);
  for (let n = 0; n < 10; n += 1) expect(table.take([oneAnHour(`long ${n}`)], 60_000).allowed).toBe(false);
});

test('a flood of keys is evicted before the bucket that is furthest from being full', () => {
  const table = new BucketTable(50);
  table.take([oneAnHour('victim')], 0);
  for (let n = 0; n < 5_000; n += 1) table.take([perMinute(`crowd ${n}`)], 0);
  expect(table.take([oneAnHour('victim')], 0).allowed).toBe(false);
});

test('asking for the wait takes nothing', () => {
  const table = new BucketTable(10);
  for (let n = 0; n < 3; n += 1) expect(table.waitMs([oneAnHour('a')], 0)).toBe(0);
  expect(table.size).toBe(0);
  table.take([oneAnHour('a')], 0);
  expect(table.waitMs([oneAnHour('a')], 1_000)).toBe(hourMs - 1_000);
});

test('a request that takes nothing stores nothing', () => {
  const table = new BucketTable(10);
  table.take([oneAnHour('spent')], 0);
  expect(table.take([oneAnHour('spent'), oneAnHour('other')], 0).allowed).toBe(false);
  table.take([{ ...oneAnHour('looked at'), cost: 0 }], 0);
  expect(table.size).toBe(1);
});

rateLimiterConformance('memory', async () => ({
  limiter: createMemoryLimiter(),
  dispose: async () => {},
}));
