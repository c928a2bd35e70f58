/** What a click stream promises, as tests. `open` gives another handle, as another process would have. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type ClickBatch, clickAt, clickCount } from './batch.ts';
import { type SampleClick, sampleBatch, samplesStart } from './batch-samples.ts';
import type { ClickSink, ClickSource, StreamBatch } from './stream.ts';
import { noterOf } from './stream.ts';

export interface StreamHandle {
  readonly sink: ClickSink;
  readonly source: ClickSource;
  readonly close: () => Promise<void>;
}

export interface StreamHarness {
  readonly open: (producer: string) => StreamHandle;
  /** What a producer does to a batch before it is appended by whomever. */
  readonly noted?: (producer: string, batch: ClickBatch) => ClickBatch;
  readonly dispose: () => Promise<void>;
}

const bytesMax = 1024 * 1024;
const clicksIn = (batch: ClickBatch) =>
  Array.from({ length: clickCount(batch) }, (_, index) => clickAt(batch, index));
const clicksOf = (batches: readonly StreamBatch[]) => batches.flatMap(({ batch }) => clicksIn(batch));
/** Streams that number partitions apart give a click another number. */
const withoutNumber = ({ sequence: _, ...click }: ReturnType<typeof clickAt>) => click;
const clicksAt = (...minutes: number[]): SampleClick[] =>
  minutes.map(minute => ({ at: samplesStart + minute * 60_000, visitor: minute }));

export function clickStreamConformance(name: string, open: () => Promise<StreamHarness>): void {
  describe(`click stream: ${name}`, () => {
    let harness: StreamHarness;
    let handles: StreamHandle[];
    let one: StreamHandle;
    let first: number;
    beforeEach(async () => {
      harness = await open();
      handles = [];
      first = 1;
      one = handleOf('one');
    });
    afterEach(async () => {
      for (const handle of handles) await handle.close();
      await harness.dispose();
    });

    function handleOf(producer: string): StreamHandle {
      const handle = harness.open(producer);
      handles.push(handle);
      return handle;
    }
    /** The next batch of a producer, which numbers on from the last; `first` is for one that begins. */
    const batchOf = (producer: string, clicks: readonly SampleClick[]): ClickBatch => {
      const batch = sampleBatch(first, clicks);
      first += clicks.length;
      return harness.noted?.(producer, batch) ?? batch;
    };
    /** Everything, partition by partition. */
    async function readAll(source: ClickSource, step = bytesMax): Promise<Map<string, StreamBatch[]>> {
      const all = new Map<string, StreamBatch[]>();
      for (const { name: partition } of await source.behind(new Map())) {
        const batches: StreamBatch[] = [];
        for (let position = 0; ; position = batches.at(-1)!.to) {
          const found = await source.read(partition, position, step);
          if (found.length === 0) break;
          batches.push(...found);
        }
        all.set(partition, batches);
      }
      return all;
    }
    const inOrder = (all: ReadonlyMap<string, StreamBatch[]>) => [...all.values()].flat();

    test('what was appended is read back as it was, by anyone, in order', async () => {
      const odd = { at: samplesStart, tags: ['a', 'b'], ownerId: null, kind: 'preview' } as const;
      const fast = { at: samplesStart + 1, signal: 'agent' } as const;
      const appended = [batchOf('one', clicksAt(0, 1, 2)), batchOf('one', [odd, fast])];
      for (const batch of appended) await one.sink.append(batch);
      const batches = inOrder(await readAll(handleOf('other').source));
      expect(clicksOf(batches).map(withoutNumber)).toEqual(appended.flatMap(clicksIn).map(withoutNumber));
      expect(new Set(batches.map(({ producer }) => noterOf(producer)))).toEqual(new Set(['one']));
    });

    test('links of any name are carried, each in the order its clicks came', async () => {
      const codes = ['ü-_', 'a', 'b', 'c', 'd', 'e'];
      for (const minute of [0, 1]) {
        const clicks = codes.map(code => ({ at: samplesStart + minute * 60_000, code }));
        await one.sink.append(batchOf('one', clicks));
      }
      const clicks = clicksOf(inOrder(await readAll(one.source)));
      for (const code of codes) {
        const times = clicks.filter(click => click.code === code).map(({ at }) => at);
        expect(times).toEqual([samplesStart, samplesStart + 60_000]);
      }
    });

    test('batches follow each other without a gap, and reading starts between any two, again and again', async () => {
      for (const minutes of [[0], [1, 2], [3]]) await one.sink.append(batchOf('one', clicksAt(...minutes)));
      for (const [partition, batches] of await readAll(one.source)) {
        expect(batches.map(({ from }) => from)).toEqual([0, ...batches.slice(0, -1).map(({ to }) => to)]);
        for (const [index, { to }] of batches.entries()) {
          const rest = await one.source.read(partition, to, bytesMax);
          expect(clicksOf(rest)).toEqual(clicksOf(batches.slice(index + 1)));
        }
      }
    });

    test('a small read still gives at least one batch', async () => {
      const clicks = clicksAt(...Array.from({ length: 500 }, (_, n) => n));
      await one.sink.append(batchOf('one', clicks));
      expect(clicksOf(inOrder(await readAll(one.source, 1)))).toHaveLength(500);
    });

    test('tells which partitions have more and which have not', async () => {
      await one.sink.append(batchOf('one', clicksAt(0)));
      const [[partition, batches] = ['', []]] = await readAll(one.source);
      const positions = new Map([[partition, batches.at(-1)!.to]]);
      expect(await one.source.behind(positions)).toEqual([]);
      await one.sink.append(batchOf('one', clicksAt(1)));
      expect((await one.source.behind(positions)).map(each => each.name)).toEqual([partition]);
    });

    test('what a producer left behind is appended in its name by another, and comes after its own', async () => {
      const [dead, heir, nextHeir] = ['dead', 'zzz', 'aaa'].map(handleOf);
      await dead!.sink.append(batchOf('dead', clicksAt(0)));
      await heir!.sink.append(batchOf('dead', clicksAt(1)), 'dead');
      await nextHeir!.sink.append(batchOf('dead', clicksAt(2, 3)), 'dead');
      first = 1;
      await nextHeir!.sink.append(batchOf('aaa', clicksAt(4)));
      const batches = inOrder(await readAll(one.source));
      const itsBatches = batches.filter(({ producer }) => noterOf(producer) === 'dead');
      expect(clicksOf(itsBatches).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
      expect(clicksOf(batches)).toHaveLength(5);
    });

    test('producers write beside one another, each under its name and with its own numbers', async () => {
      await one.sink.append(batchOf('one', clicksAt(0)));
      first = 1;
      await handleOf('two').sink.append(batchOf('two', clicksAt(1, 2)));
      const batches = inOrder(await readAll(one.source));
      const numbersOf = (producer: string) =>
        clicksOf(batches.filter(each => noterOf(each.producer) === producer)).map(({ sequence }) => sequence);
      expect([numbersOf('one'), numbersOf('two')]).toEqual([[1], [1, 2]]);
    });
  });
}
