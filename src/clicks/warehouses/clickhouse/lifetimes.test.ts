import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { ManualClock, systemClock } from '../../../base/clock.ts';
import { parseAddress } from '../../../engines/clickhouse/address.ts';
import { ClickHouse, type RequestOptions } from '../../../engines/clickhouse/clickhouse.ts';
import { samplesStart } from '../../batch-samples.ts';
import type { LogBatch } from '../../log.ts';
import { grainMs } from '../../warehouse.ts';
import { generationTables } from './columns.ts';
import { clickDays, everythingIn, openWorld, partitionOf, sampleClicks } from './fake-clickhouse-world.ts';
import { createClickHouseWarehouse } from './warehouse.ts';

/** Drops nothing. */
class ClingingClickHouse extends ClickHouse {
  override async run(statement: string, options?: RequestOptions): Promise<void> {
    if (statement.startsWith('DROP')) throw new Error('somebody holds on to it');
    await super.run(statement, options);
  }
}

async function* inChunks(batches: readonly LogBatch[]) {
  for (const batch of batches) yield [batch];
}

describeWithEngine('clickhouse', 'what becomes of tables in ClickHouse', () => {
  test('a process that read the old numbers a moment ago reads the new ones after a rebuild', async () => {
    const { warehouse, another, clickHouse } = await openWorld();
    const batches = partitionOf(sampleClicks(4, 200), 100);
    await warehouse.apply(batches);
    const expected = await everythingIn(warehouse);
    // No time passes for it.
    const other = another(clickHouse, new ManualClock());
    await warehouse.forget('link0', 0);
    await warehouse.forget('link5', 0);
    expect(await everythingIn(other)).not.toEqual(expected);
    await warehouse.recountAll({ countFrom: 0, producers: ['host/0'] }, inChunks(batches));
    expect(await everythingIn(other)).toEqual(expected);
  });

  test('a process that counts continues where the rebuild ended, and not at the position of the old tables', async () => {
    const { warehouse, another, clickHouse } = await openWorld();
    const batches = partitionOf(sampleClicks(5, 300), 100);
    const other = another(clickHouse, new ManualClock());
    await other.apply(batches.slice(0, 2));
    await warehouse.recountAll({ countFrom: 0, producers: ['host/0'] }, inChunks(batches.slice(0, 1)));
    // The second is not in the new tables, so the third has to wait for it.
    expect((await other.apply(batches.slice(2))).clicks).toBe(0);
    expect((await other.apply(batches.slice(1))).clicks).toBe(200);
    const calm = await openWorld();
    await calm.warehouse.apply(batches);
    expect(await everythingIn(other)).toEqual(await everythingIn(calm.warehouse));
  });

  test('a process that counts does so in the new tables, also when the old ones could not be dropped', async () => {
    const { another, clickHouse, url } = await openWorld();
    const batches = partitionOf(sampleClicks(8, 200), 100);
    const other = another(clickHouse, new ManualClock());
    await other.apply(batches.slice(0, 1));
    const clinging = another(new ClingingClickHouse({ address: parseAddress(url), clock: systemClock }));
    await clinging.recountAll({ countFrom: 0, producers: ['host/0'] }, inChunks([]));
    expect((await other.apply(batches)).clicks).toBe(200);
    expect((await another().total({ kind: 'owner', ownerId: 'acc_1' })).clicks).toBeGreaterThan(0);
  });

  test('a rebuild leaves no tables behind, and removes what another one left long ago', async () => {
    const { warehouse, clickHouse } = await openWorld();
    await clickHouse.run('CREATE TABLE quarters_1000 (n UInt8) ENGINE = Memory');
    const underWay = `minutes_${systemClock.now()}`;
    await clickHouse.run(`CREATE TABLE ${underWay} (n UInt8) ENGINE = Memory`);
    const failing = async function* () {
      yield partitionOf(sampleClicks(6, 10), 10);
      throw new Error('unreadable');
    };
    await expect(warehouse.recountAll({ countFrom: 0, producers: [] }, failing())).rejects.toThrow(
      'unreadable',
    );
    await warehouse.recountAll({ countFrom: 0, producers: [] }, inChunks([]));
    const rows = await clickHouse.rows<{ name: string }>(
      `SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_[0-9]+$') AND name NOT LIKE 'to_%'`,
    );
    const names = rows.map(({ name }) => name);
    expect(names).toContain(underWay);
    const kept = names.filter(name => name !== underWay);
    expect(kept.map(name => name.replace(/_\d+$/, '')).sort()).toEqual([...generationTables].sort());
    expect(kept.some(name => name.endsWith('_0') || name.endsWith('_1000'))).toBe(false);
  });

  test('a database that is lost is created again by the next caller after the first that missed it', async () => {
    const { warehouse, clickHouse } = await openWorld();
    const batches = partitionOf(sampleClicks(9, 100), 100);
    await warehouse.apply(batches);
    await clickHouse.run(`DROP DATABASE ${clickHouse.database}`, { settings: { database: 'system' } });
    await expect(warehouse.apply(batches)).rejects.toThrow();
    expect((await warehouse.apply(batches)).clicks).toBe(100);
  });

  test('single clicks are kept for as long in the tables that a rebuild made', async () => {
    const { warehouse, clickHouse } = await openWorld();
    await warehouse.recountAll({ countFrom: 0, producers: [] }, inChunks([]));
    const [table] = await clickHouse.rows<{ text: string }>(
      `SELECT engine_full AS text FROM system.tables WHERE database = currentDatabase() AND name LIKE 'clicks_%'`,
    );
    expect(table?.text).toContain(`toIntervalDay(${clickDays})`);
  });

  test('single clicks go when their days are over, and their counts stay', async () => {
    const { clickHouse, warehouse } = await openWorld();
    const old = Date.UTC(2020, 0, 1);
    const link = { kind: 'link', code: 'abc', ownerId: 'acc_1' } as const;
    await warehouse.apply(partitionOf([{ at: old }, { at: old + grainMs.day }], 2));
    const filter = { ...link, from: 0, to: Number.MAX_SAFE_INTEGER, format: 'ndjson' } as const;
    const exported = () => warehouse.exportPart(filter, undefined);
    expect((await exported()).text.split('\n')).toHaveLength(3);
    await createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays: 30 }).ready();
    await clickHouse.run('OPTIMIZE TABLE clicks_0 FINAL');
    const { text, coveredFrom } = await exported();
    expect([text, coveredFrom! > old + grainMs.day]).toEqual(['', true]);
    expect((await warehouse.total(link)).clicks).toBe(2);
  });

  test('minutes go by whole days, and a day that is not over keeps them', async () => {
    const { warehouse, clickHouse } = await openWorld();
    const midnight = Math.floor(samplesStart / grainMs.day) * grainMs.day;
    const link = { kind: 'link', code: 'abc', ownerId: 'acc_1' } as const;
    await warehouse.apply(partitionOf([{ at: midnight }, { at: midnight + grainMs.day }], 2));
    const minutes = async () => {
      const rows = await clickHouse.rows<{ at: number }>(
        `SELECT toUnixTimestamp(start) * 1000 AS at FROM minutes_0 WHERE scope = '${link.code}' ORDER BY start`,
      );
      return rows.map(({ at }) => at);
    };
    const plan = { now: midnight, singlesFrom: 0, rowsMax: 100 };
    expect(await warehouse.maintain({ ...plan, minutesFrom: midnight + grainMs.day - 1 })).toBe(0);
    expect(await minutes()).toHaveLength(2);
    expect(await warehouse.maintain({ ...plan, minutesFrom: midnight + grainMs.day })).toBeGreaterThan(0);
    expect(await minutes()).toEqual([midnight + grainMs.day]);
  });

  test('sums of an hour agree between tables that are filled apart from each other', async () => {
    const { warehouse, clickHouse } = await openWorld();
    await warehouse.apply(partitionOf(sampleClicks(7, 500), 500));
    const hours = () => warehouse.hourSums(0, samplesStart + 9 * grainMs.day);
    expect((await hours()).reduce((sum, { kept }) => sum + kept!, 0)).toBe(500);
    expect((await hours()).filter(({ kept, counted }) => kept !== counted)).toEqual([]);
    await clickHouse.run("DELETE FROM quarters_0 WHERE scope = 'link0'");
    expect((await hours()).filter(({ kept, counted }) => kept !== counted)).not.toEqual([]);
  });
});
