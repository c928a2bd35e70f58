import { beforeEach, describe, expect, test } from 'bun:test';
import { createProbingGuard, type ProbingGuard } from './probing.ts';

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

  test('is slowed after so many misses, and goes on after the wait that is told', () => {
    miss(59);
    expect(guard.isSlowed(prober, startMs)).toBe(0);
    miss(1);
    expect(guard.isSlowed(prober, startMs)).toBe(1);
    expect(guard.isSlowed(prober, startMs + 999)).toBe(1);
    expect(guard.isSlowed(prober, startMs + 1_000)).toBe(0);
    expect(guard.slowed).toBe(2);
  });

  test('gets no further than the rate for as long as it goes on', () => {
    let found = 0;
    for (let now = startMs; now < startMs + 600_000; now += 50) {
      if (guard.isSlowed(prober, now) > 0) continue;
      found += 1;
      miss(1, prober, now);
    }
    expect(found).toBe(60 + 599);
  });

  test('does not slow anyone else, and nobody who follows links that exist', () => {
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

  test('asking whether it is slowed does not make it so', () => {
    miss(59);
    for (let n = 0; n < 1_000; n += 1) expect(guard.isSlowed(prober, startMs)).toBe(0);
  });

  test('is nobody’s business when it is switched off', () => {
    guard = createProbingGuard(null);
    miss(10_000);
    expect(guard.isSlowed(prober, startMs)).toBe(0);
  });
});
