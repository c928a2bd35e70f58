import { describe, expect, test } from 'bun:test';
import latest from '../../docs/benchmarks/latest.json' with { type: 'json' };
import { mediansOf } from '../kit/history.ts';
import type { Latest } from '../kit/report.ts';
import {
  figureTable,
  frameClickBytes,
  knownFigures,
  redisLinkBytes,
  unitFigures,
  valueAt,
} from './unit-figures.ts';

const engines = (known: number, shared: number) => ({
  engines: {
    'Redirects and creates by engine, Terse on one core, 64 clients': {
      'Postgres + Redis, redirect, known here': { 'CPU µs of Terse': known },
      'Postgres + Redis, redirect, from the shared cache': { 'CPU µs of Terse': shared },
    },
  },
});
const figureOf = (name: string, ...[medians, given = new Map()]: Partial<Parameters<typeof knownFigures>>) =>
  knownFigures(medians ?? {}, given).find(figure => figure.name === name)!;

describe('a figure per unit', () => {
  test('comes from the table where nothing was recorded, and says from where', () => {
    for (const { name, value, origin, source } of knownFigures({}, new Map())) {
      expect(value).toBe(figureTable[name].value);
      expect(['measured', 'documented', 'assumed']).toContain(origin);
      expect(source).not.toBe('');
    }
  });

  test('comes from what was last recorded where that has it', () => {
    expect(figureOf('sharedCacheUs', engines(10, 40))).toMatchObject({ value: 30, origin: 'recorded' });
    expect(figureOf('sharedCacheUs', engines(40, 10)).origin).toBe('measured');
    expect(figureOf('storeReadUs', engines(10, 40)).origin).toBe('measured');
  });

  test('is what one says it is', () => {
    const figure = figureOf('sharedCacheUs', engines(10, 40), new Map([['sharedCacheUs', 7]]));
    expect(figure).toMatchObject({ value: 7, origin: 'given' });
    expect(unitFigures([figure])).toEqual({ sharedCacheUs: 7 } as ReturnType<typeof unitFigures>);
  });

  test('is found under the names that the recorded benchmarks use', () => {
    const records = Object.entries(latest as unknown as Latest);
    const medians = mediansOf(Object.fromEntries(records.map(([name, { tables }]) => [name, tables])));
    expect(figureOf('redirectUs', medians).origin).toBe('recorded');
    expect(figureOf('workerMb', medians).origin).toBe('recorded');
    if (medians.engines !== undefined) expect(figureOf('sharedCacheUs', medians).origin).toBe('recorded');
  });
});

describe('a curve', () => {
  test('goes through what was measured and evenly between', () => {
    expect(valueAt(redisLinkBytes, 31)).toBe(214);
    expect(valueAt(redisLinkBytes, 95)).toBe(277);
    expect(valueAt(redisLinkBytes, 63)).toBeCloseTo((214 + 277) / 2, 9);
    expect(valueAt(frameClickBytes, 100, Math.log)).toBe(62);
  });

  test('goes on beyond its ends, but clicks do not come for nothing', () => {
    expect(valueAt(redisLinkBytes, 300)).toBeGreaterThan(437);
    expect(valueAt(redisLinkBytes, 10)).toBeLessThan(214);
    expect(valueAt(frameClickBytes, 1e9, Math.log)).toBe(22);
  });
});
