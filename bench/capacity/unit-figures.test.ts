import { describe, expect, test } from 'bun:test';
import {
  figureTable,
  frameClickBytes,
  knownFigures,
  redisLinkBytes,
  unitFigures,
  valueAt,
} from './unit-figures.ts';

describe('a figure per unit', () => {
  test('comes from the table and says from where', () => {
    for (const { name, value, origin, source } of knownFigures(new Map())) {
      expect(value).toBe(figureTable[name].value);
      expect(['measured', 'documented', 'assumed']).toContain(origin);
      expect(source).not.toBe('');
    }
  });

  test('is overridden by what is given', () => {
    const figures = knownFigures(new Map([['sharedCacheUs', 7]]));
    expect(figures.find(({ name }) => name === 'sharedCacheUs')).toMatchObject({ value: 7, origin: 'given' });
    expect(unitFigures(figures).sharedCacheUs).toBe(7);
  });
});

describe('a curve', () => {
  test('goes through what was measured and evenly between', () => {
    expect(valueAt(redisLinkBytes, 31)).toBe(214);
    expect(valueAt(redisLinkBytes, 95)).toBe(277);
    expect(valueAt(redisLinkBytes, 63)).toBeCloseTo((214 + 277) / 2, 9);
    expect(valueAt(frameClickBytes, 100, Math.log)).toBe(62);
  });

  test('extends beyond its ends, but clicks are never free', () => {
    expect(valueAt(redisLinkBytes, 300)).toBeGreaterThan(437);
    expect(valueAt(redisLinkBytes, 10)).toBeLessThan(214);
    expect(valueAt(frameClickBytes, 1e9, Math.log)).toBe(22);
  });
});
