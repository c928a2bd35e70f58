import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ColumnTruth } from '../../../../test/kit/column-truth.ts';
import { RandomQuestions } from '../../../../test/kit/random-questions.ts';
import { RandomTraffic, trafficLists } from '../../../../test/kit/random-traffic.ts';
import { heavyTestMaxMs } from '../../../../test/kit/scale.ts';
import { seededRandom } from '../../../base/random.ts';
import { type ClickBatch, noVisitTraits } from '../../click.ts';
import { allLists, mismatches, startsEvery } from '../../fake-warehouse-truth.ts';
import { type Filter, grainMs, type Question, type Warehouse } from '../../warehouse.ts';
import { entrySeparator, fieldsOf, listDimensions, listSeparator } from './chunk.ts';
import { unpackText } from './columns.ts';
import { blockRanks, firstBlockPart, groupedLists, sharedRankPart } from './groups.ts';
import { openSqliteWarehouse } from './warehouse.ts';

const clicks = 12 * 8_192;
const from = Date.UTC(2026, 5, 1, 0, 30);
const range = { from, to: from + 1.4 * grainMs.day };
const firstDay = { from: from - 30 * grainMs.minute, to: from - 30 * grainMs.minute + grainMs.day };
const traffic = new RandomTraffic({ clicks, ...range, seed: 7 });
const world = traffic.world();
const [busy] = world.links;
const plan = { now: range.to + grainMs.day, singlesFrom: 0, minutesFrom: 0, rowsMax: 16_384 };
const filters: Filter[] = [
  { dimension: 'country', values: ['AB', 'AC', 'BD'], isExcluded: true },
  { dimension: 'device', values: ['mobile'], isExcluded: false },
];

/** Nine of ten clicks on one link. */
function* busyBatches(): Generator<ClickBatch> {
  for (const batch of traffic.batches()) {
    const place = batch.links.findIndex(({ code }) => busy?.kind === 'link' && code === busy.code);
    yield { ...batch, link: batch.link.map((link, index) => (index % 10 === 0 ? link : place)) };
  }
}

