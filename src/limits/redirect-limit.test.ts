import { beforeEach, describe, expect, test } from 'bun:test';
import { fakeAccount } from '../accounts/fake-actors.ts';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { type PlanName, visitRates } from './plans.ts';
import {
  createOwnerPlans,
  createProbingGuard,
  createRedirectLimit,
  freshMs,
  type ProbingGuard,
} from './redirect-limit.ts';

const startMs = Date.UTC(2026, 0, 1);
const visitor = '203.0.113.7';
const planOf = (ownerId: string | null): PlanName | undefined =>
  ownerId === null ? 'anonymous' : ({ acc_free: 'free', acc_pro: 'pro' } as const)[ownerId];
const limitOf = (...rates: string[]) => createRedirectLimit(visitRates(rates), planOf);

test('an address may follow a number of links, and more after the announced wait', () => {
  const limit = limitOf('10/min');
  for (let n = 0; n < 10; n += 1) expect(limit.allows(visitor, startMs, 'acc_pro')).toBe(0);
  expect(limit.allows(visitor, startMs, null)).toBe(6);
  expect(limit.allows(visitor, startMs + 5_999, null)).toBe(1);
  expect(limit.allows(visitor, startMs + 6_000, null)).toBe(0);
  expect(limit.allows('203.0.113.8', startMs, null)).toBe(0);
  expect(limit.limited).toBe(2);
});

test('links of one plan can be limited and those of others not', () => {
  const limit = limitOf('anonymous=1/min', 'free=2/min');
  expect([null, null].map(owner => limit.allows(visitor, startMs, owner))).toEqual([0, 60]);
  expect(['acc_free', 'acc_free', 'acc_free'].map(owner => limit.allows(visitor, startMs, owner))).toEqual([
    0, 0, 30,
  ]);
  for (let n = 0; n < 100; n += 1) expect(limit.allows(visitor, startMs, 'acc_pro')).toBe(0);
});

test('an owner whose plan is not known yet is limited only by the common rate', () => {
  const limit = limitOf('3/min', 'free=1/min');
  const waits = [1, 2, 3, 4].map(() => limit.allows(visitor, startMs, 'acc_unknown'));
  expect(waits).toEqual([0, 0, 0, 20]);
});

test('a visit that is rejected by one limit does not use up the other', () => {
  const limit = limitOf('3/min', 'anonymous=1/min');
  for (let n = 0; n < 10; n += 1) limit.allows(visitor, startMs, null);
  expect([1, 2, 3].map(() => limit.allows(visitor, startMs, 'acc_pro'))).toEqual([0, 0, 20]);
});

test('nothing is limited by default', () => {
  const limit = limitOf('off');
  for (let n = 0; n < 10_000; n += 1) expect(limit.allows(visitor, startMs, null)).toBe(0);
  expect(limit.limited).toBe(0);
});

test('the networks of one IPv6 customer together may follow sixteen times as many links as one', () => {
  const limit = limitOf('2/min', 'anonymous=1/min');
  const from = (n: number) => `2001:db8:1:${n.toString(16)}::1`;
  for (let n = 0; n < 16; n += 1) expect(limit.allows(from(n), startMs, null)).toBe(0);
  expect(limit.allows(from(16), startMs, null)).toBeGreaterThan(0);
  for (let n = 0; n < 16; n += 1) expect(limit.allows(from(n), startMs, 'acc_pro')).toBe(0);
  expect(limit.allows(from(17), startMs, 'acc_pro')).toBeGreaterThan(0);
  expect(limit.allows('2001:db8:2::1', startMs, null)).toBe(0);
});

