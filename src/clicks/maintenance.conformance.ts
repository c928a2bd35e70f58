/** The contract of maintenance: it changes no answer; part of `warehouse.conformance.ts`. */
import { expect, test } from 'bun:test';
import { announcedRandom } from '../../test/kit/announced-random.ts';
import { type QuestionBounds, RandomQuestions } from '../../test/kit/random-questions.ts';
import { heavyTestMaxMs, scaled } from '../../test/kit/scale.ts';
import { seededRandom } from '../base/random.ts';
import { type SampleClick, samplesStart } from './batch-samples.ts';
import {
  allQuestions,
  link,
  type Mismatch,
  mismatches,
  partition,
  randomTraffic,
  sampledRange,
  sampledScopes,
  someQuestions,
  startsEvery,
  Truth,
} from './fake-warehouse-truth.ts';
import { grainMs, type MaintenancePlan, type Scope, type Warehouse } from './warehouse.ts';

const { to } = sampledRange;
const dayAt = (at: number): number => Math.floor(at / grainMs.day) * grainMs.day;
const owner: Scope = { kind: 'owner', ownerId: 'acc_1' };
/** When all days of the tests are over. */
const afterwards = samplesStart + 30 * grainMs.day;
const merging = { now: afterwards, singlesFrom: 0, minutesFrom: 0 };
/** Ends all single clicks. */
const ending = { now: afterwards, singlesFrom: to, minutesFrom: to };
/** More steps than any of these tests needs. */
const stepsMax = 5_000;

/** Maintains until nothing is left to do. */
async function maintainAll(
  warehouse: Warehouse,
  plan: MaintenancePlan,
  afterStep: (step: number) => Promise<void> = async () => {},
): Promise<void> {
  for (let step = 0; (await warehouse.maintain(plan)) > 0; step += 1) {
    if (step >= stepsMax) throw new Error('maintenance does not end');
    await afterStep(step);
  }
}

