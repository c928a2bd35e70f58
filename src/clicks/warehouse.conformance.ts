/** What a warehouse promises, as tests. The expected counts are computed here, click by click, in the simplest way. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { seededRandom } from '../base/random.ts';
import { randomClicks, type SampleClick, sampleBatch, samplesStart } from './batch-samples.ts';
import { countsConformance } from './counts.conformance.ts';
import { inScope, link, partition, truth } from './fake-warehouse-truth.ts';
import type { LogBatch } from './log.ts';
import { rankingConformance } from './ranking.conformance.ts';
import { grainMs, type Scope, type Warehouse } from './warehouse.ts';

export interface WarehouseHarness {
  readonly warehouse: Warehouse;
  /** Another handle on the same data. */
  readonly reopen: () => Warehouse;
  readonly dispose: () => Promise<void>;
}

const from = samplesStart - grainMs.day;
const to = samplesStart + 40 * grainMs.day;

const frequencies = (values: readonly string[]) =>
  [...Map.groupBy(values, value => value)]
    .map(([value, group]) => ({ value, clicks: group.length }))
    .sort((a, b) => b.clicks - a.clicks || (a.value < b.value ? -1 : 1));

export function warehouseConformance(name: string, open: () => Promise<WarehouseHarness>): void {
  describe(`warehouse: ${name}`, () => {
    let harness: WarehouseHarness;
    let warehouse: Warehouse;
    beforeEach(async () => {
      harness = await open();
      warehouse = harness.warehouse;
    });
    afterEach(() => harness.dispose());

    /**
     * Everything a warehouse says about some traffic, to compare with the expected counts or with another warehouse.
     */
    const scopes: Scope[] = [
      link('link0'),
      link('link3'),
      link('nobody'),
      { kind: 'owner', ownerId: 'acc_1' },
      { kind: 'tag', ownerId: 'acc_1', tag: 'a' },
      { kind: 'tag', ownerId: 'acc_2', tag: 'b' },
    ];
    const everything = async (asked: Warehouse) =>
      Promise.all(
        scopes.map(async scope => ({
          minutes: await asked.series(scope, 'minute', from, to),
          quarters: await asked.series(scope, 'quarter', from, to),
          days: await asked.series(scope, 'day', from, to),
          uniques: await asked.uniques([scope], from, to),
          dimensions: await asked.dimensions([scope], from, to, 100),
          total: await asked.total(scope),
        })),
      );

    test('counts every scope, bucket and dimension as counting by hand does', async () => {
      const clicks = randomClicks(seededRandom(7), 5_000);
      await warehouse.apply(partition('p', clicks, 512));
      for (const scope of scopes) {
        const mine = clicks.filter(inScope(scope));
        const human = mine.filter(({ kind }) => kind === 'human');
        for (const grain of ['minute', 'quarter', 'day'] as const) {
          expect(await warehouse.series(scope, grain, from, to)).toEqual(truth(mine, grain));
        }
        const {
          country,
          browser,
          referrer,
          link: followed,
        } = await warehouse.dimensions([scope], from, to, 100);
        expect(country).toEqual(frequencies(human.map(click => click.country!)));
        expect(browser).toEqual(frequencies(human.map(click => click.browser!)));
        expect(referrer).toEqual(frequencies(human.map(click => click.referrer!)));
        const codes = scope.kind === 'link' ? [] : human.map(click => click.code!);
        expect(followed).toEqual(frequencies(codes));
        const visitors = new Set(human.map(({ visitor }) => visitor)).size;
        expect(Math.abs((await warehouse.uniques([scope], from, to)) - visitors)).toBeLessThanOrEqual(
          visitors * 0.02,
        );
        expect(await warehouse.total(scope)).toMatchObject({
          clicks: human.length,
          suspicious: human.filter(({ signal }) => signal !== 'none').length,
        });
      }
    });

    countsConformance(() => warehouse);
    rankingConformance(() => warehouse);

    test('the way clicks are cut into batches and transactions makes no difference', async () => {
      const clicks = randomClicks(seededRandom(8), 2_000);
      await warehouse.apply(partition('p', clicks, 2_000));
      const other = await open();
      for (const batch of partition('p', clicks, 137)) await other.warehouse.apply([batch]);
      expect(await everything(other.warehouse)).toEqual(await everything(warehouse));
      await other.dispose();
    });

    test('a batch that comes again is counted once', async () => {
      const batches = partition('p', randomClicks(seededRandom(9), 300), 100);
      expect(await warehouse.apply(batches)).toEqual({ clicks: 300, duplicates: 0 });
      const before = await everything(warehouse);
      expect(await warehouse.apply(batches)).toEqual({ clicks: 0, duplicates: 0 });
      expect(await warehouse.apply([batches[1]!])).toEqual({ clicks: 0, duplicates: 0 });
      expect(await everything(warehouse)).toEqual(before);
      expect(await warehouse.positions()).toEqual(new Map([['p', 300]]));
    });

    test('a batch before its turn is skipped, and counted when its turn comes', async () => {
      const [first, second] = partition('p', randomClicks(seededRandom(10), 200), 100);
      expect((await warehouse.apply([second!])).clicks).toBe(0);
      expect((await warehouse.apply([first!, second!])).clicks).toBe(200);
    });

    test('numbers that come twice in different places are counted once and reported', async () => {
      const clicks = randomClicks(seededRandom(11), 100);
      const [whole] = partition('p', clicks, 100);
      await warehouse.apply([whole!]);
      const later = randomClicks(seededRandom(12), 40);
      const overlapping = { ...whole!, from: 100, to: 200, batch: sampleBatch(81, later) };
      expect(await warehouse.apply([overlapping])).toEqual({ clicks: 20, duplicates: 20 });
      const counted = [...clicks, ...later.slice(20)];
      for (const scope of scopes) {
        const mine = counted.filter(inScope(scope));
        expect(await warehouse.series(scope, 'quarter', from, to)).toEqual(truth(mine, 'quarter'));
      }
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
      const batches = partition('p', randomClicks(seededRandom(13), 500), 50);
      const other = harness.reopen();
      const results = [];
      for (const batch of batches) results.push(await warehouse.apply([batch]), await other.apply([batch]));
      expect(results.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(500);
      await other.close();
    });

    test('dropping old minutes keeps every number but the minutes themselves', async () => {
      const clicks = randomClicks(seededRandom(14), 2_000);
      await warehouse.apply(partition('p', clicks, 500));
      const before = await everything(warehouse);
      while ((await warehouse.dropMinutes(to, 100)) > 0);
      const after = await everything(warehouse);
      expect(after.map(({ minutes }) => minutes)).toEqual(scopes.map(() => []));
      expect(after.map(({ minutes: _, ...rest }) => rest)).toEqual(
        before.map(({ minutes: _, ...rest }) => rest),
      );
      const half = samplesStart + grainMs.day / 2;
      const humans = clicks.filter(({ at, kind, code }) => at < half && kind === 'human' && code === 'link0');
      expect(await warehouse.uniques([link('link0')], from, half)).toBe(
        new Set(humans.map(({ visitor }) => visitor)).size,
      );
    });

    test('clicks that come after their minute was dropped still count', async () => {
      const [first, late] = partition(
        'p',
        [
          { at: samplesStart, visitor: 1 },
          { at: samplesStart + 60_000, visitor: 2 },
        ],
        1,
      );
      await warehouse.apply([first!]);
      await warehouse.dropMinutes(to, 100);
      await warehouse.apply([late!]);
      const expected = [{ start: samplesStart, clicks: 2, bots: 0, suspicious: 0 }];
      expect(await warehouse.series(link('abc'), 'quarter', from, to)).toEqual(expected);
      await warehouse.dropMinutes(to, 100);
      expect(await warehouse.series(link('abc'), 'quarter', from, to)).toEqual(expected);
      expect(await warehouse.uniques([link('abc')], samplesStart, samplesStart + grainMs.quarter)).toBe(2);
    });

    test('a forgotten link starts at zero, its account does not, and a replay agrees', async () => {
      const clicks = Array.from({ length: 10 }, (_, n) => ({ at: samplesStart + n, visitor: n }));
      const batches = partition('p', clicks, 10);
      await warehouse.apply(batches);
      await warehouse.forget('abc', samplesStart + 5);
      expect((await warehouse.total(link('abc'))).clicks).toBe(0);
      expect((await warehouse.total({ kind: 'owner', ownerId: 'acc_1' })).clicks).toBe(10);
      expect(await warehouse.forgottenBefore('abc')).toBe(samplesStart + 5);
      await warehouse.apply([{ ...batches[0]!, partition: 'again', producer: 'again' }]);
      expect((await warehouse.total(link('abc'))).clicks).toBe(5);
    });

    test('a rebuild from the whole stream gives the same numbers, whatever had become of them', async () => {
      const clicks = randomClicks(seededRandom(15), 1_000);
      const batches = partition('p', clicks, 100);
      await warehouse.apply(batches);
      const before = await everything(warehouse);
      const ledger = await warehouse.ledger(from, to);
      await warehouse.forget('link0', 0);
      expect(await everything(warehouse)).not.toEqual(before);
      async function* chunks() {
        yield batches.slice(0, 4);
        yield batches.slice(4);
      }
      expect(await warehouse.recountAll({ countFrom: 0, producers: ['p'] }, chunks())).toEqual({
        clicks: 1_000,
        duplicates: 0,
      });
      expect(await everything(warehouse)).toEqual(before);
      expect(await warehouse.ledger(from, to)).toEqual(ledger);
      expect(await warehouse.positions()).toEqual(new Map([['p', 1_000]]));
    });

    test('a rebuild of the later part leaves the earlier part as it was', async () => {
      const clicks = randomClicks(seededRandom(16), 1_000);
      await warehouse.apply(partition('p', clicks, 100));
      const before = await everything(warehouse);
      const cut = Math.floor((samplesStart + grainMs.day) / grainMs.day) * grainMs.day;
      const late = partition(
        'p',
        clicks.filter(({ at }) => at >= cut - grainMs.day / 2),
        100,
      );
      async function* chunks() {
        yield late;
      }
      await warehouse.recountAll({ countFrom: cut, producers: ['p'] }, chunks());
      expect(await everything(warehouse)).toEqual(before);
    });

    test('a rebuild keeps the last click of links without clicks since then', async () => {
      const [early, late] = [samplesStart, samplesStart + 3 * grainMs.day];
      const of = (code: string, at: number): SampleClick => ({
        code,
        at,
        ownerId: 'acc_1',
        kind: 'human',
        visitor: 1,
      });
      const clicks = [of('quiet', early + 123_456), of('busy', early), of('busy', late + 654_321)];
      const batches = partition('p', clicks, 512);
      await warehouse.apply(batches);
      async function* chunks() {
        yield batches;
      }
      await warehouse.recountAll({ countFrom: late, producers: ['p'] }, chunks());
      expect((await warehouse.total(link('quiet'))).lastClickAt).toBe(early + 123_456);
      expect((await warehouse.total(link('busy'))).lastClickAt).toBe(late + 654_321);
    });

    test('a rebuild that fails leaves everything as it was', async () => {
      const batches = partition('p', randomClicks(seededRandom(17), 200), 100);
      await warehouse.apply(batches);
      const before = await everything(warehouse);
      async function* chunks() {
        yield batches.slice(0, 1);
        throw new Error('log unreadable');
      }
      await expect(warehouse.recountAll({ countFrom: 0, producers: ['p'] }, chunks())).rejects.toThrow(
        'log unreadable',
      );
      expect(await everything(warehouse)).toEqual(before);
    });

    test('retiring a partition forgets its position and no count', async () => {
      await warehouse.apply(partition('p', randomClicks(seededRandom(18), 100), 100));
      const before = await everything(warehouse);
      await warehouse.retire(['p', 'unknown']);
      expect(await warehouse.positions()).toEqual(new Map());
      expect(await everything(warehouse)).toEqual(before);
    });

    test('uniques of several scopes are merged, not added', async () => {
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
      expect(await warehouse.uniques([link('a'), link('b')], from, to)).toBe(2);
    });

    test('a range is half open, to the millisecond of its buckets', async () => {
      await warehouse.apply(
        partition(
          'p',
          [0, 1, 2].map(n => ({ at: samplesStart + n * 60_000 })),
          3,
        ),
      );
      const series = await warehouse.series(link('abc'), 'minute', samplesStart, samplesStart + 120_000);
      expect(series.map(({ start }) => start)).toEqual([samplesStart, samplesStart + 60_000]);
    });
  });
}
