import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { heavyTestMaxMs } from '../../../../test/kit/scale.ts';
import { type SampleClick, samplesStart } from '../../batch-samples.ts';
import { link, mismatches, partition, Truth } from '../../fake-warehouse-truth.ts';
import { grainMs, type Scope, type Warehouse } from '../../warehouse.ts';
import { unpackText } from './columns.ts';
import { openSqliteWarehouse } from './warehouse.ts';

const day = Math.floor(samplesStart / grainMs.day) * grainMs.day;
const merging = { now: day + 5 * grainMs.day, singlesFrom: 0, minutesFrom: 0, rowsMax: 100_000 };
const ending = { ...merging, singlesFrom: day + grainMs.day };
const owner: Scope = { kind: 'owner', ownerId: 'acc_1' };
const tagged = (tag: string): Scope => ({ kind: 'tag', ownerId: 'acc_1', tag });

const clicksOf = (code: string, count: number, tags: readonly string[]): SampleClick[] =>
  Array.from({ length: count }, (_, n) => ({
    at: day + n * 20_000,
    code,
    tags,
    visitor: n,
    ownerId: 'acc_1',
  }));

describe('merging', () => {
  let folder: string;
  let warehouse: Warehouse;
  let truth: Truth;
  let parts: number;
  let opened: Database | undefined;
  const open = (): Warehouse => openSqliteWarehouse(join(folder, 'stats.db'));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-merge-'));
    warehouse = open();
    truth = new Truth();
    parts = 0;
  });
  afterEach(async () => {
    opened?.close();
    opened = undefined;
    await warehouse.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const database = (): Database => {
    opened ??= new Database(join(folder, 'stats.db'), { strict: true });
    return opened;
  };
  const count = async (clicks: readonly SampleClick[]): Promise<void> => {
    parts += 1;
    truth.add(clicks);
    await warehouse.apply(partition(`p${parts}`, clicks, clicks.length));
  };
  const maintain = async (plan = merging, by = warehouse): Promise<void> => {
    while ((await by.maintain(plan)) > 0);
  };
  const check = async (scopes: readonly Scope[]): Promise<void> => {
    for (const scope of scopes) {
      const range = { from: day, to: day + grainMs.day };
      const question = { scopes: [scope], ...range, starts: [day], filters: [], breakdowns: [] };
      expect(await mismatches(warehouse, truth, [question])).toEqual([]);
      const { lastClickAt: _, ...sums } = truth.total(scope);
      expect(await warehouse.total(scope)).toMatchObject(sums);
    }
  };

  test('of rolled-off runs keeps the clicks of tags, whichever links of the owner came first', async () => {
    await count([...clicksOf('busy', 1_500, ['a']), ...clicksOf('other', 300, [])]);
    await maintain(ending);
    // Too few clicks in each run for a summary of the owner, on links before and behind the busy one.
    for (let round = 0; round < 12; round += 1) {
      await count(Array.from({ length: 110 }, (_, n) => clicksOf(`thin${round}-${n}`, 1, ['a', 'b'])).flat());
      await maintain(ending);
      await check([owner, tagged('a'), tagged('b'), link('busy'), link('thin0-3')]);
    }
  });

  test('of a day that is over leaves one run, although one piece was tiny', async () => {
    await count(clicksOf('busy', 10, []));
    for (let piece = 0; piece < 5; piece += 1) await count(clicksOf('busy', 1_100, []));
    await maintain();
    const live = database().query("SELECT clicks FROM runs WHERE state = 'live' AND day >= 0").all();
    expect(live).toEqual([{ clicks: 5_510 }]);
    await check([owner, link('busy')]);
  });

  test('keeps the clicks of very many tags, and of tags on links with very many clicks', async () => {
    const tags = Array.from({ length: 200 }, (_, n) => `tag ${n}/ü`);
    await count([
      ...tags.flatMap((tag, n) => clicksOf(`link${n}`, 12, [tag])),
      ...clicksOf('busy', 2_000, [tags[0]!]),
    ]);
    await maintain();
    await check([owner, ...tags.slice(0, 5).map(tagged), tagged('nothing'), link('busy'), link('link3')]);
    await maintain(ending);
    await check([owner, ...tags.slice(0, 5).map(tagged), tagged('nothing'), link('busy'), link('link3')]);
    for (let round = 0; round < 10; round += 1) {
      await count(clicksOf('busy', 20, [tags[1]!]));
      await maintain(ending);
    }
    await check([owner, ...tags.slice(0, 5).map(tagged), link('busy')]);
  });

  test('leaves rolled-off runs alone while days do not end', async () => {
    const filtered = {
      scopes: [owner],
      from: day,
      to: day + grainMs.day,
      starts: [],
      filters: [{ dimension: 'bot', values: [''], isExcluded: false }] as const,
      breakdowns: [],
    };
    for (let round = 0; round < 3; round += 1) {
      // Of the same size, so that they would be merged; the first also has summaries.
      await count([...clicksOf('busy', 1_200 - round * 200, ['a']), ...clicksOf(`late${round}`, 30, [])]);
      await maintain(ending);
      await maintain(merging);
      await check([owner, tagged('a'), link('busy'), link('late0')]);
      expect((await warehouse.answer(filtered)).coveredFrom).toBe(day + grainMs.day);
    }
  });

  test('adds clicks of a busy link to the totals in bounded steps', async () => {
    await count(clicksOf('busy', 4_000, []));
    await count(clicksOf('busy', 30_000, []).map(click => ({ ...click, at: day + (click.at % 80_000_000) })));
    await maintain();
    const untotalled = (): number =>
      database().query("SELECT 1 FROM runs WHERE state = 'live' AND day >= 0 AND totalled = 0").all().length;
    // Also a run that is much larger than the others, which stay apart from it.
    expect(untotalled()).toBe(0);
    // As a recount of some day leaves them.
    database().run("UPDATE runs SET totalled = 0 WHERE state = 'live'");
    database().run("UPDATE runs SET state = 'dropped' WHERE day = -1");
    let stepsBuilding = 0;
    for (let step = 0; untotalled() > 0 && step < 100; step += 1) {
      await warehouse.maintain({ ...merging, rowsMax: 1_000 });
      if (database().query("SELECT 1 FROM runs WHERE state = 'building'").get() !== null) stepsBuilding += 1;
    }
    // A chunk at a time.
    expect(stepsBuilding).toBeGreaterThan(3);
    await check([owner, link('busy')]);
  });

  test('of clicks with long invented values makes smaller chunks', async () => {
    const invented = clicksOf('busy', 4_000, []).map((click, n) => ({
      ...click,
      referrer: `https://site${n}.example/${'x'.repeat(900)}`,
    }));
    for (let start = 0; start < 4_000; start += 500) await count(invented.slice(start, start + 500));
    await maintain();
    const lists = database()
      .query<{ lists: Uint8Array }, []>(
        "SELECT lists FROM chunks JOIN runs ON runs.id = run WHERE state = 'live'",
      )
      .all()
      .map(({ lists }) => unpackText(lists).length);
    expect(Math.max(...lists)).toBeLessThan(1_500_000);
    await check([owner, link('busy')]);
  });

  test(
    'a filtered list of invented values is bounded, and keeps the frequent ones',
    async () => {
      const clicks = Array.from({ length: 60_000 }, (_, n) => ({
        at: day + n,
        code: 'busy',
        referrer: n % 10 === 0 ? 'real.example' : `invented${n}.example`,
      }));
      for (let start = 0; start < clicks.length; start += 20_000)
        await count(clicks.slice(start, start + 20_000));
      const { counts, breakdowns } = await warehouse.answer({
        scopes: [link('busy')],
        from: day,
        to: day + grainMs.day,
        starts: [],
        filters: [{ dimension: 'country', values: ['DE'], isExcluded: false }],
        breakdowns: [{ dimension: 'referrer', offset: 0, limit: 100_000, search: '' }],
      });
      const { values, total } = breakdowns[0]!;
      expect(total).toBeLessThanOrEqual(50_001);
      expect(values.slice(0, 2).map(({ value }) => value)).toEqual(['(other)', 'real.example']);
      expect(values[1]!.clicks).toBe(6_000);
      expect(values.reduce((sum, each) => sum + each.clicks, 0)).toBe(counts.clicks);
    },
    heavyTestMaxMs,
  );

  test(
    'gives up summaries of tags with very many values',
    async () => {
      const tags = Array.from({ length: 22 }, (_, n) => `tag${n}`);
      const clicks = tags.flatMap(tag =>
        clicksOf(tag, 1_200, [tag]).map((click, n) => ({
          ...click,
          referrer: `https://${tag}-${n}.example/`,
          utmSource: `s${tag}${n}`,
          utmTerm: `t${tag}${n}`,
          utmContent: `c${tag}${n}`,
        })),
      );
      await count(clicks);
      await maintain();
      const scopes = database().query<{ scope: string }, []>('SELECT scope FROM summaries').all();
      expect(scopes.map(({ scope }) => scope)).toContain('acc_1 ::');
      await check([owner, tagged(tags[0]!)]);
      await maintain(ending);
      await check([owner, tagged(tags[0]!)]);
    },
    heavyTestMaxMs,
  );

  test('that was taken over by another process is given up when its own process goes on', async () => {
    for (let round = 0; round < 16; round += 1)
      await count(Array.from({ length: 60 }, (_, n) => clicksOf(`l${round}-${n}`, 10, ['a'])).flat());
    const early = { ...merging, now: day + grainMs.minute, rowsMax: 1_000 };
    await warehouse.maintain(early);
    await warehouse.maintain(early);
    const other = open();
    const later = { ...early, now: early.now + 10 * grainMs.minute };
    // Long enough to remove what the first has built, and to build a part of the same again.
    for (let step = 0; step < 8; step += 1) await other.maintain(later);
    await maintain(early);
    await maintain(later, other);
    await maintain({ ...merging, rowsMax: 1_000 });
    const filters = [{ dimension: 'bot', values: [''], isExcluded: false }] as const;
    const range = { from: day, to: day + grainMs.day };
    const filtered = { scopes: [owner], ...range, starts: [day], filters, breakdowns: [] };
    expect((await warehouse.answer(filtered)).counts.clicks).toBe(truth.answer(filtered).counts.clicks);
    await check([owner, tagged('a'), link('l3-3')]);
    await other.close();
  });
});
