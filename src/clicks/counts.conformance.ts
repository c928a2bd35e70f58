/** The contract of answers to questions; part of `warehouse.conformance.ts`. */
import { expect, test } from 'bun:test';
import { announcedRandom } from '../../test/kit/announced-random.ts';
import { RandomQuestions } from '../../test/kit/random-questions.ts';
import { heavyTestMaxMs, scaled } from '../../test/kit/scale.ts';
import { seededRandom } from '../base/random.ts';
import { type SampleClick, sampleBatch, samplesStart } from './batch-samples.ts';
import {
  allLists,
  link,
  mismatches,
  partition,
  randomTraffic,
  sampledRange,
  startsEvery,
  Truth,
} from './fake-warehouse-truth.ts';
import { Sketch } from './sketch/sketch.ts';
import { grainMs, otherValue, type Question, type Scope, type Warehouse } from './warehouse.ts';

const { from, to } = sampledRange;
const plain = { from, to, starts: [], filters: [], breakdowns: [] };
const owner: Scope = { kind: 'owner', ownerId: 'acc_1' };

/** One click each of enough visitors that their number is overestimated. */
function overestimatedVisitors(): SampleClick[] {
  for (let first = 0; ; first += 1_500) {
    const clicks = Array.from({ length: 1_500 }, (_, index) => ({
      at: samplesStart,
      visitor: first + index,
    }));
    const { visitorHigh, visitorLow } = sampleBatch(1, clicks);
    const sketch = new Sketch();
    for (const [index, high] of visitorHigh.entries()) sketch.add(high, visitorLow[index]!);
    if (sketch.estimate() > clicks.length) return clicks;
  }
}

