/** The contract of recent single clicks; part of `warehouse.conformance.ts`. */
import { expect, test } from 'bun:test';
import { announcedRandom } from '../../test/kit/announced-random.ts';
import { RandomQuestions } from '../../test/kit/random-questions.ts';
import { heavyTestMaxMs, scaled } from '../../test/kit/scale.ts';
import { type SampleClick, samplesStart } from './batch-samples.ts';
import { link, partition, randomTraffic, sampledRange, Truth } from './fake-warehouse-truth.ts';
import { grainMs, type RecentQuestion, type Scope, type Warehouse } from './warehouse.ts';

const owner: Scope = { kind: 'owner', ownerId: 'acc_1' };
const newest = { ...sampledRange, filters: [], skip: 0, limit: 50 };

export function recentConformance(warehouse: () => Warehouse, isPlanned: boolean): void {
  const recent = async (question: RecentQuestion) => (await warehouse().recent(question)).clicks;

  test(
    'shows the newest clicks of any scope, range and filters, as looking at each would',
    async () => {
      const random = announcedRandom('recent clicks');
      const clicks = randomTraffic(random, 3_000, 4);
      const truth = new Truth(clicks);
      for (const batch of partition('p', clicks, 400)) await warehouse().apply([batch]);
      await warehouse().maintain({ now: samplesStart, singlesFrom: 0, minutesFrom: 0, rowsMax: 2_000 });
      const world = truth.world();
      const questions = new RandomQuestions(random, world);
      for (const { from, to, filters } of questions.take(scaled(isPlanned ? 6 : 15, 400))) {
        for (const scopes of [world.links.slice(0, 3), [owner], world.tags.slice(0, 1)]) {
          const question = {
            scopes,
            filters,
            from: from + Math.floor(random.float() * 1_000),
            to: to + Math.floor(random.float() * 1_000),
            skip: Math.floor(random.float() * 5),
            limit: 1 + Math.floor(random.float() * 60),
          };
          expect({ question, clicks: await recent(question) }).toEqual({
            question,
            clicks: truth.recent(question),
          });
        }
      }
    },
    heavyTestMaxMs,
  );

  test('shows in pages every click once, also those of one moment', async () => {
    const clicks: SampleClick[] = Array.from({ length: 200 }, (_, n) => ({
      at: samplesStart + (n % 3),
      code: `link${n % 5}`,
      browser: `Browser ${n % 7}`,
      visitor: n,
    }));
    for (const batch of partition('p', clicks, 70)) await warehouse().apply([batch]);
    const all = { ...newest, scopes: [owner], limit: 200 };
    const whole = await recent(all);
    const pages: unknown[] = [];
    for (let skip = 0; skip < 30; skip += 6) pages.push(...(await recent({ ...all, skip, limit: 6 })));
    expect(whole).toHaveLength(200);
    expect(pages).toEqual(whole.slice(0, 30));
    expect(await recent({ ...all, from: samplesStart, to: samplesStart + 1 })).toHaveLength(67);
  });

  test('deleted clicks of a link are not shown, neither of the link nor of its owner', async () => {
    const clicks: SampleClick[] = [0, 10, 20].flatMap(at => [
      { at: samplesStart + at, code: 'gone' },
      { at: samplesStart + at, code: 'kept' },
    ]);
    await warehouse().apply(partition('p', clicks, 2));
    await warehouse().forget('gone', samplesStart + 15);
    const codes = async (scope: Scope) =>
      (await recent({ ...newest, scopes: [scope] })).map(({ code, at }) => [code, at - samplesStart]);
    expect(await codes(link('gone'))).toEqual([['gone', 20]]);
    expect(await codes(owner)).toEqual([
      ['gone', 20],
      ['kept', 20],
      ['kept', 10],
      ['kept', 0],
    ]);
  });

  test('says nothing is missing while all single clicks are kept', async () => {
    await warehouse().apply(partition('p', [{ at: samplesStart + grainMs.day }], 1));
    expect((await warehouse().recent({ ...newest, scopes: [owner] })).coveredFrom).toBe(0);
  });
}
