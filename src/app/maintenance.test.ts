import { expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { startMaintenance } from './maintenance.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const noAudit = { forget: async () => 0 };

test('each round purges behind the grace period and prunes old records, one round at a time', async () => {
  const clock = new ManualClock();
  const calls: [string, number][] = [];
  const gate = Promise.withResolvers<void>();
  const stop = startMaintenance({
    clock,
    expiryGraceDays: 30,
    auditDays: 365,
    audit: noAudit,
    onError: () => calls.push(['error', 0]),
    store: {
      async purgeExpired(expiredBefore) {
        calls.push(['purge', clock.now() - expiredBefore]);
        await gate.promise;
        return 0;
      },
      async prune({ answersBefore, changesBefore }) {
        calls.push(['answers', clock.now() - answersBefore], ['changes', clock.now() - changesBefore]);
        throw new Error('store away');
      },
    },
  });
  clock.advance(5_000);
  clock.advance(20_000);
  expect(calls).toEqual([['purge', 30 * dayMs]]);
  gate.resolve();
  await Bun.sleep(0);
  expect(calls.slice(1)).toEqual([
    ['answers', dayMs + 20_000],
    ['changes', 620_000],
    ['error', 0],
  ]);
  clock.advance(5_000);
  await Bun.sleep(0);
  await stop();
  const before = calls.length;
  expect(before).toBeGreaterThan(4);
  clock.advance(60_000);
  expect(calls).toHaveLength(before);
});

test('a round takes bite after bite while there is more, and of each kind for itself', async () => {
  const clock = new ManualClock();
  const left = { purge: 1_700, prune: 600, audit: 1_100 };
  const bites = { purge: 0, prune: 0, audit: 0 };
  const auditAges = new Set<number>();
  const bite = (kind: keyof typeof left, limit: number): number => {
    bites[kind] += 1;
    const taken = Math.min(limit, left[kind]);
    left[kind] -= taken;
    return taken;
  };
  const stop = startMaintenance({
    clock,
    expiryGraceDays: 30,
    auditDays: 365,
    audit: {
      async forget(before, limit) {
        auditAges.add(clock.now() - before);
        return bite('audit', limit);
      },
    },
    onError: error => {
      throw error;
    },
    store: {
      purgeExpired: async (_before, limit) => bite('purge', limit),
      prune: async (_age, limit) => bite('prune', limit),
    },
  });
  clock.advance(5_000);
  await Bun.sleep(20);
  expect(left).toEqual({ purge: 0, prune: 0, audit: 0 });
  expect(bites).toEqual({ purge: 4, prune: 2, audit: 3 });
  expect([...auditAges]).toEqual([365 * dayMs]);
  await stop();
});

test('a round ends in time however much is left, lets others run between bites, and stops when told', async () => {
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
    auditDays: 365,
    audit: noAudit,
    onError: () => {},
    store,
  });
  setImmediate(count);
  clock.advance(5_000);
  await Bun.sleep(20);
  expect(clock.now() - startedMs).toBeLessThanOrEqual(7_100);
  expect(bites).toBeGreaterThan(10);
  expect(new Set(turnsOfPurges).size).toBe(bites);
  clock.advance(5_000);
  const before = bites;
  await stop();
  await Bun.sleep(20);
  expect(bites).toBe(before);
  bites = 1_000;
});

test('stopping waits for the bite in progress, after which none begins', async () => {
  const clock = new ManualClock();
  const calls: string[] = [];
  const gate = Promise.withResolvers<void>();
  const stop = startMaintenance({
    clock,
    expiryGraceDays: 30,
    auditDays: 365,
    audit: noAudit,
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
  await Bun.sleep(0);
  expect(calls).toEqual([]);
  gate.resolve();
  await stopped;
  expect(calls).toEqual(['purged', 'stopped']);
});