export function countsConformance(warehouse: () => Warehouse, isPlanned: boolean): void {
  test(
    'answers questions by chance as counting by hand does',
    async () => {
      const random = announcedRandom('questions by chance');
      const clicks = randomTraffic(random, 6_000, 5);
      const truth = new Truth(clicks);
      for (const batch of partition('p', clicks, 700)) await warehouse().apply([batch]);
      const questions = new RandomQuestions(random, truth.world());
      expect(
        await mismatches(warehouse(), truth, questions.take(scaled(isPlanned ? 100 : 250, 2_500))),
      ).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test('counts several scopes together, in ranges of any length', async () => {
    const clicks = randomTraffic(seededRandom(7), 5_000);
    await warehouse().apply(partition('p', clicks, 512));
    const truth = new Truth(clicks);
    const asked: Scope[][] = [
      [link('link0'), link('nobody'), link('link3')],
      // Clicks of a link are listed by their link for its owner and the tag, and not for the link itself.
      [owner, { kind: 'tag', ownerId: 'acc_1', tag: 'a' }, link('link0')],
      [link('nobody')],
    ];
    // Within a minute, around midnight, within a quarter hour, across several of them, from before the first click, and
    // after the last.
    for (const [early, late] of [
      [0, grainMs.minute],
      [grainMs.day / 2 - 4 * grainMs.minute, grainMs.day / 2 + 3 * grainMs.minute],
      [2 * grainMs.minute, 9 * grainMs.minute],
      [7 * grainMs.minute, 29 * grainMs.minute],
      [14 * grainMs.minute, grainMs.day + 5 * grainMs.minute],
      [-grainMs.day, 3 * grainMs.day],
      [6 * grainMs.day, 7 * grainMs.day],
    ] as const) {
      const range = { from: samplesStart + early, to: samplesStart + late };
      const questions = asked.map(scopes => ({
        ...plain,
        ...range,
        scopes,
        starts: startsEvery(Math.max(grainMs.minute, (late - early) / 96), range).map(
          start => start - (start % grainMs.minute),
        ),
        breakdowns: allLists,
      }));
      expect(await mismatches(warehouse(), truth, questions)).toEqual([]);
    }
  });

  test('knows the last click of all time, bots’ included', async () => {
    const at = (day: number): number => samplesStart + day * grainMs.day;
    const clicks: SampleClick[] = [0, 4, 2].map(day => ({ at: at(day) }));
    await warehouse().apply(partition('p', [...clicks, { at: at(4) + 1, kind: 'bot' }], 2));
    expect(await warehouse().total(link('abc'))).toEqual({
      clicks: 3,
      bots: 1,
      suspicious: 0,
      lastClickAt: at(4) + 1,
    });
    expect((await warehouse().total(owner)).lastClickAt).toBe(at(4) + 1);
    expect((await warehouse().total(link('nobody'))).lastClickAt).toBeNull();
  });

  test('a question without a series, a list or a scope has an answer', async () => {
    await warehouse().apply(partition('p', [{ at: samplesStart }], 1));
    const none = { counts: { clicks: 0, bots: 0, suspicious: 0 }, series: [], visitors: 0, breakdowns: [] };
    expect(await warehouse().answer({ ...plain, scopes: [] })).toMatchObject(none);
    expect(await warehouse().answer({ ...plain, scopes: [link('abc')] })).toMatchObject({
      ...none,
      counts: { clicks: 1, bots: 0, suspicious: 0 },
      visitors: 1,
    });
  });

  test('lists come in pages, and can be searched in any case', async () => {
    const clicks = Array.from({ length: 60 }, (_, n) => ({
      at: samplesStart + n,
      visitor: n,
      referrer: `Site${n % 12}.example`,
      referrerUrl: '',
    }));
    await warehouse().apply(partition('p', clicks, 7));
    const truth = new Truth(clicks);
    const pages = [0, 5, 10, 12, 500].flatMap(offset =>
      ['', 'site1', 'SITE1', '.', 'nothing', "'", '%', '_', '\\'].map(search => ({
        dimension: 'referrer' as const,
        offset,
        limit: 5,
        search,
      })),
    );
    const filters = [{ dimension: 'country' as const, values: ['DE'], isExcluded: false }];
    const questions = [[], filters].map(each => ({
      ...plain,
      scopes: [link('abc')],
      filters: each,
      breakdowns: pages,
    }));
    expect(await mismatches(warehouse(), truth, questions)).toEqual([]);
  });

  test('a filter selects bots as well as people, and all filters must match', async () => {
    const clicks: SampleClick[] = [
      { at: samplesStart, country: 'DE', browser: 'Firefox', visitor: 1 },
      { at: samplesStart, country: 'DE', browser: 'Chrome', visitor: 2 },
      { at: samplesStart, country: 'DE', browser: 'Chrome', kind: 'bot' },
      { at: samplesStart, country: 'JP', browser: 'Chrome', kind: 'preview' },
    ];
    await warehouse().apply(partition('p', clicks, 4));
    const answer = async (...filters: Question['filters']) => {
      const { counts, visitors, breakdowns } = await warehouse().answer({
        ...plain,
        scopes: [link('abc')],
        filters,
        breakdowns: [{ dimension: 'bot', offset: 0, limit: 9, search: '' }],
      });
      return [counts.clicks, counts.bots, visitors, breakdowns[0]!.values.map(({ value }) => value).join()];
    };
    const isGerman = { dimension: 'country', values: ['DE'], isExcluded: false } as const;
    const isChrome = { dimension: 'browser', values: ['Chrome', 'Opera'], isExcluded: false } as const;
    expect(await answer(isGerman)).toEqual([2, 1, 2, 'bot']);
    expect(await answer(isGerman, isChrome)).toEqual([1, 1, 1, 'bot']);
    expect(await answer({ ...isGerman, isExcluded: true })).toEqual([0, 1, 0, 'preview']);
    expect(await answer({ ...isGerman, values: ['XX'] })).toEqual([0, 0, 0, '']);
    expect(await answer({ ...isGerman, values: ['XX'], isExcluded: true })).toEqual([2, 2, 2, 'bot,preview']);
    expect(await answer({ dimension: 'bot', values: [''], isExcluded: false })).toEqual([2, 0, 2, '']);
    expect(await answer({ dimension: 'bot', values: ['bot'], isExcluded: false })).toEqual([0, 1, 0, 'bot']);
    expect(await answer({ dimension: 'link', values: ['abc'], isExcluded: true })).toEqual([0, 0, 0, '']);
  });

  test('values may be any text', async () => {
    const names = [
      '__proto__',
      'constructor',
      "it's",
      '"',
      '\\',
      '%',
      '_',
      '7',
      '',
      'ÄÖ',
      '💥',
      'a\tb',
      'x'.repeat(500),
    ];
    const clicks = names.map((utmSource, n) => ({
      at: samplesStart + n,
      visitor: n,
      utmSource,
      utmTerm: utmSource,
    }));
    await warehouse().apply(partition('p', clicks, 5));
    const truth = new Truth(clicks);
    const breakdowns = allLists.filter(({ dimension }) => dimension.startsWith('utm'));
    const questions = names.map(name => ({
      ...plain,
      scopes: [owner],
      filters: [{ dimension: 'utmSource' as const, values: [name], isExcluded: false }],
      breakdowns,
    }));
    questions.push({ ...plain, scopes: [owner], filters: [], breakdowns });
    expect(await mismatches(warehouse(), truth, questions)).toEqual([]);
  });

  const invented = (day: number): SampleClick[] =>
    Array.from({ length: 5_000 }, (_, n) => ({
      at: samplesStart + n,
      referrer: `site${n}.day${day}.example`,
    }));
  const real = Array.from({ length: 50 }, (_, n) => ({
    at: samplesStart + 99 * n,
    referrer: 'real.example',
  }));
  const mixed = (flood: readonly SampleClick[]): SampleClick[] =>
    flood.flatMap((click, n) => (n % 100 === 99 ? [click, real[(n - 99) / 100]!] : [click]));
  const orders: Record<string, (flood: SampleClick[]) => SampleClick[]> = {
    after: flood => [...flood, ...real],
    before: flood => [...real, ...flood],
    among: mixed,
  };

  // An engine that plans statements keeps all values and sorts them when queried, so one order is enough to test it.
  const ordersTried = Object.entries(orders).slice(isPlanned ? scaled(-1, 0) : 0);
  test.each(ordersTried)(
    'lists a referrer that comes %s 5,000 invented ones, on every day, and loses no click of any',
    async (_, ordered) => {
      const days = [0, 1, 2];
      const clicks = days.flatMap(day =>
        ordered(invented(day)).map(click => ({ ...click, at: click.at + day * grainMs.day })),
      );
      const batches = partition('p', clicks, 500);
      const check = async (): Promise<void> => {
        for (const first of days) {
          const start = samplesStart + first * grainMs.day;
          const { breakdowns } = await warehouse().answer({
            ...plain,
            scopes: [link('abc')],
            from: start,
            breakdowns: [{ dimension: 'referrer', offset: 0, limit: 20_000, search: '' }],
          });
          const referrers = breakdowns[0]!.values;
          const shown = referrers.find(({ value }) => value === 'real.example')?.clicks ?? 0;
          const daysLeft = days.length - first;
          // A warehouse that does not keep all values may miss one in a thousand clicks of a day.
          expect(shown).toBeWithin(daysLeft * 45, daysLeft * 50 + 1);
          const top = referrers.filter(({ value }) => value !== otherValue);
          expect(top[0]!.value).toBe('real.example');
          expect(referrers.reduce((sum, { clicks: count }) => sum + count, 0)).toBe(daysLeft * 5_050);
        }
      };
      for (let at = 0; at < batches.length; at += 10) await warehouse().apply(batches.slice(at, at + 10));
      await check();
      async function* chunks() {
        yield batches.slice(0, 13);
        yield batches.slice(13);
      }
      await warehouse().recountAll({ countFrom: 0, producers: ['p'] }, chunks());
      await check();
      const plan = { now: to, singlesFrom: 0, minutesFrom: 0, rowsMax: 10_000 };
      while ((await warehouse().maintain(plan)) > 0);
      await check();
      while ((await warehouse().maintain({ ...plan, singlesFrom: to, minutesFrom: to })) > 0);
      await check();
    },
    heavyTestMaxMs,
  );

  test('an answer never has more visitors than clicks, though they are estimated', async () => {
    const clicks = overestimatedVisitors();
    await warehouse().apply(partition('p', clicks, clicks.length));
    const expected = { counts: { clicks: clicks.length }, visitors: clicks.length };
    expect(await warehouse().answer({ ...plain, scopes: [link('abc')] })).toMatchObject(expected);
    const filters = [{ dimension: 'country', values: ['DE'], isExcluded: false }] as const;
    expect(await warehouse().answer({ ...plain, scopes: [link('abc')], filters })).toMatchObject(expected);
  });

  test('visitors by the thousand are estimated the same from minutes, days and single clicks', async () => {
    const random = seededRandom(22);
    const clicks = Array.from({ length: 20_000 }, () => ({
      at: samplesStart + Math.floor(random.float() * 2 * grainMs.day),
      visitor: Math.floor(random.float() * 8_000),
      country: random.float() < 0.5 ? 'DE' : 'JP',
    }));
    await warehouse().apply(partition('p', clicks, 5_000));
    const truth = new Truth(clicks);
    const ranges = [
      { from, to },
      { from: samplesStart + 17 * grainMs.minute, to: samplesStart + grainMs.day + 2 * grainMs.minute },
      { from: samplesStart + 45 * grainMs.minute, to: samplesStart + 1.5 * grainMs.day },
    ];
    const filters = [{ dimension: 'country', values: ['DE'], isExcluded: false }] as const;
    const questions = ranges.flatMap(range =>
      [[], filters].map(each => ({ ...plain, ...range, scopes: [link('abc')], filters: each })),
    );
    expect(await mismatches(warehouse(), truth, questions)).toEqual([]);
    expect(truth.answer(questions[0]!).visitors).toBeGreaterThan(6_000);
  });

  test('a batch may have clicks of any number of days, and each is counted on its day', async () => {
    const times = [0, 1, 60, 999, 1_000, 1_001, 2_500].map(days => samplesStart - days * grainMs.day);
    const clicks = times.map(at => ({ at, code: 'old' }));
    const batches = partition('p', clicks, times.length);
    expect(await warehouse().apply(batches)).toEqual({ clicks: times.length, duplicates: 0 });
    expect(await warehouse().apply(batches)).toEqual({ clicks: 0, duplicates: 0 });
    const question = (first: number, lengthMs: number): Question => {
      const range = { from: Math.floor(first / grainMs.day) * grainMs.day, to };
      return { ...plain, ...range, scopes: [link('old')], starts: startsEvery(lengthMs, range) };
    };
    const questions = [
      question(times.at(-1)! - grainMs.day, 2 * grainMs.day),
      ...times.map(at =>
        question(at, Math.max(grainMs.day, Math.ceil((to - at) / grainMs.day / 2_000) * grainMs.day)),
      ),
    ];
    expect(await mismatches(warehouse(), new Truth(clicks), questions)).toEqual([]);
  });
}
