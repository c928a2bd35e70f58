import { expect, test } from 'bun:test';
import { sharedClickHouse } from '../../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../../test/kit/engines/clickhouse-client.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { ManualClock, systemClock } from '../../../base/clock.ts';
import { parseAddress } from '../../../engines/clickhouse/address.ts';
import { ClickHouse, type Insert, type RequestOptions } from '../../../engines/clickhouse/clickhouse.ts';
import { samplesStart } from '../../batch-samples.ts';
import { FakeLog } from '../../fake-log.ts';
import { sampledRange } from '../../fake-warehouse-truth.ts';
import type { LogBatch } from '../../log.ts';
import { recountConformance } from '../../recount.conformance.ts';
import { hourMs, hourOf, SpanReplay, type TimeSpan, wholeDays } from '../../replay.ts';
import { alone, type CountingPause, type Warehouse } from '../../warehouse.ts';
import { generationTables } from './columns.ts';
import {
  clickDays,
  everythingIn,
  openWorld,
  partitionOf,
  sampleClicks,
  type World,
} from './fake-clickhouse-world.ts';
import { Hold } from './generations.ts';
import { createClickHouseWarehouse } from './warehouse.ts';

const seconds = (at: number): number => at / 1_000;

/** Rows are lost, added and changed, in every table that says something about these hours. */
async function spoil(clickHouse: ClickHouse, { from, to }: TimeSpan): Promise<void> {
  const [row] = await clickHouse.rows<{ generation: number }>(
    'SELECT argMax(generation, at) AS generation FROM generations',
  );
  const table = (name: string): string => `${name}_${row?.generation ?? 0}`;
  const within = `start >= ${seconds(from)} AND start < ${seconds(to)}`;
  await clickHouse.run(`DELETE FROM ${table('quarters')} WHERE ${within} AND cityHash64(scope) % 2 = 0`);
  await clickHouse.run(`DELETE FROM ${table('minutes')} WHERE ${within} AND cityHash64(scope) % 3 = 0`);
  await clickHouse.run(
    `DELETE FROM ${table('clicks')} WHERE toStartOfHour(at) >= ${seconds(from)} AND toStartOfHour(at) < ${seconds(to)} AND sequence % 2 = 0`,
  );
  await clickHouse.run(
    `INSERT INTO ${table('minutes')} (scope, start, clicks) SELECT 'link0', toDateTime(${seconds(from)}, 'UTC'), 7`,
  );
  await clickHouse.run(
    `INSERT INTO ${table('quarters')} (scope, start, clicks) SELECT 'phantom', toDateTime(${seconds(from)}, 'UTC'), 3`,
  );
  await clickHouse.run(
    `DELETE FROM ${table('dimensions')} WHERE day = toDate(toDateTime(${seconds(from)}, 'UTC')) AND value = 'DE'`,
  );
  await clickHouse.run(`DELETE FROM ${table('lists')} WHERE ${within} AND value = 'Linux'`);
  await clickHouse.run(
    `INSERT INTO ${table('ledger')} (kind, name, hour, counted) SELECT 'hour', 'host/a', toDateTime(${seconds(from)}, 'UTC'), 2`,
  );
}

