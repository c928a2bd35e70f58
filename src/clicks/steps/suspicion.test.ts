import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom } from '../../base/random.ts';
import { type ClickSignal, clickSignals } from '../click.ts';
import { RateSketch, Suspicion } from './suspicion.ts';

const at = Date.UTC(2026, 5, 1, 12);
const minute = 60_000;

const start = (rates: { addressRate?: number; agentRate?: number }) =>
  new Suspicion({ addressRate: 0, agentRate: 0, groupOf: address => address, seed: 1, ...rates });

/** The signals of clicks, each a moment after the last. */
const judged = (suspicion: Suspicion, visitors: readonly [address: string, agent: string][], from = at) =>
  visitors.map(([address, agent], index): ClickSignal => {
    const signal = suspicion.judge(suspicion.keysOf(address, agent), from + index);
    return clickSignals[signal]!;
  });
const repeated = (count: number, visitor: [string, string]) => Array<[string, string]>(count).fill(visitor);
const suspects = (signals: readonly ClickSignal[]) => signals.filter(signal => signal !== 'none').length;

describe('a suspicious click', () => {
  test('is one beyond the rate of its address, with whatever agents', () => {
    const suspicion = start({ addressRate: 5 });
    const visitors = Array.from({ length: 8 }, (_, n): [string, string] => ['192.0.2.1', `agent ${n}`]);
    expect(judged(suspicion, visitors)).toEqual([
      ...Array<ClickSignal>(5).fill('none'),
      ...Array<ClickSignal>(3).fill('address'),
    ]);
    expect(judged(suspicion, [['192.0.2.2', 'agent 1']])).toEqual(['none']);
  });

  test('is no longer one when its address has slowed down', () => {
    const suspicion = start({ addressRate: 5 });
    expect(suspects(judged(suspicion, repeated(20, ['192.0.2.1', 'a'])))).toBe(15);
    expect(suspects(judged(suspicion, repeated(5, ['192.0.2.1', 'a']), at + 2 * minute))).toBe(0);
  });

  test('is one of an agent that makes many clicks from few addresses', () => {
    const suspicion = start({ agentRate: 100 });
    const visitors = Array.from({ length: 200 }, (_, n): [string, string] => [`192.0.2.${n % 5}`, 'tool/1']);
    const signals = judged(suspicion, visitors);
    expect(signals.slice(0, 100).every(signal => signal === 'none')).toBe(true);
    expect(signals.slice(100).every(signal => signal === 'agent')).toBe(true);
    expect(judged(suspicion, [['192.0.2.1', 'other/1']])).toEqual(['none']);
  });

  test('is none of a browser that many people have, however many clicks they make together', () => {
    const suspicion = start({ agentRate: 100 });
    const people = Array.from({ length: 50_000 }, (_, n): [string, string] => [
      `10.${n >> 15}.${(n >> 7) & 255}.${(n >> 1) & 63}`,
      'Chrome',
    ]);
    expect(suspects(judged(suspicion, people))).toBe(0);
  });

  test('belongs to the group of its address, such as a network', () => {
    const suspicion = new Suspicion({
      addressRate: 3,
      agentRate: 0,
      groupOf: address => address.split('::')[0]!,
      seed: 1,
    });
    const visitors = Array.from({ length: 5 }, (_, n): [string, string] => [`2001:db8:1:2::${n}`, 'a']);
    expect(suspects(judged(suspicion, visitors))).toBe(2);
  });

  test('is never one when no rate is set', () => {
    expect(suspects(judged(start({}), repeated(10_000, ['192.0.2.1', 'a'])))).toBe(0);
  });

  test('is counted by the signal that exposed it', () => {
    const suspicion = start({ addressRate: 150, agentRate: 100 });
    judged(suspicion, repeated(200, ['192.0.2.1', 'tool/1']));
    expect(suspicion.found).toEqual({ agent: 50, address: 50 });
  });
});

const begin = 29_000_000 * minute;
/** Keys are hashes, and a hash is spread over all 32 bits. */
const keyOf = (name: number): number => Bun.hash.xxHash32(`key ${name}`, 7);

describe('a sketch of rates', () => {
  test('never reports a lower number for a key than it has within a minute, however many share its cells', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { maxLength: 300 }), names => {
        const sketch = new RateSketch({ width: 8 });
        const counts = new Map<number, number>();
        for (const [index, name] of names.entries()) {
          counts.set(name, (counts.get(name) ?? 0) + 1);
          expect(sketch.add(keyOf(name), begin + index)).toBeGreaterThanOrEqual(counts.get(name)!);
        }
        for (const [name, count] of counts) {
          expect(sketch.rate(keyOf(name), begin + minute - 1)).toBeGreaterThanOrEqual(count);
        }
      }),
    );
  });

  test('is exact for keys that share nothing', () => {
    const sketch = new RateSketch({ width: 65_536 });
    for (let count = 1; count <= 500; count += 1) {
      expect(sketch.add(keyOf(1), begin + count)).toBe(count);
      expect(sketch.add(keyOf(count + 1), begin + count)).toBe(1);
    }
  });

  test('with a hundred thousand clicks in a minute, overestimates no key by more than the bound, and most far less', () => {
    const sketch = new RateSketch({ width: 4_096 });
    const random = seededRandom(5);
    const counts = new Map<number, number>();
    const clicks = 100_000;
    for (let index = 0; index < clicks; index += 1) {
      const name = Math.floor(random.float() ** 4 * 50_000);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      sketch.add(keyOf(name), begin);
    }
    const bound = (Math.E / 4_096) * clicks;
    const excess = [...counts].map(([name, count]) => sketch.rate(keyOf(name), begin) - count);
    expect(Math.max(...excess)).toBeLessThan(bound);
    expect(excess.filter(count => count > bound / 5).length / excess.length).toBeLessThan(Math.E ** -4);
  });

  test('weights the minute before by the share of it within the last sixty seconds', () => {
    const sketch = new RateSketch({ width: 1_024 });
    for (let count = 0; count < 100; count += 1) sketch.add(keyOf(1), begin);
    const rates = [0, 15, 30, 45, 59.9].map(second => sketch.rate(keyOf(1), begin + minute + second * 1_000));
    expect(rates).toEqual([100, 75, 50, 25, 0]);
    expect(sketch.rate(keyOf(1), begin + 2 * minute)).toBe(0);
  });

  test('accepts a click that comes a moment late, and starts again when the clock was set', () => {
    const sketch = new RateSketch({ width: 1_024 });
    sketch.add(keyOf(1), begin + minute);
    expect(sketch.add(keyOf(1), begin + minute - 5)).toBe(2);
    expect(sketch.add(keyOf(1), begin - 60 * minute)).toBe(1);
    expect(sketch.add(keyOf(1), begin + 60 * minute)).toBe(1);
  });
});