describe('groups of a busy link', () => {
  let folder: string;
  let warehouse: Warehouse;
  let truth: ColumnTruth;
  let database: Database;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'terse-groups-'));
    warehouse = openSqliteWarehouse(join(folder, 'stats.db'));
    database = new Database(join(folder, 'stats.db'), { strict: true });
    truth = new ColumnTruth(clicks, trafficLists);
    let position = 0;
    for (const batch of busyBatches()) {
      truth.add(batch);
      await warehouse.apply([
        { partition: 'p', from: position, to: position + 1, producer: 'host/0', batch },
      ]);
      position += 1;
    }
    truth.sort();
  });
  afterEach(async () => {
    database.close();
    await warehouse.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const maintain = async (now = plan.now): Promise<void> => {
    while ((await warehouse.maintain({ ...plan, now })) > 0);
  };
  const rowsIn = (table: string): number =>
    database.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${table}`).get()!.rows;
  const asked = (more: Partial<Question> = {}): Question => ({
    scopes: [busy!],
    ...firstDay,
    starts: startsEvery(grainMs.day / 24, firstDay),
    filters,
    breakdowns: allLists,
    ...more,
  });

  test(
    'answer whatever is asked as the clicks do',
    async () => {
      await maintain();
      expect(rowsIn('groups')).toBeGreaterThan(0);
      const questions = new RandomQuestions(seededRandom(3), { ...world, links: [busy!, world.links[1]!] });
      expect(
        await mismatches(warehouse, truth, [
          asked(),
          ...questions.take(150, { isFiltered: true, filtersMax: 2 }),
        ]),
      ).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test(
    'are all that a filter over the day reads',
    async () => {
      await maintain();
      const { changes } = database
        .query(
          `UPDATE chunks SET at = x'', token = x'', place = x''
          WHERE EXISTS (SELECT 1 FROM groups WHERE groups.run = chunks.run AND chunks.id BETWEEN chunk AND last_chunk)`,
        )
        .run();
      expect(changes).toBeGreaterThan(3);
      expect(await mismatches(warehouse, truth, [asked()])).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test(
    'are made by another process when one ends while it makes them',
    async () => {
      while (rowsIn('group_parts') === 0) await warehouse.maintain(plan);
      expect(rowsIn('groups')).toBe(0);
      await warehouse.close();
      warehouse = openSqliteWarehouse(join(folder, 'stats.db'));
      await maintain(plan.now + 10 * grainMs.minute);
      expect(rowsIn('groups')).toBeGreaterThan(0);
      expect(await mismatches(warehouse, truth, [asked()])).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test(
    'are given up by a process when another has taken them over',
    async () => {
      const early = { ...plan, rowsMax: 1 };
      while (rowsIn('group_parts') < 3) await warehouse.maintain(early);
      const other = openSqliteWarehouse(join(folder, 'stats.db'));
      const later = { ...early, now: early.now + 10 * grainMs.minute };
      await other.maintain(later);
      for (let turn = 0; rowsIn('groups') === 0; turn += 1)
        await (turn % 2 === 0 ? warehouse.maintain(early) : other.maintain(later));
      while ((await warehouse.maintain(early)) + (await other.maintain(later)) > 0);
      expect(database.query('SELECT 1 FROM runs WHERE singles = 1 AND grouped != 2').all()).toEqual([]);
      expect(await mismatches(warehouse, truth, [asked()])).toEqual([]);
      await other.close();
    },
    heavyTestMaxMs,
  );

  test(
    'are read as clicks where a part of them is missing',
    async () => {
      await maintain();
      for (const part of [firstBlockPart, blockRanks[0].firstPart, sharedRankPart])
        expect(database.query('DELETE FROM group_parts WHERE part = ?').run(part).changes).toBeGreaterThan(0);
      expect(await mismatches(warehouse, truth, [asked()])).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test(
    'are read only where clicks pass',
    async () => {
      await maintain();
      const [{ lists }] = database.query<{ lists: Uint8Array }, []>('SELECT lists FROM groups').all() as [
        { lists: Uint8Array },
      ];
      const [place] = unpackText(lists)
        .split(listSeparator)
        [groupedLists.indexOf('place')]!.split(entrySeparator);
      const fields = fieldsOf(place!);
      const ofPlace = listDimensions.place.map(
        ({ name }, index): Filter => ({ dimension: name, values: [fields[index]!], isExcluded: false }),
      );
      const ofBlocks = [firstBlockPart, ...blockRanks.map(({ firstPart }) => firstPart)];
      for (const first of ofBlocks) {
        const { changes } = database
          .query(
            `UPDATE group_parts SET rows = x'', numbers = x'' WHERE (chunk, part) IN (
              SELECT chunk, max(part) FROM group_parts WHERE part BETWEEN ?1 AND ?1 + 999 GROUP BY chunk HAVING count(*) > 1)`,
          )
          .run(first);
        expect(changes).toBeGreaterThan(0);
      }
      expect(await mismatches(warehouse, truth, [asked({ filters: ofPlace })])).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test(
    'of an earlier form are not read, and are made again',
    async () => {
      await maintain();
      const before = rowsIn('group_parts');
      database.run("UPDATE group_parts SET chunk = chunk + 1, numbers = x''");
      database.run(
        'INSERT INTO group_parts (run, chunk, part, rows, numbers) SELECT run, chunk - 1, part, rows, numbers FROM group_parts',
      );
      database.run('UPDATE groups SET parts = -parts');
      database.run('UPDATE runs SET grouped = 1');
      expect(await mismatches(warehouse, truth, [asked()])).toEqual([]);
      await maintain();
      expect(rowsIn('group_parts')).toBe(before);
      expect(database.query('SELECT count(*) AS count FROM groups WHERE parts < 0').get()).toEqual({
        count: rowsIn('groups'),
      });
      expect(await mismatches(warehouse, truth, [asked()])).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test(
    'are made after what is due to be merged, and not of what will be merged at once',
    async () => {
      const isBuilding = (): boolean =>
        database.query("SELECT 1 FROM runs WHERE state = 'building'").get() !== null;
      while (rowsIn('group_parts') === 0) await warehouse.maintain(plan);
      expect([rowsIn('groups'), isBuilding()]).toEqual([0, false]);
      for (const producer of ['other/0', 'other/1']) {
        let from = 0;
        for (const batch of busyBatches()) {
          const later = { ...batch, at: batch.at.map(at => at + 7 * grainMs.day) };
          await warehouse.apply([{ partition: producer, from, to: from + 1, producer, batch: later }]);
          from += 1;
        }
      }
      await warehouse.maintain(plan);
      expect([rowsIn('groups'), isBuilding()]).toEqual([0, true]);
      await maintain();
      const grouped = database
        .query('SELECT DISTINCT level FROM runs JOIN groups ON run = runs.id ORDER BY level')
        .all();
      expect(grouped).toEqual([{ level: 1 }, { level: 2 }]);
    },
    heavyTestMaxMs,
  );

  test(
    'are smaller where clicks are too different for a large one',
    async () => {
      const visits = Array.from({ length: 64 }, (_, index) => ({ ...noVisitTraits, language: `l${index}` }));
      const referrers = Array.from({ length: 2_048 }, (_, index) => ({
        domain: `d${index}.example`,
        referrer: `https://d${index}.example/`,
      }));
      const later = 7 * grainMs.day;
      let [visited, referred] = [0, 0];
      for (const producer of ['different/0', 'different/1'])
        for (const [position, batch] of [...busyBatches()].entries()) {
          const different = {
            ...batch,
            at: batch.at.map(at => at + later),
            visits,
            visit: batch.visit.map(() => (visited++ >>> 11) % visits.length),
            referrers,
            referrer: batch.referrer.map(() => referred++ % referrers.length),
          };
          const span = { partition: producer, from: position, to: position + 1 };
          await warehouse.apply([{ ...span, producer, batch: different }]);
        }
      const day = { from: firstDay.from + later, to: firstDay.to + later };
      const question = asked({ ...day, starts: startsEvery(grainMs.day / 24, day) });
      const before = await warehouse.answer(question);
      await maintain(plan.now + later);
      const grouped = database
        .query<{ groups: number }, [number]>(
          'SELECT count(*) AS groups FROM groups JOIN runs ON run = runs.id WHERE day = ?',
        )
        .get(Math.floor(day.from / grainMs.day) * grainMs.day);
      expect(grouped!.groups).toBeGreaterThan(1);
      expect(await warehouse.answer(question)).toEqual(before);
    },
    heavyTestMaxMs,
  );

  test(
    'are gone with the single clicks, and with a run that was merged',
    async () => {
      await maintain();
      expect(rowsIn('group_parts')).toBeGreaterThan(0);
      while ((await warehouse.maintain({ ...plan, singlesFrom: range.to + grainMs.day })) > 0);
      expect(rowsIn('groups') + rowsIn('group_parts')).toBe(0);
    },
    heavyTestMaxMs,
  );

  test(
    'leave out clicks of before a deletion',
    async () => {
      await maintain();
      const since = firstDay.from + 9.5 * 60 * grainMs.minute;
      const part = { from: since, starts: [] };
      const kept = await warehouse.answer(asked(part));
      await warehouse.forget(busy!.kind === 'link' ? busy!.code : '', since);
      expect(await warehouse.answer(asked({ starts: [] }))).toEqual(kept);
    },
    heavyTestMaxMs,
  );
});
