/**
 * The contract of a warehouse, as tests. The expected answers are computed click by click, in the simplest way
 * (fake-warehouse-truth.ts).
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { scaled } from '../../test/kit/scale.ts';
import { seededRandom } from '../base/random.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { countsConformance } from './counts.conformance.ts';
import {
  allQuestions,
  everythingIn,
  link,
  mismatches,
  partition,
  questionsAbout,
  randomTraffic,
  sampledRange,
  sampledScopes,
  someQuestions,
  Truth,
} from './fake-warehouse-truth.ts';
import type { LogBatch } from './log.ts';
import { maintenanceConformance } from './maintenance.conformance.ts';
import { rankingConformance } from './ranking.conformance.ts';
import { recentConformance } from './recent.conformance.ts';
import { recountAllConformance } from './recount-all.conformance.ts';
import { grainMs, type Warehouse } from './warehouse.ts';

export interface ConformanceOptions {
  /**
   * The engine plans every statement, which costs time however few rows it affects: everyday runs use fewer, larger
   * batches of the same clicks, and ask fewer questions.
   */
  readonly isPlanned?: boolean;
}

export interface WarehouseHarness {
  readonly warehouse: Warehouse;
  /** Another handle on the same data. */
  readonly reopen: () => Warehouse;
  readonly dispose: () => Promise<void>;
}

const { from, to } = sampledRange;

