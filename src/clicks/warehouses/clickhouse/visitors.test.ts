import { beforeAll, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { seededRandom } from '../../../base/random.ts';
import { type SampleClick, samplesStart } from '../../batch-samples.ts';
import { Sketch } from '../../sketch.ts';
import { rankOf, registerCount, registerOf, tokenAt } from '../../sketch-token.ts';
import { grainMs } from '../../warehouse.ts';
import { openWorld, partitionOf, type World } from './fake-clickhouse-world.ts';
import { rankIn } from './schema.ts';

describeWithEngine('clickhouse', 'visitors in ClickHouse', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });

  test('have the ranks that a sketch gives them, for every prefix and depth there is', async () => {
    const tokens = Array.from({ length: 2_048 }, (_, prefix) =>
      tokenAt(((prefix * 7) % 2 ** 14) * 2_048 + prefix, 0),
    );
    for (let depth = 1; depth <= 40; depth += 1) tokens.push(tokenAt(depth * 2_048, depth));
    const rows = await world.clickHouse.rows<{ pair: number }>(
      `SELECT ${rankIn('token')} AS pair FROM (SELECT arrayJoin(CAST([${tokens.join(', ')}], 'Array(UInt32)')) AS token)`,
    );
    expect(rows.map(({ pair }) => pair)).toEqual(
      tokens.map(token => rankOf(token) * registerCount + registerOf(token)),
    );
  });

  // Around where a sketch stops being exact (of 1,032 visitors there are fewer ranks than it keeps tokens), where it stops to keep visitors one by one, and far beyond.
  test.each([1, 511, 513, 800, 1_023, 1_024, 1_025, 1_032, 1_100, 30_000])(
    'are as many as a sketch of %p says, in days, quarter hours and minutes',
    async count => {
      const code = `of${count}`;
      const random = seededRandom(count);
      const clicks: SampleClick[] = Array.from({ length: count }, (_, visitor) => ({
        at: samplesStart + Math.floor(random.float() * 2 * grainMs.day),
        code,
        visitor,
      }));
      const batches = partitionOf(clicks, 10_000, `clicks/${code}`);
      for (const batch of batches) await world.warehouse.apply([{ ...batch, producer: code }]);
      const ranges = [
        [samplesStart - grainMs.day, samplesStart + 3 * grainMs.day],
        [samplesStart + 40 * grainMs.minute, samplesStart + 100 * grainMs.minute],
        [samplesStart + grainMs.minute, samplesStart + grainMs.day + 11 * grainMs.minute],
      ] as const;
      for (const [from, to] of ranges) {
        const sketch = new Sketch();
        for (const { batch } of batches) {
          for (const [index, at] of batch.at.entries()) {
            if (at >= from && at < to) sketch.add(batch.visitorHigh[index]!, batch.visitorLow[index]!);
          }
        }
        expect(await world.warehouse.uniques([{ kind: 'link', code }], from, to)).toBe(sketch.estimate());
      }
    },
  );
});
