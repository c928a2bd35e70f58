import { expect, test } from 'bun:test';
import type { PlanName } from '../accounts/plans.ts';
import { visitRates } from '../accounts/rate-text.ts';
import { createRedirectLimit } from './redirect-limit.ts';

const startMs = Date.UTC(2026, 0, 1);
const visitor = '203.0.113.7';
const planOf = (ownerId: string | null): PlanName | undefined =>
  ownerId === null ? 'anonymous' : ({ acc_free: 'free', acc_pro: 'pro' } as const)[ownerId];
const limitOf = (...rates: string[]) => createRedirectLimit(visitRates(rates), planOf);

test('an address may follow so many links, and more after the wait that is told', () => {
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

test('an owner whose plan is not known yet is limited like everyone, and no more', () => {
  const limit = limitOf('3/min', 'free=1/min');
  const waits = [1, 2, 3, 4].map(() => limit.allows(visitor, startMs, 'acc_unknown'));
  expect(waits).toEqual([0, 0, 0, 20]);
});

test('a visit that is refused by one limit does not use up the other', () => {
  const limit = limitOf('3/min', 'anonymous=1/min');
  for (let n = 0; n < 10; n += 1) limit.allows(visitor, startMs, null);
  expect([1, 2, 3].map(() => limit.allows(visitor, startMs, 'acc_pro'))).toEqual([0, 0, 20]);
});

test('nothing is limited unless it was asked for', () => {
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
