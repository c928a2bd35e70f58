import { describe, expect, test } from 'bun:test';
import { Horizon } from './horizon.ts';

const idOf = (code: string): number | undefined => (/^\d+$/.test(code) ? Number(code) : undefined);
const upTo = (mark: number) => [{ first: 0, mark }];

describe('horizon', () => {
  test('distinguishes leased ids from those never issued, and does not judge other shapes', () => {
    const horizon = new Horizon(idOf);
    horizon.reset(upTo(100), []);
    expect(horizon.judge('99')).toBe('leased');
    expect(horizon.judge('100')).toBe('never issued');
    expect(horizon.judge('my-alias')).toBe('unknown');
  });

  test('knows the leases of every region, each from its own start', () => {
    const horizon = new Horizon(idOf);
    horizon.reset([...upTo(100), { first: 1_000, mark: 1_050 }], []);
    horizon.raise([{ first: 2_000, mark: 2_001 }]);
    for (const id of [0, 99, 1_000, 1_049, 2_000]) expect(horizon.judge(String(id))).toBe('leased');
    for (const id of [100, 999, 1_050, 1_999, 2_001]) expect(horizon.judge(String(id))).toBe('never issued');
  });

  test('knows every claimed id that is not leased, whether loaded at the start or learned later', () => {
    const horizon = new Horizon(idOf);
    const loaded = Array.from({ length: 1_000 }, (_, n) => 500 + n * 7);
    horizon.reset(upTo(100), loaded.toReversed());
    horizon.claim(123);
    for (const id of [...loaded, 123]) expect(horizon.judge(String(id))).toBe('unknown');
    for (const id of [101, 499, 501, 7_494, 1e15]) expect(horizon.judge(String(id))).toBe('never issued');
    expect(horizon.claims).toBe(1_001);
  });

  test('no mark ever decreases, however late old updates arrive', () => {
    const horizon = new Horizon(idOf);
    horizon.raise(upTo(200));
    horizon.raise(upTo(150));
    horizon.reset(upTo(120), []);
    expect(horizon.spans).toEqual(upTo(200));
  });
});
