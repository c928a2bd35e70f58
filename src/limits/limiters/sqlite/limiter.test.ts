import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rateLimiterConformance } from '../../rate-limit.conformance.ts';
import type { RateLimiter } from '../../rate-limit.ts';
import { createSqliteLimiter } from '../open.ts';
import type { SqliteBucketsOptions } from './buckets.ts';

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'terse-limits-'));

function openLimiter(folder: string, onThread: (worker: Worker) => void = () => {}): RateLimiter {
  return createSqliteLimiter(() => {
    const worker = new Worker(new URL('../limits.thread.ts', import.meta.url));
    const path = join(folder, 'limits.db');
    worker.postMessage({ path, secret: new Uint8Array(32), busyMaxMs: 5_000 } satisfies SqliteBucketsOptions);
    onThread(worker);
    return worker;
  });
}

rateLimiterConformance('sqlite', async () => {
  const folder = newFolder();
  const limiter = openLimiter(folder);
  return {
    limiter,
    async dispose() {
      await limiter.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

const oneOf = (count: number) => ({
  key: 'a',
  rate: { count, periodMs: 3_600_000 },
  capacity: count,
  cost: 1,
});

test('of many concurrent requests to several limiters exactly as many pass as the bucket holds', async () => {
  const folder = newFolder();
  const limiters = Array.from({ length: 3 }, () => openLimiter(folder));
  const asked = limiters.flatMap(limiter =>
    Array.from({ length: 500 }, () => limiter.take([oneOf(1_000)], 1_000_000)),
  );
  const decisions = await Promise.all(asked);
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(1_000);
  await Promise.all(limiters.map(limiter => limiter.close()));
  rmSync(folder, { recursive: true, force: true });
});

test('no thread is started before it is needed, and one that failed is replaced', async () => {
  const folder = newFolder();
  const threads: Worker[] = [];
  const limiter = openLimiter(folder, worker => threads.push(worker));
  expect(threads).toHaveLength(0);
  await limiter.take([oneOf(1)], 0);
  const waiting = limiter.take([oneOf(1)], 0);
  threads[0]!.onerror?.(new ErrorEvent('error', { message: 'out of memory' }));
  await expect(waiting).rejects.toThrow('the limit thread failed: out of memory');
  expect((await limiter.take([oneOf(1)], 0)).allowed).toBe(false);
  expect(threads).toHaveLength(2);
  await limiter.close();
  rmSync(folder, { recursive: true, force: true });
});

test('closing an unused limiter does nothing, and a closed limiter releases its file', async () => {
  const folder = newFolder();
  await openLimiter(folder).close();
  const limiter = openLimiter(folder);
  await limiter.take([oneOf(1)], 0);
  await limiter.close();
  expect(await Bun.file(join(folder, 'limits.db-wal')).exists()).toBe(false);
  rmSync(folder, { recursive: true, force: true });
});