export function maintenanceConformance(warehouse: () => Warehouse, isPlanned: boolean): void {
  /** Sizes of batches and numbers of questions. */
  const [batchSize, fewer] = isPlanned ? [scaled(500, 110), scaled(6, 1)] : [110, 1];
  const asked = (count: number): number => Math.ceil(count / fewer);
  const expectTotals = async (truth: Truth): Promise<void> => {
    expect(await warehouse().totals(sampledScopes)).toEqual(sampledScopes.map(scope => truth.total(scope)));
    for (const ownerId of ['acc_1', 'acc_2'])
      expect(
        await warehouse().ranking({ ownerId, order: 'most', after: undefined, limit: 100, codes: undefined }),
      ).toEqual(truth.ranking(ownerId));
  };

  // Few clicks of a link on each day, and many.
  const traffic = [
    [scaled(4_000, 20_000), 5],
    [scaled(8_000, 20_000), 1.5],
  ] as const;

  test.each(traffic)(
    'merging between batches leaves every answer about %p clicks of %p days as it was, also between its steps',
    async (count, days) => {
      const random = announcedRandom('maintenance between batches');
      const clicks = randomTraffic(random, count, days);
      const truth = new Truth(clicks);
      const questions = new RandomQuestions(random, truth.world());
      const counted = new Truth();
      for (const [index, batch] of partition('p', clicks, batchSize).entries()) {
        await warehouse().apply([batch]);
        counted.addBatch(batch.batch);
        if (random.float() < 0.4)
          await warehouse().maintain({
            ...merging,
            // While the days are not over, and then.
            now: index * batchSize < count / 2 ? samplesStart : afterwards,
            rowsMax: random.float() < 0.5 ? 100 : 10_000,
          });
        if (index % 5 !== 4) continue;
        expect(await mismatches(warehouse(), counted, questions.take(asked(4)))).toEqual([]);
      }
      await maintainAll(warehouse(), { ...merging, rowsMax: 300 }, async () =>
        expect(await mismatches(warehouse(), truth, questions.take(1))).toEqual([]),
      );
      expect(await warehouse().maintain({ ...merging, rowsMax: 300 })).toBe(0);
      expect(await mismatches(warehouse(), truth, questions.take(asked(60)))).toEqual([]);
      const unchosen = fewer === 1 ? allQuestions : someQuestions;
      expect(await mismatches(warehouse(), truth, unchosen)).toEqual([]);
      await expectTotals(truth);
    },
    heavyTestMaxMs,
  );

  test.each(traffic)(
    'the end of single clicks changes no answer about %p clicks of %p days by quarter hours, and the others say what they lack',
    async (count, days) => {
      const random = announcedRandom('end of single clicks');
      const clicks = randomTraffic(random, count, days);
      const truth = new Truth(clicks);
      for (const batch of partition('p', clicks, Math.max(400, batchSize))) await warehouse().apply([batch]);
      const questions = new RandomQuestions(random, truth.world());
      for (const day of [1, 3, 9]) {
        const cut = dayAt(samplesStart) + day * grainMs.day;
        const check = async (count: number): Promise<void> => {
          const wrong = (bounds: QuestionBounds): Promise<Mismatch[]> =>
            mismatches(warehouse(), truth, questions.take(count, bounds), cut);
          expect(await wrong({ grain: 'quarter', isFiltered: false })).toEqual([]);
          expect(await wrong({ grain: 'quarter', isFiltered: true, filtersMax: 2 })).toEqual([]);
          if (cut < to) expect(await wrong({ from: cut })).toEqual([]);
        };
        await maintainAll(
          warehouse(),
          { now: afterwards, singlesFrom: cut, minutesFrom: cut, rowsMax: 200 },
          () => check(1),
        );
        await check(asked(40));
        await expectTotals(truth);
      }
    },
    heavyTestMaxMs,
  );

  test('clicks that come after the end of their day’s single clicks still count, once', async () => {
    const random = seededRandom(31);
    const clicks = randomTraffic(random, 6_000, 1);
    const truth = new Truth(clicks);
    const plan = { ...ending, rowsMax: 1_000 };
    await warehouse().apply(partition('p', clicks, 1_000));
    await maintainAll(warehouse(), plan);
    const questions = new RandomQuestions(random, truth.world());
    const unfiltered = { grain: 'quarter', isFiltered: false } as const;
    for (let round = 0; round < 3; round += 1) {
      // Late clicks of the same links and visitors, on the same days.
      const late = randomTraffic(random, 300, 1);
      truth.add(late);
      await warehouse().apply(partition(`late${round}`, late, 120));
      expect(await mismatches(warehouse(), truth, questions.take(asked(25), unfiltered))).toEqual([]);
      await expectTotals(truth);
      await maintainAll(warehouse(), plan, async () =>
        expect(await mismatches(warehouse(), truth, questions.take(2, unfiltered))).toEqual([]),
      );
      expect(await mismatches(warehouse(), truth, questions.take(asked(25), unfiltered))).toEqual([]);
      await expectTotals(truth);
    }
  });

  test('a visitor who comes before and after the end of single clicks is one', async () => {
    const of = (visitor: number, minutes: number): SampleClick => ({
      at: samplesStart + minutes * grainMs.minute,
      visitor,
    });
    const plan = { ...ending, rowsMax: 100 };
    await warehouse().apply(partition('p', [of(1, 0), of(2, 1)], 2));
    await maintainAll(warehouse(), plan);
    await warehouse().apply(partition('q', [of(2, 0), of(3, 2)], 2));
    const quarter = {
      scopes: [link('abc')],
      from: samplesStart,
      to: samplesStart + grainMs.quarter,
      starts: [samplesStart],
      filters: [],
      breakdowns: [],
    };
    const expected = { counts: { clicks: 4 }, series: [{ clicks: 4 }], visitors: 3 };
    expect(await warehouse().answer(quarter)).toMatchObject(expected);
    await maintainAll(warehouse(), plan);
    expect(await warehouse().answer(quarter)).toMatchObject(expected);
  });

  test('what was forgotten stays so when it is merged and when its single clicks end', async () => {
    const minutes = (...numbers: number[]): SampleClick[] =>
      numbers.map(n => ({ at: samplesStart + n * grainMs.minute, visitor: n, tags: ['a'] }));
    const before = minutes(0, 1, 2, 3);
    const forgottenAt = samplesStart + 4 * grainMs.minute;
    const truth = new Truth(before);
    const scopes: Scope[] = [link('abc'), owner, { kind: 'tag', ownerId: 'acc_1', tag: 'a' }];
    const check = async (): Promise<void> => {
      for (const scope of scopes) {
        const range = { from: samplesStart, to: samplesStart + grainMs.day };
        const question = { scopes: [scope], ...range, starts: startsEvery(grainMs.quarter, range) };
        const asked = { ...question, filters: [], breakdowns: [] };
        expect(await mismatches(warehouse(), truth, [asked])).toEqual([]);
        expect(await warehouse().total(scope)).toEqual(truth.total(scope));
      }
    };
    await warehouse().apply(partition('p', before, 4));
    await warehouse().forget('abc', forgottenAt);
    truth.forget('abc', forgottenAt);
    // Clicks in the same quarter hour as the forgotten ones, some of them late.
    const after = minutes(2, 5, 6, 20);
    await warehouse().apply(partition('q', after, 4));
    truth.add(after);
    await check();
    await maintainAll(warehouse(), { ...merging, rowsMax: 100 }, check);
    await check();
    const plan = { ...ending, rowsMax: 100 };
    await maintainAll(warehouse(), plan, check);
    await check();
    const late = minutes(3, 7);
    await warehouse().apply(partition('r', late, 4));
    truth.add(late);
    await check();
    await maintainAll(warehouse(), plan, check);
    await check();
    // And again, when only aggregates are left of it.
    await warehouse().forget('abc', samplesStart + grainMs.day);
    truth.forget('abc', samplesStart + grainMs.day);
    await check();
    await maintainAll(warehouse(), plan, check);
    await check();
    expect((await warehouse().total(link('abc'))).clicks).toBe(0);
  });

  test('counting, ledgers and positions go on as before', async () => {
    const clicks = randomTraffic(seededRandom(32), 600);
    const batches = partition('p', clicks, 100);
    await warehouse().apply(batches.slice(0, 4));
    const [ledger, producers] = [await warehouse().ledger(0, to), await warehouse().producers()];
    await maintainAll(warehouse(), { ...ending, rowsMax: 1_000 });
    expect(await warehouse().ledger(0, to)).toEqual(ledger);
    expect(await warehouse().producers()).toEqual(producers);
    expect(await warehouse().positions()).toEqual(new Map([['p', 400]]));
    expect(await warehouse().apply(batches)).toEqual({ clicks: 200, duplicates: 0 });
    await expectTotals(new Truth(clicks));
  });

  test('a recount of what came since leaves the days whose single clicks are gone', async () => {
    const random = seededRandom(33);
    const clicks = randomTraffic(random, 1_500, 4).sort((a, b) => a.at - b.at);
    const truth = new Truth(clicks);
    await warehouse().apply(partition('p', clicks, 100));
    const cut = dayAt(samplesStart) + 2 * grainMs.day;
    await maintainAll(warehouse(), { now: afterwards, singlesFrom: cut, minutesFrom: cut, rowsMax: 1_000 });
    const late = partition(
      'p',
      clicks.filter(({ at }) => at >= cut),
      100,
    );
    async function* chunks() {
      yield late.slice(0, 2);
      yield late.slice(2);
    }
    await warehouse().recountAll({ countFrom: cut, producers: ['p'] }, chunks());
    const questions = new RandomQuestions(random, truth.world());
    const unfiltered = { grain: 'quarter', isFiltered: false } as const;
    expect(await mismatches(warehouse(), truth, questions.take(asked(60), unfiltered))).toEqual([]);
    expect(await mismatches(warehouse(), truth, questions.take(asked(30), { from: cut }), cut)).toEqual([]);
    await expectTotals(truth);
  });
}