export function warehouseConformance(
  name: string,
  open: () => Promise<WarehouseHarness>,
  { isPlanned = false }: ConformanceOptions = {},
): void {
  describe(`warehouse: ${name}`, () => {
    let harness: WarehouseHarness;
    let warehouse: Warehouse;
    beforeEach(async () => {
      harness = await open();
      warehouse = harness.warehouse;
    });
    afterEach(() => harness.dispose());

    test('counts every scope, bucket and dimension as counting by hand does', async () => {
      const clicks = randomTraffic(seededRandom(7), 5_000);
      await warehouse.apply(partition('p', clicks, 512));
      const truth = new Truth(clicks);
      expect(await mismatches(warehouse, truth, allQuestions)).toEqual([]);
      for (const scope of sampledScopes) expect(await warehouse.total(scope)).toEqual(truth.total(scope));
      expect(await warehouse.totals(sampledScopes)).toEqual(sampledScopes.map(scope => truth.total(scope)));
    });

    test('counts each scope by itself as questions about it do', async () => {
      const clicks = randomTraffic(seededRandom(11), 3_000);
      await warehouse.apply(partition('p', clicks, 512));
      const truth = new Truth(clicks);
      const starts = [0, 1, 3, 4].map(day => from + day * grainMs.day + grainMs.quarter);
      const end = starts.at(-1)! + 90 * grainMs.quarter;
      const scopes = [...sampledScopes, link('without-clicks')];
      const expected = scopes.map(scope => {
        const question = { scopes: [scope], from: starts[0]!, to: end, starts, filters: [], breakdowns: [] };
        return truth.answer(question).series.map(series => series.clicks);
      });
      expect(expected.flat().filter(count => count > 0).length).toBeGreaterThan(3);
      expect(await warehouse.clicksBy({ scopes, starts, to: end })).toEqual(expected);
    });

    countsConformance(() => warehouse, isPlanned);
    rankingConformance(() => warehouse);
    recentConformance(() => warehouse, isPlanned);
    maintenanceConformance(() => warehouse, isPlanned);

    test('the way clicks are cut into batches and transactions makes no difference', async () => {
      const clicks = randomTraffic(seededRandom(8), 2_000);
      await warehouse.apply(partition('p', clicks, 2_000));
      const other = await open();
      for (const batch of partition('p', clicks, isPlanned ? scaled(397, 137) : 137))
        await other.warehouse.apply([batch]);
      expect(await everythingIn(other.warehouse)).toEqual(await everythingIn(warehouse));
      await other.dispose();
    });

    test('a batch that comes again is counted once', async () => {
      const batches = partition('p', randomTraffic(seededRandom(9), 300), 100);
      expect(await warehouse.apply(batches)).toEqual({ clicks: 300, duplicates: 0 });
      const before = await everythingIn(warehouse);
      expect(await warehouse.apply(batches)).toEqual({ clicks: 0, duplicates: 0 });
      expect(await warehouse.apply([batches[1]!])).toEqual({ clicks: 0, duplicates: 0 });
      expect(await everythingIn(warehouse)).toEqual(before);
      expect(await warehouse.positions()).toEqual(new Map([['p', 300]]));
    });

    test('a batch that comes too early is skipped, and counted when its turn comes', async () => {
      const [first, second] = partition('p', randomTraffic(seededRandom(10), 200), 100);
      expect((await warehouse.apply([second!])).clicks).toBe(0);
      expect((await warehouse.apply([first!, second!])).clicks).toBe(200);
    });

    test('numbers that come twice in different places are counted once and reported', async () => {
      const clicks = randomTraffic(seededRandom(11), 100);
      const [whole] = partition('p', clicks, 100);
      await warehouse.apply([whole!]);
      const later = randomTraffic(seededRandom(12), 40);
      const overlapping = { ...whole!, from: 100, to: 200, batch: sampleBatch(81, later) };
      expect(await warehouse.apply([overlapping])).toEqual({ clicks: 20, duplicates: 20 });
      const truth = new Truth([...clicks, ...later.slice(20)]);
      expect(await mismatches(warehouse, truth, someQuestions)).toEqual([]);
      const [row] = await warehouse
        .ledger(from, to)
        .then(rows => rows.filter(({ duplicates }) => duplicates > 0));
      expect(row?.duplicates).toBe(20);
    });

    test('numbers that never come are reported as skipped', async () => {
      const batch = (first: number, position: number): LogBatch => ({
        partition: 'p',
        from: position,
        to: position + 1,
        producer: 'p',
        batch: sampleBatch(first, [{ at: samplesStart }]),
      });
      await warehouse.apply([batch(1, 0), batch(7, 1)]);
      const rows = await warehouse.ledger(from, to);
      expect(rows.map(({ counted, skipped }) => [counted, skipped])).toEqual([[2, 5]]);
      expect(await warehouse.producers()).toEqual([{ producer: 'p', sequence: 7 }]);
    });

    test('two writers share one warehouse without counting anything twice', async () => {
      const clicks = randomTraffic(seededRandom(13), 500);
      const other = harness.reopen();
      const results = [];
      for (const batch of partition('p', clicks, 50))
        results.push(await warehouse.apply([batch]), await other.apply([batch]));
      expect(results.reduce((sum, { clicks: counted }) => sum + counted, 0)).toBe(500);
      for (const handle of [warehouse, other])
        expect(await mismatches(handle, new Truth(clicks), someQuestions)).toEqual([]);
      await other.close();
    });

    test('two writers take turns, each with its partition, and each sees what the other counted', async () => {
      const clicks = randomTraffic(seededRandom(19), 900);
      const [mine, theirs] = [clicks.slice(0, 450), clicks.slice(450)];
      const other = harness.reopen();
      const ours = partition('p', mine, 90);
      for (const [turn, batch] of partition('q', theirs, 90).entries()) {
        await Promise.all([warehouse.apply([ours[turn]!]), other.apply([batch])]);
        await (turn % 2 === 0 ? warehouse : other).maintain({
          now: to,
          singlesFrom: 0,
          minutesFrom: 0,
          rowsMax: 500,
        });
      }
      for (const handle of [warehouse, other])
        expect(await mismatches(handle, new Truth(clicks), someQuestions)).toEqual([]);
      await other.close();
    });

    test('another handle on the same data sees the counts', async () => {
      const clicks = randomTraffic(seededRandom(20), 500);
      await warehouse.apply(partition('p', clicks, 100));
      const other = harness.reopen();
      expect(await everythingIn(other)).toEqual(await everythingIn(warehouse));
      expect(await other.positions()).toEqual(new Map([['p', 500]]));
      await other.close();
    });

    test('a forgotten link starts at zero, its account does not, and a replay agrees', async () => {
      const clicks = Array.from({ length: 10 }, (_, n) => ({
        at: samplesStart + n,
        visitor: n,
        tags: ['a'],
      }));
      const forgottenAt = samplesStart + 10;
      const truth = new Truth(clicks);
      await warehouse.apply(partition('p', clicks, 10));
      await warehouse.forget('abc', forgottenAt);
      truth.forget('abc', forgottenAt);
      const scopes = [
        link('abc'),
        { kind: 'owner', ownerId: 'acc_1' },
        { kind: 'tag', ownerId: 'acc_1', tag: 'a' },
      ] as const;
      const check = async (): Promise<void> => {
        for (const scope of scopes) {
          expect(await mismatches(warehouse, truth, questionsAbout(scope, sampledRange))).toEqual([]);
          expect(await warehouse.total(scope)).toEqual(truth.total(scope));
        }
      };
      await check();
      expect(await warehouse.total(link('abc'))).toEqual({
        clicks: 0,
        bots: 0,
        suspicious: 0,
        lastClickAt: null,
      });
      expect((await warehouse.total(scopes[1])).clicks).toBe(10);
      expect(await warehouse.forgottenBefore('abc')).toBe(forgottenAt);
      expect(await warehouse.forgottenBefore('other')).toBe(0);
      // Half of them happened before the deletion, but arrive after it.
      const later = Array.from({ length: 10 }, (_, n) => ({
        at: forgottenAt - 5 + n,
        visitor: 5 + n,
        tags: ['a'],
      }));
      await warehouse.apply(partition('again', later, 10));
      truth.add(later);
      await check();
      expect((await warehouse.total(link('abc'))).clicks).toBe(5);
    });

    test('a link may be forgotten again and again, and others keep their clicks', async () => {
      const truth = new Truth();
      for (let round = 0; round < 4; round += 1) {
        const at = samplesStart + round * 7 * grainMs.minute;
        const clicks = ['abc', 'abd'].flatMap(code =>
          Array.from({ length: 5 }, (_, n) => ({ at: at + n, code, visitor: n + round })),
        );
        truth.add(clicks);
        await warehouse.apply(partition(`p${round}`, clicks, 4));
        if (round === 3) break;
        await warehouse.forget('abc', at + 60_000);
        truth.forget('abc', at + 60_000);
        await warehouse.maintain({ now: to, singlesFrom: 0, minutesFrom: 0, rowsMax: 1_000 });
      }
      for (const scope of [link('abc'), link('abd'), { kind: 'owner', ownerId: 'acc_1' } as const])
        expect(await mismatches(warehouse, truth, questionsAbout(scope, sampledRange))).toEqual([]);
      expect((await warehouse.total(link('abc'))).clicks).toBe(5);
    });

    recountAllConformance(() => warehouse);

    test('retiring a partition forgets its position and no count', async () => {
      await warehouse.apply(partition('p', randomTraffic(seededRandom(18), 100), 100));
      const before = await everythingIn(warehouse);
      await warehouse.retire(['p', 'unknown']);
      expect(await warehouse.positions()).toEqual(new Map());
      expect(await everythingIn(warehouse)).toEqual(before);
    });

    test('the earliest time is that of the first click that was counted', async () => {
      expect(await warehouse.earliest()).toBeUndefined();
      await warehouse.apply(partition('p', [{ at: samplesStart + grainMs.day }], 1));
      await warehouse.apply(partition('q', [{ at: samplesStart }], 1));
      const earliest = await warehouse.earliest();
      expect(earliest).toBeLessThanOrEqual(samplesStart);
      expect(earliest).toBeGreaterThan(samplesStart - grainMs.day);
    });

    test('visitors of several scopes are merged, not added', async () => {
      await warehouse.apply(
        partition(
          'p',
          [
            { at: samplesStart, code: 'a', visitor: 1 },
            { at: samplesStart, code: 'b', visitor: 1 },
            { at: samplesStart, code: 'b', visitor: 2 },
          ],
          3,
        ),
      );
      const question = {
        scopes: [link('a'), link('b')],
        from,
        to,
        starts: [],
        filters: [],
        breakdowns: [],
      };
      expect(await warehouse.answer(question)).toMatchObject({ counts: { clicks: 3 }, visitors: 2 });
    });

    test('a range is half open, to the millisecond of its buckets', async () => {
      const edges = [0, 1, 2].flatMap(n => [
        samplesStart + n * grainMs.minute - 1,
        samplesStart + n * grainMs.minute,
      ]);
      await warehouse.apply(
        partition(
          'p',
          edges.map(at => ({ at })),
          3,
        ),
      );
      const asked = { scopes: [link('abc')], filters: [], breakdowns: [] };
      const starts = [samplesStart, samplesStart + grainMs.minute];
      const answer = await warehouse.answer({
        ...asked,
        from: samplesStart,
        to: samplesStart + 2 * grainMs.minute,
        starts,
      });
      expect(answer.series.map(({ clicks }) => clicks)).toEqual([2, 2]);
      expect(answer.counts.clicks).toBe(4);
    });
  });
}
