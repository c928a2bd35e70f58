import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { fakeAccount } from './fake-actors.ts';
import { createOwnerPlans, freshMs } from './owner-plans.ts';
import type { PlanName } from './plans.ts';

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
  await Bun.sleep(0);
  expect([planOf('acc_1'), planOf('acc_1')]).toEqual(['free', 'free']);
  expect(lookups).toBe(1);
});

test('a change of plan is noticed after a while', async () => {
  planOf('acc_1');
  await Bun.sleep(0);
  plan = 'pro';
  clock.advance(freshMs);
  expect(planOf('acc_1')).toBe('free');
  await Bun.sleep(0);
  expect(planOf('acc_1')).toBe('pro');
});

test('an account that is gone has no plan and is not looked up every time', async () => {
  plan = undefined;
  planOf('acc_1');
  await Bun.sleep(0);
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
      throw new Error('the store is away');
    },
    clock,
  });
  failing('acc_1');
  await Bun.sleep(0);
  expect(failing('acc_1')).toBeUndefined();
  expect(calls).toBe(2);
});
