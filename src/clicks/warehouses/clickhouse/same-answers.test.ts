/** The same clicks, counted in SQLite and in ClickHouse, must give the same answer to every query. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatedBatches, VisitorTruth } from '../../../../bench/kit/generated-clicks.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { RandomQuestions } from '../../../../test/kit/random-questions.ts';
import { heavyTestMaxMs, scaled } from '../../../../test/kit/scale.ts';
import { seededRandom } from '../../../base/random.ts';
import { type DimensionName, dimensions, valuesOf } from '../../dimensions.ts';
import { allLists, link, startsEvery } from '../../fake-warehouse-truth.ts';
import type { LogBatch } from '../../log.ts';
import { readStats } from '../../stats.ts';
import { type Filter, grainMs, type Scope, type Warehouse } from '../../warehouse.ts';
import { openSqliteWarehouse } from '../sqlite/warehouse.ts';
import { openWorld } from './fake-clickhouse-world.ts';

const clicks = scaled(100_000, 1_000_000);
const to = Date.UTC(2026, 5, 30, 17, 23);
const from = to - 5 * grainMs.day;
/** Few visitors and many, so that their sketches are of every form. */
const visitorsPerDay = clicks / 5;
/** More of them when there are more clicks, so that a quiet link stays one. */
const linkCount = clicks / 250;
const blockBatches = 4;

/** One link has half of all clicks, the others share the rest. */
const linkAt = (index: number) => {
  const number = index % 2 === 0 ? 0 : index;
  return {
    code: `link${number}`,
    ownerId: `acc_${number % 3}`,
    tags: number % 5 === 0 ? ['fifth', 'a tag'] : [],
  };
};

