import { expect, test } from 'bun:test';
import { faultOf, rateNote } from './sustainable.ts';

const good = { failures: 0, dropped: 0, p99Ms: 9, lagP99Ms: 0.1, coreShare: 0.9 };

test('a rate is sustainable only without failed visits, dropped clicks, waiting visitors and work left over', () => {
  expect(faultOf(good, 50)).toBeUndefined();
  expect(faultOf({ ...good, failures: 1 }, 50)).toContain('1 were not served');
  expect(faultOf({ ...good, dropped: 2_000 }, 50)).toContain('2,000 clicks');
  expect(faultOf({ ...good, p99Ms: 51 }, 50)).toContain('51.0 ms, with the client late by 0.1 ms');
  expect(faultOf({ ...good, coreShare: 1.3 }, 50)).toContain('130%');
});

test('where the system does not report the cost, the rest decides', () => {
  expect(faultOf({ ...good, coreShare: Number.NaN }, 50)).toBeUndefined();
});

test('a rate that never held is not called sustainable', () => {
  const rate = { peakPerSecond: 1_000, perSecond: 500 };
  expect(rateNote('one link', { ...rate, isHeld: true })).toBe(
    'one link: 1,000/s in a closed loop, 500/s are sustainable.',
  );
  expect(rateNote('one link', { ...rate, isHeld: false })).not.toContain('are sustainable');
});
