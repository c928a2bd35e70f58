import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ClickHouseEngine, startClickHouse } from '../../../../test/kit/engines/clickhouse.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { expectSafe } from '../../../../test/kit/expect-safe.ts';
import { heavyTestMaxMs, scaled } from '../../../../test/kit/scale.ts';
import { systemClock } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';
import { parseAddress } from '../../../engines/clickhouse/address.ts';
import { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { everythingIn, openWorld, partitionOf, sampleClicks } from './fake-clickhouse-world.ts';

const codeOf = (error: unknown): unknown => (error instanceof Problem ? error.code : error);

describeWithEngine(
  'clickhouse',
  'a ClickHouse in trouble',
  () => {
    let engine: ClickHouseEngine;
    beforeAll(async () => {
      engine = await startClickHouse();
    });
    afterAll(() => engine.stop());

    test(
      'that is killed while it takes a block has counted it once when the block has come through',
      async () => {
        const blocks = partitionOf(sampleClicks(2, scaled(5, 40) * 2_000), 2_000);
        const calm = await openWorld(engine.freshDatabaseUrl());
        for (const block of blocks) await calm.warehouse.apply([block]);
        const world = await openWorld(engine.freshDatabaseUrl());
        for (const block of blocks) {
          const applied = world.warehouse.apply([block]).catch(codeOf);
          // Soon enough that it has hardly begun: it cannot note what it has taken in the moment it takes it.
          await Bun.sleep(1);
          await engine.kill();
          expect(await applied).toBe('stats_unavailable');
          await engine.restart();
          await world.another().apply([block]);
        }
        expectSafe(await everythingIn(world.another())).toEqual(await everythingIn(calm.another()));
      },
      heavyTestMaxMs,
    );

    test('that hangs is given up, and what was sent to it meanwhile counts once', async () => {
      const blocks = partitionOf(sampleClicks(3, 400), 200);
      const world = await openWorld(engine.freshDatabaseUrl());
      const address = parseAddress(world.url);
      const hasty = new ClickHouse({ address, clock: systemClock, readMaxMs: 200, writeMaxMs: 200 });
      engine.pause();
      expect(await world.another(hasty).apply([blocks[0]!]).catch(codeOf)).toBe('stats_unavailable');
      expect(
        await world.another(hasty).total({ kind: 'link', code: 'link0', ownerId: 'acc_1' }).catch(codeOf),
      ).toBe('stats_unavailable');
      engine.resume();
      for (const block of blocks) await world.another().apply([block]);
      const [sum] = await world.clickHouse.rows<{ clicks: number }>('SELECT count() AS clicks FROM clicks_0');
      expectSafe(sum?.clicks).toBe(400);
    });
  },
  { own: true },
);