describeWithEngine('clickhouse', 'recounts of days in ClickHouse', () => {
  recountConformance('clickhouse', async () => {
    const clickHouse = patientClickHouse((await sharedClickHouse()).freshDatabaseUrl());
    const warehouse = createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays });
    await warehouse.ready();
    return {
      warehouse,
      spoil: span => spoil(clickHouse, span),
      dispose: () => clickHouse.run(`DROP DATABASE ${clickHouse.database} SYNC`),
    };
  });

  const span: TimeSpan = { from: hourOf(samplesStart) + hourMs, to: hourOf(samplesStart) + 3 * hourMs };
  const batches = partitionOf(
    sampleClicks(21, 600).sort((a, b) => a.at - b.at),
    100,
  );
  function replayOf(written: readonly LogBatch[]): SpanReplay {
    const stream = new FakeLog();
    stream.write(written);
    return new SpanReplay(stream, wholeDays(span));
  }
  /** What everything should be when all batches are counted. */
  let counted: ReturnType<typeof everythingIn> | undefined;
  function expected() {
    counted ??= openWorld().then(async ({ warehouse }) => {
      await warehouse.apply(batches);
      return everythingIn(warehouse);
    });
    return counted;
  }
  const hoursIn = (warehouse: Warehouse) => warehouse.hourSums(sampledRange.from, sampledRange.to);
  const tablesIn = async ({ clickHouse }: World): Promise<string[]> =>
    (
      await clickHouse.rows<{ name: string }>(
        `SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_[0-9]+$') AND name NOT LIKE 'to_%'`,
      )
    ).map(({ name }) => name);

  test('when a process counts during the pause, it is tried again and comes out right', async () => {
    const world = await openWorld();
    await world.warehouse.apply(batches.slice(0, 4));
    await spoil(world.clickHouse, span);
    const rest = [...batches.slice(4)];
    let moments = 0;
    const heedless: CountingPause = {
      async during(look, act) {
        moments += 1;
        await look();
        const next = rest.shift();
        if (next !== undefined) {
          await world.another().apply([next]);
          return false;
        }
        await act();
        return true;
      },
    };
    await world.warehouse.recountDays(replayOf(batches), heedless);
    expect(moments).toBe(3);
    expect(await hoursIn(world.another())).toEqual((await expected()).hours);
    expect((await tablesIn(world)).length).toBe(generationTables.length);
  });

  test('without a quiet moment nothing is repaired, and nothing is left behind', async () => {
    const world = await openWorld();
    await world.warehouse.apply(batches);
    await spoil(world.clickHouse, span);
    const before = await everythingIn(world.warehouse);
    const never: CountingPause = {
      async during(look) {
        await look();
        return false;
      },
    };
    const refused = world.warehouse.recountDays(replayOf(batches), never);
    await expect(refused).rejects.toThrow('without a pause');
    expect(await everythingIn(world.another())).toEqual(before);
    expect((await tablesIn(world)).length).toBe(generationTables.length);
  });

  test('a process that counted a moment ago continues in the new tables, and not where the repair began', async () => {
    const world = await openWorld();
    // No time passes for it.
    const other = world.another(world.clickHouse, new ManualClock());
    await other.apply(batches.slice(0, 3));
    await spoil(world.clickHouse, span);
    await world.warehouse.recountDays(replayOf(batches.slice(0, 3)), alone);
    expect(await other.apply(batches.slice(3))).toEqual({ clicks: 300, duplicates: 0 });
    expect(await hoursIn(other)).toEqual((await expected()).hours);
  });

  test.each(['ATTACH', 'generations'])(
    'when the repairing process dies at %s, the old numbers are active and counting continues',
    async where => {
      const world = await openWorld();
      await world.warehouse.apply(batches.slice(0, 3));
      const before = await everythingIn(world.warehouse);
      class Dying extends ClickHouse {
        override async run(statement: string, options?: RequestOptions): Promise<void> {
          if (statement.includes(`${where} `) || statement.startsWith('DROP')) throw new Error('killed');
          await super.run(statement, options);
        }
        override async insert(insert: Insert): Promise<void> {
          if (insert.table.startsWith(where)) throw new Error('killed');
          await super.insert(insert);
        }
      }
      const dying = world.another(
        new Dying({
          address: parseAddress(world.url),
          clock: systemClock,
          readMaxMs: 120_000,
          writeMaxMs: 120_000,
        }),
      );
      await expect(dying.recountDays(replayOf(batches), alone)).rejects.toThrow('killed');
      expect(await everythingIn(world.another())).toEqual(before);
      await world.another().apply(batches.slice(3));
      expect(await everythingIn(world.another())).toEqual(await expected());
    },
  );

  test('is active also when the server’s clock was set back since the last time', async () => {
    const world = await openWorld();
    await world.warehouse.apply(batches);
    await spoil(world.clickHouse, span);
    await world.clickHouse.run(
      'INSERT INTO generations (generation, at) SELECT 0, now64(3) + toIntervalDay(1)',
    );
    await world.warehouse.recountDays(replayOf(batches), alone);
    expect(await hoursIn(world.another())).toEqual((await expected()).hours);
  });

  test('a hold is seen by all processes, and ends when it is cleared or expires', async () => {
    const { clickHouse } = await openWorld();
    const clock = new ManualClock();
    const [asking, heeding] = [new Hold(clickHouse, clock), new Hold(clickHouse, clock)];
    const isSet = (): Promise<boolean> => {
      clock.advance(1_000);
      return heeding.isSet();
    };
    expect(await isSet()).toBe(false);
    await asking.set(60_000);
    expect(await isSet()).toBe(true);
    await asking.clear();
    expect(await isSet()).toBe(false);
    await asking.set(1);
    await Bun.sleep(5);
    expect(await isSet()).toBe(false);
  });
});
