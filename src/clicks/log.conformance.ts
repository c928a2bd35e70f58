/** The contract of a click log, as tests. `open` returns another handle, as another process would have. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type SampleClick, sampleBatch, samplesStart } from './batch-samples.ts';
import { type ClickBatch, clickAt, clickCount } from './click.ts';
import {
  type ClickLog,
  type LogBatch,
  type LogWriter,
  partitionsBehind,
  producerOf,
  readBatches,
} from './log.ts';

export interface LogHandle {
  readonly writer: LogWriter;
  readonly log: ClickLog;
  readonly close: () => Promise<void>;
}

export interface LogHarness {
  readonly open: (producer: string) => LogHandle;
  /** What a producer does to a batch before any process appends it. */
  readonly numbered?: (producer: string, batch: ClickBatch) => ClickBatch;
  readonly dispose: () => Promise<void>;
}

const bytesMax = 1024 * 1024;
const clicksIn = (batch: ClickBatch) =>
  Array.from({ length: clickCount(batch) }, (_, index) => clickAt(batch, index));
const clicksOf = (batches: readonly LogBatch[]) => batches.flatMap(({ batch }) => clicksIn(batch));
/** Logs that number partitions separately give a click another number. */
const withoutNumber = ({ sequence: _, ...click }: ReturnType<typeof clickAt>) => click;
const clicksAt = (...minutes: number[]): SampleClick[] =>
  minutes.map(minute => ({ at: samplesStart + minute * 60_000, visitor: minute }));

export function clickLogConformance(name: string, open: () => Promise<LogHarness>): void {
  describe(`click log: ${name}`, () => {
    let harness: LogHarness;
    let handles: LogHandle[];
    let one: LogHandle;
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

    function handleOf(producer: string): LogHandle {
      const handle = harness.open(producer);
      handles.push(handle);
      return handle;
    }
    /** The next batch of a producer, numbered after the last; `first` is set for a new producer. */
    const batchOf = (producer: string, clicks: readonly SampleClick[]): ClickBatch => {
      const batch = sampleBatch(first, clicks);
      first += clicks.length;
      return harness.numbered?.(producer, batch) ?? batch;
    };
    /** Everything, partition by partition. */
    async function readAll(log: ClickLog, step = bytesMax): Promise<Map<string, LogBatch[]>> {
      const all = new Map<string, LogBatch[]>();
      for (const { name: partition } of await log.partitions()) {
        const batches: LogBatch[] = [];
        for (let position = 0; ; position = batches.at(-1)!.to) {
          const found = await readBatches(log, partition, position, step);
          if (found.length === 0) break;
          batches.push(...found);
        }
        all.set(partition, batches);
      }
      return all;
    }
    const inOrder = (all: ReadonlyMap<string, LogBatch[]>) => [...all.values()].flat();

    test('what was appended is read back unchanged, by any reader, in order', async () => {
      const odd = { at: samplesStart, tags: ['a', 'b'], ownerId: null, kind: 'preview' } as const;
      const fast = { at: samplesStart + 1, signal: 'agent' } as const;
      const appended = [batchOf('one', clicksAt(0, 1, 2)), batchOf('one', [odd, fast])];
      for (const batch of appended) await one.writer.append(batch);
      const batches = inOrder(await readAll(handleOf('other').log));
      expect(clicksOf(batches).map(withoutNumber)).toEqual(appended.flatMap(clicksIn).map(withoutNumber));
      expect(new Set(batches.map(({ producer }) => producerOf(producer)))).toEqual(new Set(['one']));
    });

    test('links of any name are kept, the clicks of each in order', async () => {
      const codes = ['ü-_', 'a', 'b', 'c', 'd', 'e'];
      for (const minute of [0, 1]) {
        const clicks = codes.map(code => ({ at: samplesStart + minute * 60_000, code }));
        await one.writer.append(batchOf('one', clicks));
      }
      const clicks = clicksOf(inOrder(await readAll(one.log)));
      for (const code of codes) {
        const times = clicks.filter(click => click.code === code).map(({ at }) => at);
        expect(times).toEqual([samplesStart, samplesStart + 60_000]);
      }
    });

    test('batches follow each other without a gap, and reading starts between any two, again and again', async () => {
      for (const minutes of [[0], [1, 2], [3]]) await one.writer.append(batchOf('one', clicksAt(...minutes)));
      for (const [partition, batches] of await readAll(one.log)) {
        expect(batches.map(({ from }) => from)).toEqual([0, ...batches.slice(0, -1).map(({ to }) => to)]);
        for (const [index, { to }] of batches.entries()) {
          const rest = await readBatches(one.log, partition, to, bytesMax);
          expect(clicksOf(rest)).toEqual(clicksOf(batches.slice(index + 1)));
        }
      }
    });

    test('a small read still returns at least one batch', async () => {
      const clicks = clicksAt(...Array.from({ length: 500 }, (_, n) => n));
      await one.writer.append(batchOf('one', clicks));
      expect(clicksOf(inOrder(await readAll(one.log, 1)))).toHaveLength(500);
    });

    test('reports which partitions have more and which have not', async () => {
      await one.writer.append(batchOf('one', clicksAt(0)));
      const [[partition, batches] = ['', []]] = await readAll(one.log);
      const positions = new Map([[partition, batches.at(-1)!.to]]);
      expect(await partitionsBehind(one.log, positions)).toEqual([]);
      await one.writer.append(batchOf('one', clicksAt(1)));
      expect((await partitionsBehind(one.log, positions)).map(each => each.name)).toEqual([partition]);
    });

    test('another producer can append clicks that a dead one left, in its name and after its own', async () => {
      const [dead, heir, nextHeir] = ['dead', 'zzz', 'aaa'].map(handleOf);
      await dead!.writer.append(batchOf('dead', clicksAt(0)));
      await heir!.writer.append(batchOf('dead', clicksAt(1)), 'dead');
      await nextHeir!.writer.append(batchOf('dead', clicksAt(2, 3)), 'dead');
      first = 1;
      await nextHeir!.writer.append(batchOf('aaa', clicksAt(4)));
      const batches = inOrder(await readAll(one.log));
      const itsBatches = batches.filter(({ producer }) => producerOf(producer) === 'dead');
      expect(clicksOf(itsBatches).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
      expect(clicksOf(batches)).toHaveLength(5);
    });

    test('producers write beside one another, each under its name and with its own numbers', async () => {
      await one.writer.append(batchOf('one', clicksAt(0)));
      first = 1;
      await handleOf('two').writer.append(batchOf('two', clicksAt(1, 2)));
      const batches = inOrder(await readAll(one.log));
      const numbersOf = (producer: string) =>
        clicksOf(batches.filter(each => producerOf(each.producer) === producer)).map(
          ({ sequence }) => sequence,
        );
      expect([numbersOf('one'), numbersOf('two')]).toEqual([[1], [1, 2]]);
    });
  });
}
