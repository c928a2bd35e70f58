import { beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { seededRandom } from '../../../base/random.ts';
import { type SampleClick, samplesStart } from '../../batch-samples.ts';
import { Sketch } from '../../sketch/sketch.ts';
import { rankOf, registerCount, registerOf, tokenAt, tokenOf } from '../../sketch/token.ts';
import { grainMs } from '../../warehouse.ts';
import { rankIn, tokenIn } from './columns.ts';
import { openWorld, partitionOf, type World } from './fake-clickhouse-world.ts';
import { spansOf } from './pages.ts';

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

  test('have the tokens that a sketch gives them, for every depth there is', async () => {
    const words = (count: number) => Array.from({ length: count }, (_, bit) => 2 ** bit);
    const hashes = [
      ...words(32).map(low => [0, low]),
      ...words(32).map(high => [high, 0]),
      ...words(7).map(tail => [0x1234_5000 * 8 + tail, 0xffff_ffff]),
      [0, 0],
      [0xffff_ffff, 0xffff_ffff],
      [0x7f, 0xffff_ffff],
    ] as [number, number][];
    const list = hashes.map(([high, low]) => `toUInt64(${(BigInt(high >>> 0) << 32n) | BigInt(low)})`);
    const rows = await world.clickHouse.rows<{ token: number }>(
      `SELECT ${tokenIn('hash')} AS token FROM (SELECT arrayJoin([${list.join(', ')}]) AS hash)`,
    );
    expect(rows.map(({ token }) => token)).toEqual(hashes.map(([high, low]) => tokenOf(high, low)));
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
      const clicksIn = (from: number, to: number) =>
        clicks.filter(click => click.at >= from && click.at < to).length;
      for (const [from, to] of ranges) {
        const sketch = new Sketch();
        for (const { batch } of batches) {
          for (const [index, at] of batch.at.entries()) {
            if (at >= from && at < to) sketch.add(batch.visitorHigh[index]!, batch.visitorLow[index]!);
          }
        }
        const scopes = [{ kind: 'link', code, ownerId: 'acc_1' } as const];
        const question = { scopes, from, to, starts: [], breakdowns: [] };
        const filters = [{ dimension: 'bot', values: ['bot'], isExcluded: true } as const];
        const answers = [[], filters].map(each => world.warehouse.answer({ ...question, filters: each }));
        const visitors = (await Promise.all(answers)).map(answer => answer.visitors);
        const expected = Math.min(sketch.estimate(), clicksIn(from, to));
        expect(visitors).toEqual([expected, expected]);
      }
    },
  );
});

const day = Date.UTC(2026, 5, 2);
const at = (hours: number, minutes = 0): number => day + hours * 60 * 60_000 + minutes * 60_000;

describe('the spans of a range', () => {
  test('are whole days where there are any, and finer at the ends', () => {
    expect(spansOf(at(-1, -7), at(25))).toEqual([
      { grain: 'day', from: day, to: at(24) },
      { grain: 'quarter', from: at(-1), to: day },
      { grain: 'minute', from: at(-1, -7), to: at(-1) },
      { grain: 'quarter', from: at(24), to: at(25) },
    ]);
  });

  test('of a few minutes are minutes', () => {
    expect(spansOf(at(1, 1), at(1, 5))).toEqual([{ grain: 'minute', from: at(1, 1), to: at(1, 5) }]);
  });

  test('cover every minute of the range once, and nothing else', () => {
    const minute = fc.integer({ min: 0, max: 4 * 24 * 60 });
    fc.assert(
      fc.property(minute, minute, (one, other) => {
        const [from, to] = [day + Math.min(one, other) * 60_000, day + Math.max(one, other) * 60_000];
        const covered = spansOf(from, to).flatMap(({ grain, from: first, to: last }) => {
          expect(first % grainMs[grain]).toBe(0);
          expect(last % grainMs[grain]).toBe(0);
          return Array.from({ length: (last - first) / 60_000 }, (_, n) => first + n * 60_000);
        });
        const expected = Array.from({ length: (to - from) / 60_000 }, (_, n) => from + n * 60_000);
        expect(covered.sort((a, b) => a - b)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
});
