import { expect, test } from 'bun:test';
import { until } from '../../test/kit/until.ts';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { startMaintenance } from './maintenance.ts';

/** More than a round of the work below takes. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 500; turn += 1) await yieldToEventLoop();
}

const dayMs = 24 * 60 * 60 * 1_000;
const noRecords = { removeExpired: async () => 0 };

test('each round purges behind the grace period and prunes old records, one round at a time', async () => {
  const clock = new ManualClock();
  const calls: [string, number][] = [];
  const gate = Promise.withResolvers<void>();
  const stop = startMaintenance({
    clock,
    expiryGraceDays: 30,
    records: noRecords,
    onError: () => calls.push(['error', 0]),
    store: {
      async purgeExpired(expiredBefore) {
        calls.push(['purge', clock.now() - expiredBefore]);
        await gate.promise;
        return 0;
      },
      async prune({ answersBefore, changesBefore }) {
        calls.push(['answers', clock.now() - answersBefore], ['changes', clock.now() - changesBefore]);
        throw new Error('store down');
      },
    },
  });
  clock.advance(5_000);
  clock.advance(20_000);
  expect(calls).toEqual([['purge', 30 * dayMs]]);
  gate.resolve();
  await yieldToEventLoop();
  expect(calls.slice(1)).toEqual([
    ['answers', dayMs + 20_000],
    ['changes', 620_000],
    ['error', 0],
  ]);
  clock.advance(5_000);
  await yieldToEventLoop();
  await stop();
  const before = calls.length;
  expect(before).toBeGreaterThan(4);
  clock.advance(60_000);
  expect(calls).toHaveLength(before);
});

test('a round runs batch after batch while there is more, for each kind separately', async () => {
  const clock = new ManualClock();
  const left = { purge: 1_700, prune: 600, records: 1_100 };
  const bites = { purge: 0, prune: 0, records: 0 };
  const bite = (kind: keyof typeof left, limit: number): number => {
    bites[kind] += 1;
    const taken = Math.min(limit, left[kind]);
    left[kind] -= taken;
    return taken;
  };
  const stop = startMaintenance({
    clock,
    expiryGraceDays: 30,
    records: { removeExpired: async limit => bite('records', limit) },
    onError: error => {
      throw error;
    },
    store: {
      purgeExpired: async (_before, limit) => bite('purge', limit),
      prune: async (_age, limit) => bite('prune', limit),
    },
  });
  clock.advance(5_000);
  await until('the end of the round', () => Object.values(left).every(each => each === 0));
  expect(left).toEqual({ purge: 0, prune: 0, records: 0 });
  expect(bites).toEqual({ purge: 4, prune: 2, records: 3 });
  await stop();
});

test('a round ends in time however much is left, yields between batches, and stops on request', async () => {
  const clock = new ManualClock();
  const startedMs = clock.now();
  let bites = 0;
  let turn = 0;
  const turnsOfPurges: number[] = [];
  const count = (): void => {
    turn += 1;
    if (bites < 1_000) setImmediate(count);
  };
  const store = {
    async purgeExpired(_before: number, limit: number) {
      bites += 1;
      turnsOfPurges.push(turn);
      clock.set(clock.now() + 100);
      return limit;
    },
    prune: async () => 0,
  };
  const stop = startMaintenance({
    clock,
    expiryGraceDays: 30,
    records: noRecords,
    onError: () => {},
    store,
  });
  setImmediate(count);
  clock.advance(5_000);
  await manyTurns();
  expect(clock.now() - startedMs).toBeLessThanOrEqual(7_100);
  expect(bites).toBeGreaterThan(10);
  expect(new Set(turnsOfPurges).size).toBe(bites);
  clock.advance(5_000);
  const before = bites;
  await stop();
  await manyTurns();
  expect(bites).toBe(before);
  bites = 1_000;
});

test('stopping waits for the batch in progress, after which none begins', async () => {
  const clock = new ManualClock();
  const calls: string[] = [];
  const gate = Promise.withResolvers<void>();
  const stop = startMaintenance({
    clock,
    expiryGraceDays: 30,
    records: noRecords,
    onError: error => calls.push(String(error)),
    store: {
      async purgeExpired() {
        await gate.promise;
        calls.push('purged');
        return 0;
      },
      async prune() {
        calls.push('pruned');
        return 0;
      },
    },
  });
  clock.advance(5_000);
  const stopped = stop().then(() => calls.push('stopped'));
  await yieldToEventLoop();
  expect(calls).toEqual([]);
  gate.resolve();
  await stopped;
  expect(calls).toEqual(['purged', 'stopped']);
});
