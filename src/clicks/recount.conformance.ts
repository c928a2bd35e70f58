/** The contract of a recount of days, as tests, for any warehouse. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { seededRandom } from '../base/random.ts';
import { type SampleClick, samplesStart } from './batch-samples.ts';
import { FakeLog } from './fake-log.ts';
import {
  allLists,
  comparable,
  link,
  mismatches,
  partition,
  questionsAbout,
  randomTraffic,
  startsEvery,
  Truth,
} from './fake-warehouse-truth.ts';
import type { LogBatch } from './log.ts';
import { hourMs, SpanReplay, type TimeSpan, wholeDays } from './replay.ts';
import { alone, grainMs, type Scope, type Warehouse } from './warehouse.ts';

export interface RecountHarness {
  readonly warehouse: Warehouse;
  /** Corrupts the counts of some hours: too few here, too many there, also in the ledger. */
  readonly spoil: (span: TimeSpan) => Promise<void>;
  readonly dispose: () => Promise<void>;
}

const from = samplesStart - grainMs.day;
const to = samplesStart + 10 * grainMs.day;
const day = Math.floor(samplesStart / grainMs.day) * grainMs.day + grainMs.day;
const wholeDay: TimeSpan = { from: day, to: day + grainMs.day };
const oneHour: TimeSpan = { from: day + 3 * hourMs, to: day + 4 * hourMs };
const scopes: readonly Scope[] = [
  link('link0'),
  link('link3'),
  { kind: 'owner', ownerId: 'acc_1' },
  { kind: 'tag', ownerId: 'acc_2', tag: 'b' },
];

/**
 * All numbers, and separately the lists, which may have other rare values after a recount. Pass no `lists` for
 * corrupted tables: their lists do not add up, and a warehouse would read them again and again.
 */
async function everythingIn(warehouse: Warehouse, lists = allLists) {
  const plain = { starts: [], filters: [], breakdowns: [] };
  const whole = { ...plain, from, to };
  const found = await Promise.all(
    scopes.map(async scope => {
      const scoped = [scope];
      const byQuarter = startsEvery(grainMs.quarter, whole);
      const byMinute = startsEvery(grainMs.minute, wholeDay);
      const { breakdowns, ...ofAll } = comparable(
        await warehouse.answer({ ...whole, scopes: scoped, starts: byQuarter, breakdowns: lists }),
      );
      const ofDay = comparable(
        await warehouse.answer({ ...plain, ...wholeDay, scopes: scoped, starts: byMinute }),
      );
      return { answers: [ofAll, ofDay], lists: breakdowns };
    }),
  );
  const numbers = {
    answers: found.map(({ answers }) => answers),
    totals: await warehouse.totals(scopes),
    ledger: await warehouse.ledger(from, to),
    hours: await warehouse.hourSums(from, to),
    positions: await warehouse.positions(),
    producers: await warehouse.producers(),
  };
  return { numbers, lists: found.map(({ lists }) => lists) };
}

/** Clicks of one partition in the order in which they happened, as a stream has them. */
const partitionOf = (name: string, clicks: readonly SampleClick[], batchSize: number): LogBatch[] =>
  partition(name, clicks, batchSize, `host/${name}`);

const samples = (seed: number, count: number): SampleClick[] =>
  randomTraffic(seededRandom(seed), count).sort((a, b) => a.at - b.at);