describe('owner plans', () => {
  let clock: ManualClock;
  let plan: PlanName | undefined;
  let lookups: number;
  let planOf: (ownerId: string | null) => PlanName | undefined;

  beforeEach(() => {
    clock = new ManualClock();
    plan = 'free';
    lookups = 0;
    planOf = createOwnerPlans({
      async findAccount(id) {
        lookups += 1;
        return plan && fakeAccount(id, { plan });
      },
      clock,
    });
  });

  test('links without an owner are on the anonymous plan', () => {
    expect(planOf(null)).toBe('anonymous');
    expect(lookups).toBe(0);
  });

  test('a plan is unknown until it was looked up, and then known without asking', async () => {
    expect(planOf('acc_1')).toBeUndefined();
    expect(planOf('acc_1')).toBeUndefined();
    await yieldToEventLoop();
    expect([planOf('acc_1'), planOf('acc_1')]).toEqual(['free', 'free']);
    expect(lookups).toBe(1);
  });

  test('a change of plan is noticed after a while', async () => {
    planOf('acc_1');
    await yieldToEventLoop();
    plan = 'pro';
    clock.advance(freshMs);
    expect(planOf('acc_1')).toBe('free');
    await yieldToEventLoop();
    expect(planOf('acc_1')).toBe('pro');
  });

  test('a deleted account has no plan and is not looked up every time', async () => {
    plan = undefined;
    planOf('acc_1');
    await yieldToEventLoop();
    expect([planOf('acc_1'), planOf('acc_1'), lookups]).toEqual([undefined, undefined, 1]);
  });

  test('a flood of owners starts a few lookups, not thousands', () => {
    for (let n = 0; n < 5_000; n += 1) planOf(`acc_${n}`);
    expect(lookups).toBeLessThanOrEqual(32);
  });

  test('a store that fails leaves plans unknown and is asked again', async () => {
    let calls = 0;
    const failing = createOwnerPlans({
      async findAccount() {
        calls += 1;
        throw new Error('the store is down');
      },
      clock,
    });
    failing('acc_1');
    await yieldToEventLoop();
    expect(failing('acc_1')).toBeUndefined();
    expect(calls).toBe(2);
  });
});

describe('probing', () => {
  const startMs = Date.UTC(2026, 0, 1);
  const prober = '203.0.113.7';

  describe('guessing codes', () => {
    let guard: ProbingGuard;
    beforeEach(() => {
      guard = createProbingGuard({ count: 60, periodMs: 60_000 });
    });
    const miss = (times: number, address = prober, now = startMs): void => {
      for (let n = 0; n < times; n += 1) guard.noteMissing(address, now);
    };

    test('is slowed after a number of misses, and may go on after the announced wait', () => {
      miss(59);
      expect(guard.isSlowed(prober, startMs)).toBe(0);
      miss(1);
      expect(guard.isSlowed(prober, startMs)).toBe(1);
      expect(guard.isSlowed(prober, startMs + 999)).toBe(1);
      expect(guard.isSlowed(prober, startMs + 1_000)).toBe(0);
      expect(guard.slowed).toBe(2);
    });

    test('never exceeds the rate, however long it goes on', () => {
      let found = 0;
      for (let now = startMs; now < startMs + 600_000; now += 50) {
        if (guard.isSlowed(prober, now) > 0) continue;
        found += 1;
        miss(1, prober, now);
      }
      expect(found).toBe(60 + 599);
    });

    test('does not slow other clients, nor clients that follow existing links', () => {
      miss(1_000);
      expect(guard.isSlowed('203.0.113.8', startMs)).toBe(0);
      for (let n = 0; n < 10_000; n += 1) expect(guard.isSlowed('198.51.100.1', startMs)).toBe(0);
    });

    test('cannot be spread over the addresses of one IPv6 network', () => {
      for (let n = 0; n < 60; n += 1) miss(1, `2001:db8::${n.toString(16)}`);
      expect(guard.isSlowed('2001:db8::beef', startMs)).toBe(1);
      expect(guard.isSlowed('2001:db8:0:1::1', startMs)).toBe(0);
    });

    test('cannot be spread over all the networks that one IPv6 customer has', () => {
      const from = (n: number) => `2001:db8:1:${n.toString(16)}::1`;
      for (let n = 0; n < 16 * 60; n += 1) miss(1, from(n));
      expect(guard.isSlowed(from(5_000), startMs)).toBe(1);
      expect(guard.isSlowed('2001:db8:2::1', startMs)).toBe(0);
    });

    test('is not slowed by asking whether it is', () => {
      miss(59);
      for (let n = 0; n < 1_000; n += 1) expect(guard.isSlowed(prober, startMs)).toBe(0);
    });

    test('is not limited when the limit is off', () => {
      guard = createProbingGuard(null);
      miss(10_000);
      expect(guard.isSlowed(prober, startMs)).toBe(0);
    });
  });
});
