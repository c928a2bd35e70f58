import { describe, expect, test } from 'bun:test';
import type { Link } from '../links/link.ts';
import { sampleLink, samplesStart } from '../links/store-samples.ts';
import { type LifetimeSubject, lifetimeOf } from './cache-lifetime.ts';

const lifetimes = {
  usualMs: 1_000,
  newMs: 2_000,
  popularMs: 3_000,
  customMs: 4_000,
  expiredMs: 5_000,
  negativeMs: 6_000,
};
const dayMs = 86_400_000;
const randomOf = (draw: number) => ({ float: () => draw, bytes: (length: number) => new Uint8Array(length) });
const subject = (overrides: Partial<Link>, rest: Partial<LifetimeSubject> = {}): LifetimeSubject => ({
  link: sampleLink('abc', overrides),
  isPopular: false,
  now: samplesStart + dayMs,
  ...rest,
});

describe('the lifetime in the shared cache', () => {
  test.each<[string, LifetimeSubject, number]>([
    ['of no link', { link: undefined, isPopular: true, now: samplesStart }, 6_000],
    ['of a link like any other', subject({}), 1_000],
    ['of one made within a day', subject({}, { now: samplesStart + dayMs - 1 }), 2_000],
    ['of one that is asked for at its end', subject({ origin: 'custom' }, { isPopular: true }), 3_000],
    ['of a custom alias', subject({ origin: 'custom' }), 4_000],
    ['of one that expired', subject({ expiresAt: samplesStart + dayMs }, { isPopular: true }), 5_000],
    ['of one that will expire', subject({ expiresAt: samplesStart + dayMs + 1 }), 1_000],
    ['of one that was switched off', subject({ status: 'disabled', origin: 'custom' }), 5_000],
    ['of one that was deleted', subject({ status: 'deleted' }), 5_000],
    ['of one that carries a warning', subject({ status: 'quarantined' }), 1_000],
  ])('%s is set by its kind', (_kind, of, expectedMs) => {
    expect(lifetimeOf(of, lifetimes, randomOf(0.5))).toBe(expectedMs);
  });

  test('varies by a tenth in either direction', () => {
    expect(lifetimeOf(subject({}), lifetimes, randomOf(0))).toBe(900);
    expect(lifetimeOf(subject({}), lifetimes, randomOf(0.999_999))).toBeCloseTo(1_100, 2);
  });
});