export function recountConformance(name: string, open: () => Promise<RecountHarness>): void {
  describe(`recount of days: ${name}`, () => {
    let harness: RecountHarness;
    let warehouse: Warehouse;
    let stream: FakeLog;
    beforeEach(async () => {
      harness = await open();
      warehouse = harness.warehouse;
      stream = new FakeLog();
    });
    afterEach(() => harness.dispose());

    const written = (batches: readonly LogBatch[]): readonly LogBatch[] => {
      stream.write(batches);
      return batches;
    };
    /** Recounts the days of some hours; returns how many clicks those hours have. */
    const repair = async (span: TimeSpan): Promise<number> => {
      const replay = new SpanReplay(stream, wholeDays(span));
      await warehouse.recountDays(replay, alone);
      return replay.clicksIn(span);
    };
    /** Hours in which the counts and the ledger say different things. */
    const drifting = async (): Promise<number[]> => {
      const recorded = new Map<number, number>();
      for (const { hour, counted } of await warehouse.ledger(from, to))
        recorded.set(hour, (recorded.get(hour) ?? 0) + counted);
      const sums = new Map((await warehouse.hourSums(from, to)).map(sum => [sum.hour, sum]));
      return [...new Set([...recorded.keys(), ...sums.keys()])]
        .filter(hour => {
          const { counted = 0, forgotten = 0, kept = null } = sums.get(hour) ?? {};
          const expected = recorded.get(hour) ?? 0;
          return counted + forgotten !== expected || (kept ?? expected) !== expected;
        })
        .sort((a, b) => a - b);
    };

    test('a repair leaves links in the ranking of their owner', async () => {
      const clicks = ['a', 'b', 'b'].map(code => ({ code, at: oneHour.from, ownerId: 'acc_1' }));
      await warehouse.apply(written(partitionOf('p', clicks, 10)));
      await repair(oneHour);
      const question = {
        ownerId: 'acc_1',
        order: 'most',
        after: undefined,
        limit: 10,
        codes: undefined,
      } as const;
      expect(await warehouse.ranking(question)).toEqual([
        { code: 'b', clicks: 2 },
        { code: 'a', clicks: 1 },
      ]);
    });

    test('a corrupted hour is detected, a repair restores it, and no other hour changes', async () => {
      const clicks = samples(1, 3_000);
      await warehouse.apply(written([...partitionOf('a', clicks.slice(0, 2_000), 100)]));
      await warehouse.apply(written([...partitionOf('b', clicks.slice(2_000), 100)]));
      const before = await everythingIn(warehouse);
      expect(await drifting()).toEqual([]);
      await harness.spoil(oneHour);
      expect(await drifting()).toEqual([oneHour.from]);
      const { numbers } = await everythingIn(warehouse, []);
      expect(numbers).not.toEqual(before.numbers);
      const inHour = clicks.filter(({ at }) => at >= oneHour.from && at < oneHour.to).length;
      expect(await repair(oneHour)).toBe(inHour);
      expect(await drifting()).toEqual([]);
      expect(await everythingIn(warehouse)).toEqual(before);
      // Its position has not moved, and so nothing is counted again.
      expect(await warehouse.apply(partitionOf('b', clicks.slice(2_000), 100))).toEqual({
        clicks: 0,
        duplicates: 0,
      });
    });

    test('a corrupted day is restored with its lists', async () => {
      await warehouse.apply(written(partitionOf('a', samples(2, 3_000), 100)));
      const before = await everythingIn(warehouse);
      await harness.spoil(wholeDay);
      expect((await everythingIn(warehouse)).lists).not.toEqual(before.lists);
      await repair(wholeDay);
      expect(await everythingIn(warehouse)).toEqual(before);
    });

    test('clicks that are counted while a repair reads are counted once, also late ones', async () => {
      const clicks = samples(4, 1_000);
      const late: SampleClick[] = Array.from({ length: 50 }, (_, n) => ({
        at: oneHour.from + n,
        code: 'link0',
        visitor: 9_000 + n,
      }));
      const batches = partitionOf('a', [...clicks, ...late], 50);
      const calm = await open();
      await calm.warehouse.apply(batches);
      await warehouse.apply(written(batches.slice(0, -3)));
      await harness.spoil(oneHour);
      const rest = [...batches.slice(-3)];
      stream.onRead = async () => {
        const next = rest.shift();
        if (next !== undefined) await warehouse.apply(written([next]));
      };
      await repair(oneHour);
      for (const batch of rest) await warehouse.apply(written([batch]));
      expect((await everythingIn(warehouse)).numbers).toEqual((await everythingIn(calm.warehouse)).numbers);
      await calm.dispose();
    });

    test('a repaired day answers every question as counting by hand does', async () => {
      const clicks = samples(11, 3_000);
      const truth = new Truth(clicks);
      await warehouse.apply(written(partitionOf('a', clicks, 100)));
      await harness.spoil(wholeDay);
      await repair(wholeDay);
      const range = { from: day - grainMs.day, to: day + 3 * grainMs.day };
      for (const scope of scopes)
        expect(await mismatches(warehouse, truth, questionsAbout(scope, range))).toEqual([]);
    });

    test('a corrupted day is restored after merging, and after its single clicks were removed', async () => {
      const clicks = samples(12, 2_000);
      await warehouse.apply(written(partitionOf('a', clicks.slice(0, 1_000), 50)));
      const merging = { now: to, singlesFrom: 0, minutesFrom: 0, rowsMax: 1_000 };
      while ((await warehouse.maintain(merging)) > 0);
      await warehouse.apply(written(partitionOf('b', clicks.slice(1_000), 50)));
      const before = await everythingIn(warehouse);
      await harness.spoil(wholeDay);
      await repair(wholeDay);
      expect(await everythingIn(warehouse)).toEqual(before);
      while ((await warehouse.maintain({ ...merging, singlesFrom: to, minutesFrom: to })) > 0);
      await repair(wholeDay);
      const truth = new Truth(clicks);
      const range = { from: day - grainMs.day, to: day + 3 * grainMs.day };
      for (const scope of scopes) {
        const [byDay, byQuarter] = questionsAbout(scope, range);
        expect(await mismatches(warehouse, truth, [byDay!, byQuarter!])).toEqual([]);
        // For a day without single clicks, only the quarter hour of the last one is known.
        const { lastClickAt, ...sums } = truth.total(scope);
        const total = await warehouse.total(scope);
        expect(total).toMatchObject(sums);
        expect(total.lastClickAt).toBeWithin(lastClickAt! - grainMs.quarter, lastClickAt! + 1);
      }
      expect(await drifting()).toEqual([]);
    });

    test('a repair waits for consumers that count faster than it reads, and loses none of their clicks', async () => {
      const clicks = Array.from({ length: 60 }, (_, n) => ({
        at: oneHour.from + n,
        code: 'link0',
        visitor: n,
      }));
      const rest = partitionOf('a', clicks, 10);
      await warehouse.apply(written([rest.shift()!]));
      stream.onRead = async () => {
        const next = rest.shift();
        if (next !== undefined) await warehouse.apply(written([next]));
      };
      await repair(oneHour);
      expect(rest).toEqual([]);
      expect((await warehouse.total(link('link0'))).clicks).toBe(60);
      expect(await drifting()).toEqual([]);
    });

    test('a repair that fails leaves everything as it was', async () => {
      await warehouse.apply(written(partitionOf('a', samples(6, 1_000), 50)));
      await harness.spoil(oneHour);
      const before = await everythingIn(warehouse, []);
      stream.onRead = () => {
        if (stream.pieces > 3) throw new Error('the stream is down');
      };
      await expect(repair(oneHour)).rejects.toThrow('the stream is down');
      expect(await everythingIn(warehouse, [])).toEqual(before);
    });

    test('changes nothing when the stream drops a part of the day while it is read', async () => {
      await warehouse.apply(written(partitionOf('a', samples(6, 1_000), 50)));
      await harness.spoil(oneHour);
      const before = await everythingIn(warehouse, []);
      stream.onRead = () => {
        if (stream.pieces > 3) stream.keptSinceMs = oneHour.from;
      };
      await expect(repair(oneHour)).rejects.toMatchObject({ code: 'clicks_not_kept' });
      expect(await everythingIn(warehouse, [])).toEqual(before);
    });

    test('a click that is in the stream twice is counted once', async () => {
      const [first, second] = partitionOf('a', samples(7, 200), 100);
      const again = { ...first!, from: 200, to: 300 };
      await warehouse.apply(written([first!, second!, again]));
      const { numbers } = await everythingIn(warehouse);
      await repair({ from: day - 12 * hourMs, to: day + 72 * hourMs });
      expect((await everythingIn(warehouse)).numbers).toEqual(numbers);
    });

    test('hours without clicks in the stream are empty afterwards', async () => {
      await warehouse.apply(written(partitionOf('a', samples(8, 500), 100)));
      const bare: TimeSpan = { from: to - 5 * hourMs, to: to - 4 * hourMs };
      await harness.spoil(bare);
      expect(await drifting()).toEqual([bare.from]);
      expect(await repair(bare)).toBe(0);
      expect(await drifting()).toEqual([]);
    });

    test('clicks that were deleted stay deleted, and are no drift', async () => {
      const batches = partitionOf('a', samples(9, 1_000), 100);
      await warehouse.apply(written(batches.slice(0, 9)));
      await warehouse.forget('link0', to);
      expect(await drifting()).toEqual([]);
      // Clicks that happened before the deletion and arrive after it do not count either.
      await warehouse.apply(written(batches.slice(9)));
      expect(await drifting()).toEqual([]);
      await repair(wholeDay);
      expect((await warehouse.total(link('link0'))).clicks).toBe(0);
      expect(await drifting()).toEqual([]);
    });

    test('a link whose clicks are deleted during a repair has those that came after', async () => {
      const forgottenAt = oneHour.from + hourMs / 2;
      const clicks = samples(10, 1_000)
        .filter(({ at }) => at < forgottenAt)
        .slice(-150);
      const after = Array.from({ length: 5 }, (_, n) => ({ at: forgottenAt + n, code: 'link0', visitor: n }));
      const batches = partitionOf('a', [...clicks, ...after], 10);
      await warehouse.apply(written(batches.slice(0, 15)));
      let isForgotten = false;
      stream.onRead = async () => {
        if (isForgotten || stream.pieces < 2) return;
        isForgotten = true;
        await warehouse.forget('link0', forgottenAt);
        await warehouse.apply(written(batches.slice(15)));
      };
      await repair(wholeDay);
      expect(isForgotten).toBe(true);
      expect((await warehouse.total(link('link0'))).clicks).toBe(5);
      const { breakdowns } = await warehouse.answer({
        scopes: [link('link0')],
        from,
        to,
        starts: [],
        filters: [],
        breakdowns: [{ dimension: 'browser', offset: 0, limit: 9, search: '' }],
      });
      expect(breakdowns).toEqual([{ values: [{ value: 'Firefox', clicks: 5 }], total: 1 }]);
      expect(await drifting()).toEqual([]);
    });
  });
}
