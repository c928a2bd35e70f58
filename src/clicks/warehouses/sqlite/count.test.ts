import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { heavyTestMaxMs } from '../../../../test/kit/scale.ts';
import { seededRandom } from '../../../base/random.ts';
import { type DimensionName, dimensionNames } from '../../dimensions.ts';
import { addValues, type StoredDimensions } from './count.ts';

setDefaultTimeout(heavyTestMaxMs);

const listMin = 1_000;
const listMax = 1_100;
const other = '(other)';

/** As a day's row lives: each batch finds it as text and leaves it as text. */
class Day {
  text = '{}';
  /** What was counted in truth. */
  readonly truth = new Map<string, number>();

  add(values: Iterable<string>): this {
    const referrer = new Map<string, number>();
    for (const value of values) referrer.set(value, (referrer.get(value) ?? 0) + 1);
    for (const [value, clicks] of referrer) this.truth.set(value, (this.truth.get(value) ?? 0) + clicks);
    const none = Object.fromEntries(dimensionNames.map(name => [name, new Map<string, number>()]));
    const more = { ...(none as Record<DimensionName, Map<string, number>>), referrer };
    this.text = JSON.stringify(addValues(JSON.parse(this.text) as StoredDimensions, more));
    return this;
  }

  get shown(): Map<string, number> {
    return new Map(Object.entries((JSON.parse(this.text) as StoredDimensions).referrer ?? {}));
  }

  get clicks(): number {
    return [...this.truth.values()].reduce((sum, clicks) => sum + clicks, 0);
  }

  expectSound(shortestList = listMin): void {
    const { shown, truth, clicks } = this;
    expect([...shown.values()].reduce((sum, count) => sum + count, 0)).toBe(clicks);
    expect(shown.size).toBeLessThanOrEqual(listMax + 1);
    const missable = truth.size <= shortestList ? 0 : Math.floor(clicks / shortestList);
    const wrong = [...truth].filter(([value, count]) => {
      const missing = count - (shown.get(value) ?? 0);
      return missing < 0 || missing > missable;
    });
    expect(wrong).toEqual([]);
  }
}

const invented = (count: number, ending = 'invented.example'): string[] =>
  Array.from({ length: count }, (_, n) => `site${n}.${ending}`);
const chunks = function* <Value>(values: readonly Value[], size: number): Generator<Value[]> {
  for (let from = 0; from < values.length; from += size) yield values.slice(from, from + size);
};

describe('the values of a day', () => {
  test('are exact as long as there is room for all of them', () => {
    const day = new Day().add(invented(1_000)).add(invented(700));
    expect(day.shown).toEqual(day.truth);
  });

  test.each([25, 8_192])('keep a real one of one click in a hundred, in batches of %d', size => {
    const early = new Day();
    const late = new Day();
    const mixed = new Day();
    const flood = [...invented(5_000), ...invented(4_900)];
    const real = Array.from({ length: 100 }, () => 'real.example');
    const clicks = flood.flatMap((value, index) => (index % 99 === 98 ? [value, 'real.example'] : [value]));
    for (const chunk of chunks([...real, ...flood], size)) early.add(chunk);
    for (const chunk of chunks([...flood, ...real], size)) late.add(chunk);
    for (const chunk of chunks(clicks, size)) mixed.add(chunk);
    for (const day of [early, late, mixed]) {
      day.expectSound();
      expect(day.truth.get('real.example')).toBe(100);
      expect(day.shown.get('real.example')).toBeGreaterThanOrEqual(90);
    }
    expect(early.shown.get('real.example')).toBe(100);
  });

  test('keep what came before a flood to the click', () => {
    const day = new Day();
    for (let n = 0; n < 50; n += 1) day.add(['', 'news.example']);
    for (const chunk of chunks(invented(20_000), 50)) day.add(chunk);
    expect(day.shown.get('news.example')).toBe(50);
    expect(day.shown.get('')).toBe(50);
    day.expectSound();
  });

  test('let a real one in though every invented one has more clicks than it has at first', () => {
    const day = new Day();
    for (let n = 0; n < 40; n += 1) day.add(invented(1_000));
    for (const chunk of chunks(invented(50_000, 'once.example'), 100)) day.add([...chunk, 'real.example']);
    expect(day.shown.get('real.example')).toBeGreaterThan(450);
    day.expectSound();
  });

  test('stay within a bounded number of bytes, however long the names are', () => {
    const day = new Day();
    const long = (n: number): string => `${n}.${'a'.repeat(250)}`.slice(0, 253);
    for (let n = 0; n < 3_000; n += 20) day.add(Array.from({ length: 20 }, (_, m) => long(n + m)));
    expect(day.text.length).toBeLessThan(80_000);
    day.expectSound(237);
    for (let n = 3_000; n < 6_000; n += 20)
      day.add([...Array.from({ length: 20 }, (_, m) => long(n + m)), 'real.example']);
    expect(day.shown.get('real.example')).toBeGreaterThan(130);
    day.expectSound(237);
  });

  test('may have any name', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'floors', '7', '', other];
    const day = new Day().add(names).add(names).add(invented(1_200)).add(names).add(names);
    for (const name of names) if (name !== other) expect(day.shown.get(name)).toBe(4);
    expect([...day.shown.values()].reduce((sum, count) => sum + count)).toBe(1_200 + 4 * names.length);
  });

  test('that are named like our word for the rest give those that come later no head start', () => {
    const day = new Day().add([...Array.from({ length: 20 }, () => 'real.example'), other]);
    for (const chunk of chunks(invented(1_500), 10)) day.add(chunk);
    expect(day.shown.get('real.example')).toBe(20);
  });

  test('of a list that an earlier version filled with the first to come are evicted', () => {
    const day = new Day();
    for (const value of [...invented(1_000), other]) day.truth.set(value, 2);
    day.text = JSON.stringify({ referrer: Object.fromEntries(day.truth) });
    for (let n = 0; n < 50; n += 1) day.add([...invented(99, `${n}.example`), 'real.example']);
    expect(day.shown.get('real.example')).toBeGreaterThan(45);
    expect([...day.shown.values()].reduce((sum, count) => sum + count)).toBe(day.clicks);
  });

  test('obey the bounds for any traffic, cut in any way', () => {
    const waves = fc.array(fc.tuple(fc.nat(3_000), fc.integer({ min: 1, max: 4_000 }), fc.nat(800)), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(waves, fc.integer({ min: 20, max: 300 }), fc.integer(), (plan, batchSize, seed) => {
        const random = seededRandom(seed);
        const day = new Day();
        for (const [first, width, clicks] of plan) {
          const name = () => `site${first + Math.floor(random.float() ** 2 * width)}`;
          for (const chunk of chunks(Array.from({ length: clicks }, name), batchSize)) day.add(chunk);
        }
        day.expectSound();
      }),
      { numRuns: 20 },
    );
  });
});