function* blocks(): Generator<LogBatch[]> {
  let position = 0;
  let block: LogBatch[] = [];
  const traffic = { clicks, from, to, visitorsPerDay, linkCount, linkAt };
  for (const batch of generatedBatches(traffic, 1, new VisitorTruth(visitorsPerDay))) {
    block.push({ partition: 'clicks/0', from: position, to: ++position, producer: 'host/0', batch });
    if (block.length < blockBatches) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}

describeWithEngine('clickhouse', `SQLite and ClickHouse, given the same ${clicks} clicks`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-same-answers-'));
  let sqlite: Warehouse;
  let clickhouse: Warehouse;
  beforeAll(async () => {
    sqlite = openSqliteWarehouse(join(folder, 'stats.db'));
    clickhouse = (await openWorld()).warehouse;
    for (const block of blocks()) {
      expect(await clickhouse.apply(block)).toEqual(await sqlite.apply(block));
    }
  }, heavyTestMaxMs);
  afterAll(async () => {
    await sqlite.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const both = async <Answer>(ask: (warehouse: Warehouse) => Promise<Answer>): Promise<Answer> => {
    const [one, other] = [await ask(sqlite), await ask(clickhouse)];
    expect(other).toEqual(one);
    return one;
  };

  const linkScope = (number: number): Scope => link(`link${number}`, `acc_${number % 3}`);
  const scopes: Record<string, Scope[]> = {
    'a busy link': [linkScope(0)],
    'a quiet link': [linkScope(7)],
    'a link that nobody followed': [link('nobody')],
    'an account': [{ kind: 'owner', ownerId: 'acc_1' }],
    'a tag': [{ kind: 'tag', ownerId: 'acc_2', tag: 'a tag' }],
    'several links': [1, 3, 5, 7, 9].map(linkScope),
  };
  const hour = 60 * 60_000;
  const midnight = Math.floor(from / grainMs.day) * grainMs.day;
  const ranges = [
    { from: midnight - grainMs.day, to: midnight + 7 * grainMs.day },
    { from: midnight + 5.75 * hour, to: midnight + 3 * grainMs.day + 5.75 * hour },
    { from: from + 5 * hour + 7 * 60_000, to: to - 3 * hour - 60_000 },
    { from: to - 47 * 60_000, to },
  ];
  const filters: Filter[][] = [
    [],
    [{ dimension: 'browser', values: ['Chrome'], isExcluded: false }],
    [
      { dimension: 'referrer', values: [''], isExcluded: true },
      { dimension: 'via', values: ['qr'], isExcluded: false },
    ],
  ];
  /** Both keep all values that a day has, if there are no more than so many. */
  const breakdowns = allLists.map(list => ({ ...list, limit: 50 }));

  /** In turn, so that every range and every scope has each of them. */
  const filtersOf = (turn: number): Filter[][] => scaled([filters[0]!, filters[1 + (turn % 2)]!], filters);

  test.each(Object.entries(scopes))(
    'say the same about %s',
    async (name, asked) => {
      const turn = Object.keys(scopes).indexOf(name);
      for (const [index, range] of ranges.entries()) {
        for (const each of filtersOf(turn + index)) {
          const starts = startsEvery(hour, range);
          const question = { scopes: asked, ...range, starts, filters: each, breakdowns };
          await both(async warehouse => agreed(await warehouse.answer(question)));
        }
      }
      for (const scope of asked) await both(warehouse => warehouse.total(scope));
      for (const timeZone of ['UTC', 'Asia/Kathmandu']) {
        const zoneMs = timeZone === 'UTC' ? 0 : -5.75 * hour;
        await both(async warehouse => {
          const query = { scopes: asked, filters: [], interval: 'day', timeZone, now: to } as const;
          const range = { from: Date.UTC(2026, 5, 25) + zoneMs, to: Date.UTC(2026, 5, 30) + zoneMs };
          return agreed(await readStats(warehouse, { ...query, ...range }));
        });
      }
    },
    heavyTestMaxMs,
  );

  test(
    'say the same, whatever is asked',
    async () => {
      const [batch] = generatedBatches(
        { clicks: 1_000, from, to, visitorsPerDay, linkCount, linkAt },
        1,
        new VisitorTruth(visitorsPerDay),
      );
      const values = Object.fromEntries(
        dimensions.map(each => [each.name, valuesOf(batch!, each)]),
      ) as Record<DimensionName, string[]>;
      const questions = new RandomQuestions(seededRandom(71), {
        from,
        to: Math.floor(to / grainMs.quarter) * grainMs.quarter,
        links: Object.values(scopes)
          .flat()
          .filter(({ kind }) => kind === 'link'),
        owners: [0, 1, 2].map(number => ({ kind: 'owner', ownerId: `acc_${number}` })),
        tags: ['fifth', 'a tag'].map(tag => ({ kind: 'tag', ownerId: 'acc_0', tag })),
        values,
      });
      for (const question of questions.take(scaled(20, 400)))
        await both(async warehouse => agreed(await warehouse.answer(question)));
    },
    heavyTestMaxMs,
  );

  test('rank an owner’s links in the same order', async () => {
    const question = { ownerId: 'acc_1', limit: 50, codes: undefined } as const;
    for (const order of ['most', 'least'] as const) {
      const first = await both(warehouse => warehouse.ranking({ ...question, order, after: undefined }));
      expect(first).toHaveLength(50);
      await both(warehouse => warehouse.ranking({ ...question, order, after: first.at(-1) }));
    }
  });

  test('say the same about what was counted of which producer', async () => {
    expect((await both(warehouse => warehouse.ledger(0, Number.MAX_SAFE_INTEGER))).length).toBeGreaterThan(
      100,
    );
    await both(warehouse => warehouse.producers());
    await both(warehouse => warehouse.positions());
    await both(warehouse => warehouse.earliest());
  });

  test('have seen visitors by the handful and by the thousand', async () => {
    const counts = await Promise.all(
      Object.values(scopes).map(async asked => {
        const question = { scopes: asked, from, to, starts: [], filters: [], breakdowns: [] };
        return (await clickhouse.answer(question)).visitors;
      }),
    );
    expect(counts.some(count => count > 0 && count < 1_024)).toBe(true);
    expect(counts.some(count => count > 10_000)).toBe(true);
  });
});

/** Without what an engine says of itself. */
const agreed = <Answer extends { source: unknown }>({ source: _, ...answer }: Answer) => answer;
