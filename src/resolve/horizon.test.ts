import { describe, expect, test } from 'bun:test';
import { Horizon } from './horizon.ts';

const idOf = (code: string): number | undefined => (/^\d+$/.test(code) ? Number(code) : undefined);

describe('horizon', () => {
  test('tells leased ids from those that were never issued, and says nothing of other shapes', () => {
    const horizon = new Horizon(idOf);
    horizon.reset(100, []);
    expect(horizon.judge('99')).toBe('leased');
    expect(horizon.judge('100')).toBe('never issued');
    expect(horizon.judge('my-alias')).toBe('unknown');
  });

  test('knows every claimed id above the mark, whether loaded at the start or heard of later', () => {
    const horizon = new Horizon(idOf);
    const loaded = Array.from({ length: 1_000 }, (_, n) => 500 + n * 7);
    horizon.reset(100, loaded.toReversed());
    horizon.claim(123);
    for (const id of [...loaded, 123]) expect(horizon.judge(String(id))).toBe('unknown');
    for (const id of [101, 499, 501, 7_494, 1e15]) expect(horizon.judge(String(id))).toBe('never issued');
    expect(horizon.claims).toBe(1_001);
  });

  test('the mark never falls, however late old news arrive', () => {
    const horizon = new Horizon(idOf);
    horizon.raise(200);
    horizon.raise(150);
    horizon.reset(120, []);
    expect(horizon.mark).toBe(200);
  });
});
