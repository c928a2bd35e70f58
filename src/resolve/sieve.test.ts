import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom } from '../base/random.ts';
import { SieveCache } from './sieve.ts';

describe('SIEVE cache', () => {
  test('never holds more than its capacity and always finds what it just stored', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.tuple(fc.constantFrom('get', 'set', 'delete'), fc.integer({ min: 0, max: 15 })), {
          maxLength: 200,
        }),
        (capacity, steps) => {
          const cache = new SieveCache<number>(capacity);
          const latest = new Map<string, number>();
          steps.forEach(([step, n], time) => {
            const key = `k${n}`;
            if (step === 'set') {
              cache.set(key, time);
              latest.set(key, time);
              expect(cache.get(key)).toBe(time);
            } else if (step === 'delete') {
              cache.delete(key);
              latest.delete(key);
              expect(cache.get(key)).toBeUndefined();
            } else {
              const value = cache.get(key);
              if (value !== undefined) expect(value).toBe(latest.get(key)!);
            }
            expect(cache.size).toBeLessThanOrEqual(capacity);
          });
        },
      ),
    );
  });

  test('follows the published example: the hand spares visited keys and goes on from where it stopped', () => {
    const cache = new SieveCache<string>(4);
    for (const key of ['a', 'b', 'c', 'd']) cache.set(key, key);
    cache.get('a');
    cache.get('c');
    cache.set('e', 'e'); // a is spared and loses its bit, b goes
    expect(cache.get('b')).toBeUndefined();
    cache.set('f', 'f'); // the hand stands at c: spared; d goes
    expect(['a', 'c', 'd', 'e', 'f'].filter(key => cache.get(key) !== undefined)).toEqual([
      'a',
      'c',
      'e',
      'f',
    ]);
  });

  test('keeps the warm keys through a scan of cold ones', () => {
    const cache = new SieveCache<number>(100);
    for (let n = 0; n < 100; n += 1) cache.set(`warm${n}`, n);
    for (let n = 0; n < 50; n += 1) cache.get(`warm${n}`);
    for (let n = 0; n < 1_000; n += 1) {
      cache.set(`cold${n}`, n);
      cache.get(`warm${n % 50}`);
    }
    const survivors = Array.from({ length: 50 }, (_, n) => cache.get(`warm${n}`)).filter(
      value => value !== undefined,
    );
    expect(survivors).toHaveLength(50);
  });

  test('clear drops everything and the cache keeps working', () => {
    const cache = new SieveCache<number>(3);
    const random = seededRandom(1);
    for (let n = 0; n < 50; n += 1) cache.set(`k${Math.floor(random.float() * 10)}`, n);
    cache.clear();
    expect(cache.size).toBe(0);
    for (let n = 0; n < 10; n += 1) cache.set(`k${n}`, n);
    expect(cache.size).toBe(3);
  });
});
