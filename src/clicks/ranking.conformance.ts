/** The contract of the ranking of an owner's links; part of `warehouse.conformance.ts`. */
import { expect, test } from 'bun:test';
import { type SampleClick, samplesStart } from './batch-samples.ts';
import { partition } from './fake-warehouse-truth.ts';
import { grainMs, type RankedLink, type RankingQuestion, type Warehouse } from './warehouse.ts';

/** Clicks of a link, on several days. */
const clicksOf = (code: string, count: number, more: Partial<SampleClick> = {}): SampleClick[] =>
  Array.from({ length: count }, (_, n) => ({
    code,
    at: samplesStart + n * grainMs.day,
    visitor: n,
    ...more,
  }));

export function rankingConformance(warehouse: () => Warehouse): void {
  const ranking = (more: Partial<RankingQuestion> = {}): Promise<RankedLink[]> =>
    warehouse().ranking({
      ownerId: 'acc_1',
      order: 'most',
      after: undefined,
      limit: 100,
      codes: undefined,
      ...more,
    });
  const pages = async (order: RankingQuestion['order'], limit: number): Promise<RankedLink[]> => {
    const all: RankedLink[] = [];
    for (;;) {
      const page = await ranking({ order, limit, after: all.at(-1) });
      expect(page.length).toBeLessThanOrEqual(limit);
      if (page.length === 0) return all;
      all.push(...page);
    }
  };

  test('ranks an owner’s links by the clicks of people, each once, in pages of any size and either order', async () => {
    const ties = Array.from({ length: 9 }, (_, n) => `Tie${n}`);
    await warehouse().apply(
      partition(
        'p',
        [
          ...clicksOf('few', 2),
          ...clicksOf('few', 50, { kind: 'bot' }),
          ...clicksOf('most', 5),
          ...ties.flatMap(code => clicksOf(code, 3)),
          ...clicksOf('bots', 4, { kind: 'bot' }),
          ...clicksOf('foreign', 9, { ownerId: 'acc_2' }),
          ...clicksOf('nobodys', 9, { ownerId: null }),
        ],
        20,
      ),
    );
    const expected: RankedLink[] = [
      { code: 'most', clicks: 5 },
      ...ties.toReversed().map(code => ({ code, clicks: 3 })),
      { code: 'few', clicks: 2 },
    ];
    for (const limit of [4, 100]) {
      expect(await pages('most', limit)).toEqual(expected);
      expect(await pages('least', limit)).toEqual(expected.toReversed());
    }
    expect(await ranking({ codes: ['few', 'bots', 'Tie4', 'foreign', 'unknown'] })).toEqual([
      { code: 'Tie4', clicks: 3 },
      { code: 'few', clicks: 2 },
    ]);
    expect(await ranking({ codes: [] })).toEqual([]);
    expect(await ranking({ ownerId: 'acc_3' })).toEqual([]);
    expect(await ranking({ ownerId: "acc_1' OR 1 = 1 --" })).toEqual([]);
  });

  test('ranks by what was counted since a link’s clicks were forgotten, and goes on counting', async () => {
    await warehouse().apply(partition('p', [...clicksOf('a', 4), ...clicksOf('b', 2)], 3));
    await warehouse().forget('a', samplesStart + 100 * grainMs.day);
    expect(await ranking()).toEqual([{ code: 'b', clicks: 2 }]);
    const later = clicksOf('a', 1, { at: samplesStart + 100 * grainMs.day });
    await warehouse().apply(partition('q', [...later, ...clicksOf('b', 1)], 3));
    expect(await ranking()).toEqual([
      { code: 'b', clicks: 3 },
      { code: 'a', clicks: 1 },
    ]);
  });
}
