import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../base/clock.ts';
import type { ClickBatch } from './batch.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { ClickPipeline } from './pipeline.ts';
import type { RawBatch } from './raw-batch.ts';
import type { ClickStream } from './stream.ts';
import { ProducerHeadFile } from './streams/embedded/head.ts';
import { createEmbeddedStream, headPath } from './streams/embedded/stream.ts';
import type { Warehouse } from './warehouse.ts';
import { openSqliteWarehouse } from './warehouses/sqlite/warehouse.ts';

/** Real log, real warehouse; what is injected is failure. */
describe('click pipeline', () => {
  let folder: string;
  let clock: ManualClock;
  let problems: string[];
  let pauses: () => Promise<void>;
  let broken: { stream: boolean; warehouse: boolean };
  const clicksPerBatch = 10;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-pipeline-'));
    clock = new ManualClock(samplesStart);
    problems = [];
    pauses = async () => {};
    broken = { stream: false, warehouse: false };
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  class Access {
    isCurrent = true;
    #open: Warehouse | undefined;
    get(): Warehouse {
      if (broken.warehouse) throw new Error('disk full');
      this.#open ??= openSqliteWarehouse(join(folder, 'stats.db'));
      return this.#open;
    }
    close(): void {
      this.#open?.close();
      this.#open = undefined;
    }
  }

  function start(producer: string) {
    const embedded = createEmbeddedStream({ folder, producer, clock });
    new ProducerHeadFile(headPath(folder, producer)).beat(clock.now());
    const stream: ClickStream = {
      ...embedded,
      append: batch => (broken.stream ? Promise.reject(new Error('no space')) : embedded.append(batch)),
    };
    let sequence = 1;
    const pipeline = new ClickPipeline({
      producer,
      stream,
      warehouse: new Access(),
      enrich: raw => raw as unknown as ClickBatch,
      clock,
      onProblem: what => problems.push(what),
      onPause: () => pauses(),
    });
    const send = async (batches = 1): Promise<void> => {
      for (let n = 0; n < batches; n += 1) {
        const clicks = Array.from({ length: clicksPerBatch }, (_, index) => ({
          at: clock.now() + index,
          visitor: sequence + index,
        }));
        await pipeline.accept(sampleBatch(sequence, clicks) as unknown as RawBatch);
        sequence += clicksPerBatch;
      }
    };
    return { pipeline, send };
  }

  const counted = async (): Promise<number> => {
    const warehouse = openSqliteWarehouse(join(folder, 'stats.db'));
    const { clicks } = await warehouse.total({ kind: 'link', code: 'abc' });
    await warehouse.close();
    return clicks;
  };
  const countAll = async (pipeline: ClickPipeline): Promise<void> => {
    while (await pipeline.count());
  };

  test('what is accepted is stored and counted once', async () => {
    const { pipeline, send } = start('one');
    await send(3);
    await countAll(pipeline);
    await countAll(pipeline);
    expect(await counted()).toBe(30);
    expect(pipeline.counts).toMatchObject({ stored: 30, counted: 30, dropped: 0 });
  });

  test('closing leaves nothing uncounted', async () => {
    const { pipeline, send } = start('one');
    await send(5);
    await pipeline.close();
    expect(await counted()).toBe(50);
  });

  test('a warehouse that is away costs no click: they are counted from the log when it is back', async () => {
    const { pipeline, send } = start('one');
    await send(2);
    broken.warehouse = true;
    await countAll(pipeline);
    await send(3);
    await countAll(pipeline);
    expect(problems).toContain('the click warehouse cannot be written');
    broken.warehouse = false;
    await countAll(pipeline);
    expect(await counted()).toBe(50);
  });

  test('a stream that is away keeps clicks waiting, and they arrive in order', async () => {
    const { pipeline, send } = start('one');
    await send(1);
    broken.stream = true;
    await send(4);
    await countAll(pipeline);
    expect(await counted()).toBe(10);
    expect(problems).toContain('the click stream cannot be written');
    broken.stream = false;
    await pipeline.store();
    await countAll(pipeline);
    expect(await counted()).toBe(50);
    expect(pipeline.counts.dropped).toBe(0);
  });

  test('clicks of a process that died are counted by one that lives, once, however many do so', async () => {
    const dead = start('dead');
    await dead.send(4);
    clock.advance(60_000);
    const [first, second] = [start('first'), start('second')];
    await Promise.all([countAll(first.pipeline), countAll(second.pipeline)]);
    expect(await counted()).toBe(40);
    expect(first.pipeline.counts.counted + second.pipeline.counts.counted).toBe(40);
  });

  test('a living process is left to count its own clicks', async () => {
    const other = start('other');
    await other.send(1);
    const { pipeline } = start('one');
    await countAll(pipeline);
    expect(await counted()).toBe(0);
  });

  test('a process that restarts after a crash goes on where the warehouse stands', async () => {
    const before = start('one');
    await before.send(2);
    await countAll(before.pipeline);
    await before.send(2);
    clock.advance(60_000);
    const after = start('two');
    await after.send(1);
    await countAll(after.pipeline);
    expect(await counted()).toBe(50);
  });

  test('deleted clicks stay deleted when the warehouse is counted anew', async () => {
    const { pipeline, send } = start('one');
    await send(2);
    await countAll(pipeline);
    await pipeline.forget('abc', clock.now() + 1_000);
    expect(await counted()).toBe(0);
    await pipeline.close();
    for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `stats.db${end}`), { force: true });
    clock.advance(60_000);
    const again = start('two');
    await countAll(again.pipeline);
    expect(await counted()).toBe(0);
    await again.send(1);
    await countAll(again.pipeline);
    expect(await counted()).toBe(10);
  });

  test('a log that cannot be read does not keep the others from being counted', async () => {
    const dead = start('dead');
    await dead.send(1);
    mkdirSync(join(folder, '2026-06-01/aaa.log'));
    clock.advance(60_000);
    const { pipeline, send } = start('one');
    await send(1);
    await countAll(pipeline);
    expect(await counted()).toBe(20);
    expect(problems).toContain('the click log 2026-06-01/aaa.log cannot be read');
  });

  test('a rebuild lets new clicks in between and counts them too', async () => {
    const { pipeline, send } = start('one');
    await send(3);
    await countAll(pipeline);
    pauses = async () => {
      pauses = async () => {};
      await send(2);
    };
    await pipeline.rebuild();
    await countAll(pipeline);
    expect(await counted()).toBe(50);
  });

  test('a fresh warehouse counts the whole log and comes to the same numbers', async () => {
    const { pipeline, send } = start('one');
    await send(20);
    await pipeline.close();
    const before = await counted();
    rmSync(join(folder, 'stats.db'));
    rmSync(join(folder, 'stats.db-wal'), { force: true });
    clock.advance(60_000);
    const again = start('two');
    await countAll(again.pipeline);
    expect([before, await counted()]).toEqual([200, 200]);
  });
});
