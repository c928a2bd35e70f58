import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom } from '../base/random.ts';
import { RateSketch } from './rate-sketch.ts';

const minute = 60_000;
const start = 29_000_000 * minute;
/** Keys are hashes, and a hash is spread over all 32 bits. */
const keyOf = (name: number): number => Bun.hash.xxHash32(`key ${name}`, 7);

describe('a sketch of rates', () => {
  test('tells no key a lower number than it has within a minute, however many share its places', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { maxLength: 300 }), names => {
        const sketch = new RateSketch({ width: 8 });
        const counts = new Map<number, number>();
        for (const [index, name] of names.entries()) {
          counts.set(name, (counts.get(name) ?? 0) + 1);
          expect(sketch.add(keyOf(name), start + index)).toBeGreaterThanOrEqual(counts.get(name)!);
        }
        for (const [name, count] of counts) {
          expect(sketch.rate(keyOf(name), start + minute - 1)).toBeGreaterThanOrEqual(count);
        }
      }),
    );
  });

  test('is exact for keys that share nothing', () => {
    const sketch = new RateSketch({ width: 65_536 });
    for (let count = 1; count <= 500; count += 1) {
      expect(sketch.add(keyOf(1), start + count)).toBe(count);
      expect(sketch.add(keyOf(count + 1), start + count)).toBe(1);
    }
  });

  test('tells no key of a hundred thousand clicks in a minute more than the bound too much, and most far less', () => {
    const sketch = new RateSketch({ width: 4_096 });
    const random = seededRandom(5);
    const counts = new Map<number, number>();
    const clicks = 100_000;
    for (let index = 0; index < clicks; index += 1) {
      const name = Math.floor(random.float() ** 4 * 50_000);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      sketch.add(keyOf(name), start);
    }
    const bound = (Math.E / 4_096) * clicks;
    const excess = [...counts].map(([name, count]) => sketch.rate(keyOf(name), start) - count);
    expect(Math.max(...excess)).toBeLessThan(bound);
    expect(excess.filter(count => count > bound / 5).length / excess.length).toBeLessThan(Math.E ** -4);
  });

  test('lets the minute before count for as much as the last sixty seconds reach into it', () => {
    const sketch = new RateSketch({ width: 1_024 });
    for (let count = 0; count < 100; count += 1) sketch.add(keyOf(1), start);
    const rates = [0, 15, 30, 45, 59.9].map(second => sketch.rate(keyOf(1), start + minute + second * 1_000));
    expect(rates).toEqual([100, 75, 50, 25, 0]);
    expect(sketch.rate(keyOf(1), start + 2 * minute)).toBe(0);
  });

  test('takes a click that comes a moment late, and begins anew when the clock was set', () => {
    const sketch = new RateSketch({ width: 1_024 });
    sketch.add(keyOf(1), start + minute);
    expect(sketch.add(keyOf(1), start + minute - 5)).toBe(2);
    expect(sketch.add(keyOf(1), start - 60 * minute)).toBe(1);
    expect(sketch.add(keyOf(1), start + 60 * minute)).toBe(1);
  });
});
