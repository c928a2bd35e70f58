/** What a click stream promises, as tests. `reopen` gives another handle, as another process would have. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { clickAt, clickCount } from './batch.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import type { ClickStream, StreamBatch } from './stream.ts';

export interface StreamHarness {
  readonly stream: ClickStream;
  readonly reopen: (producer: string) => ClickStream;
  readonly dispose: () => Promise<void>;
}

const bytesMax = 1024 * 1024;
const clicksOf = (batches: readonly StreamBatch[]) =>
  batches.flatMap(({ batch }) =>
    Array.from({ length: clickCount(batch) }, (_, index) => clickAt(batch, index)),
  );
const clicksAt = (...minutes: number[]) =>
  minutes.map(minute => ({ at: samplesStart + minute * 60_000, visitor: minute }));

export function clickStreamConformance(name: string, open: () => Promise<StreamHarness>): void {
  describe(`click stream: ${name}`, () => {
    let harness: StreamHarness;
    let stream: ClickStream;
    beforeEach(async () => {
      harness = await open();
      stream = harness.stream;
    });
    afterEach(() => harness.dispose());

    test('what was appended is read back as it was, by anyone, in order', async () => {
      const first = sampleBatch(1, clicksAt(0, 1, 2));
      const second = sampleBatch(4, [
        { at: samplesStart, code: 'ü-_', tags: ['a', 'b'], ownerId: null, kind: 'preview' },
      ]);
      const spans = [await stream.append(first), await stream.append(second)];
      expect(spans[1]!.from).toBe(spans[0]!.to);
      const other = harness.reopen('other');
      const [partition] = await other.behind(new Map());
      const batches = await other.read(partition!.name, 0, bytesMax);
      expect(batches.map(({ from, to }) => [from, to])).toEqual(spans.map(({ from, to }) => [from, to]));
      expect(clicksOf(batches)).toEqual(clicksOf([first, second].map(batch => ({ batch }) as StreamBatch)));
      await other.close();
    });

    test('reading starts at any position and can be repeated', async () => {
      const { partition } = await stream.append(sampleBatch(1, clicksAt(0)));
      const { from } = await stream.append(sampleBatch(2, clicksAt(1, 2)));
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const batches = await stream.read(partition, from, bytesMax);
        expect(clicksOf(batches).map(({ sequence }) => sequence)).toEqual([2, 3]);
      }
    });

    test('a small read still gives at least one batch', async () => {
      const { partition } = await stream.append(
        sampleBatch(1, clicksAt(...Array.from({ length: 500 }, (_, n) => n))),
      );
      expect(clicksOf(await stream.read(partition, 0, 1))).toHaveLength(500);
    });

    test('tells who is behind and who is not', async () => {
      const { partition, to } = await stream.append(sampleBatch(1, clicksAt(0)));
      expect((await stream.behind(new Map())).map(({ name }) => name)).toEqual([partition]);
      expect(await stream.behind(new Map([[partition, to]]))).toEqual([]);
      expect(await stream.read(partition, to, bytesMax)).toEqual([]);
    });

    test('what a producer left behind is appended in its name by another, and comes after its own', async () => {
      const writers = ['aaa', 'zzz'].map(name => harness.reopen(name));
      const dead = harness.reopen('dead');
      await dead.append(sampleBatch(1, clicksAt(0)));
      await writers[1]!.append(sampleBatch(2, clicksAt(1)), 'dead');
      await writers[0]!.append(sampleBatch(3, clicksAt(2, 3)), 'dead');
      await writers[0]!.append(sampleBatch(1, clicksAt(4)));
      const partitions = await stream.behind(new Map());
      const batches = await Promise.all(partitions.map(({ name }) => stream.read(name, 0, bytesMax)));
      const itsBatches = batches.flat().filter(({ producer }) => producer === 'dead');
      expect(clicksOf(itsBatches).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
      for (const { partition, producer } of itsBatches)
        expect(partitions).toContainEqual({ name: partition, producer });
      for (const each of [dead, ...writers]) await each.close();
    });

    test('producers write beside one another', async () => {
      const other = harness.reopen('other');
      await stream.append(sampleBatch(1, clicksAt(0)));
      await other.append(sampleBatch(1, clicksAt(1, 2)));
      const partitions = await stream.behind(new Map());
      const counts = await Promise.all(
        partitions.map(async ({ name }) => clicksOf(await stream.read(name, 0, bytesMax)).length),
      );
      expect(counts.sort()).toEqual([1, 2]);
      await other.close();
    });
  });
}
