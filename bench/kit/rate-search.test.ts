import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { searchRate } from './rate-search.ts';

const search = async (limit: number, changes: object = {}) => {
  const tried: number[] = [];
  const found = await searchRate({
    from: 950,
    above: 1_000,
    precision: 1.1,
    trialsMax: 6,
    async holds(rate) {
      tried.push(rate);
      return rate <= limit;
    },
    ...changes,
  });
  return { ...found, tried };
};

test('a first rate that holds and is close to the limit is not tried again', async () => {
  expect(await search(990)).toEqual({ best: 950, lowest: 950, tried: [950] });
});

test('the rate found holds, and one that is higher by the precision does not', async () => {
  await fc.assert(
    fc.asyncProperty(fc.double({ min: 200, max: 1_000, noNaN: true }), async limit => {
      const { best } = await search(limit, { trialsMax: 10 });
      expect(best).toBeLessThanOrEqual(limit);
      expect(best! * 1.1).toBeGreaterThanOrEqual(Math.min(limit, 1_000) * 0.999);
    }),
  );
});

test('makes no more trials than allowed, and finds no rate that never held', async () => {
  const { best, lowest, tried } = await search(0, { trialsMax: 3 });
  expect(tried.map(Math.round)).toEqual([950, 665, 465]);
  expect(best).toBeUndefined();
  expect(lowest).toBe(tried.at(-1)!);
});
