import { describe, expect, test } from 'bun:test';
import { BloomFilter } from './bloom-filter.ts';

describe('a Bloom filter', () => {
  test('never denies what was added', () => {
    const filter = new BloomFilter({ capacity: 1_000, falsePositiveRate: 0.01 });
    // Far beyond its capacity, where only the rate may suffer.
    for (let index = 0; index < 5_000; index += 1) filter.add(`code${index}`);
    for (let index = 0; index < 5_000; index += 1) expect(filter.mayHave(`code${index}`)).toBe(true);
  });

  test.each([0.1, 0.01, 0.001])('when full says maybe to strangers at its rate of %d', rate => {
    const filter = new BloomFilter({ capacity: 20_000, falsePositiveRate: rate });
    for (let index = 0; index < 20_000; index += 1) filter.add(`known${index}`);
    let maybe = 0;
    for (let index = 0; index < 200_000; index += 1) if (filter.mayHave(`stranger${index}`)) maybe += 1;
    expect(maybe / 200_000).toBeLessThan(rate * 1.25);
    expect(maybe / 200_000).toBeGreaterThan(rate * 0.75);
  });

  test('takes ten bits per string for a rate of one percent', () => {
    const filter = new BloomFilter({ capacity: 1_000_000, falsePositiveRate: 0.01 });
    expect(filter.bitCount / 1_000_000).toBeCloseTo(9.585, 2);
  });

  test('denies everything while empty', () => {
    expect(new BloomFilter({ capacity: 1, falsePositiveRate: 0.5 }).mayHave('code')).toBe(false);
  });

  test.each([
    [0, 0.01],
    [1e9, 0.01],
    [10, 0],
    [10, 1],
  ])('refuses capacity %d with rate %d', (capacity, falsePositiveRate) => {
    expect(() => new BloomFilter({ capacity, falsePositiveRate })).toThrow();
  });
});
