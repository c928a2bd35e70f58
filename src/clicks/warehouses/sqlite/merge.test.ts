import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SampleClick, samplesStart } from '../../batch-samples.ts';
import { link, mismatches, partition, Truth } from '../../fake-warehouse-truth.ts';
import { grainMs, type Scope, type Warehouse } from '../../warehouse.ts';
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
  const open = (): Warehouse => openSqliteWarehouse(join(folder, 'stats.db'));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-merge-'));
    warehouse = open();
    truth = new Truth();
    parts = 0;
  });
  afterEach(async () => {
    await warehouse.close();
    rmSync(folder, { recursive: true, force: true });
  });

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
