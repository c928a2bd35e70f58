import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { countAll, FaultyStorage, type StartedPipeline } from './fake-faulty-storage.ts';

let storage: FaultyStorage;
beforeEach(() => {
  storage = new FaultyStorage();
});
afterEach(() => storage.dispose());

describe('click pipeline', () => {
  test('what is accepted is stored and counted once', async () => {
    const { pipeline, send } = storage.start('one');
    await send(3);
    await countAll(pipeline);
    await countAll(pipeline);
    expect(await storage.counted()).toBe(30);
    expect(pipeline.counts).toMatchObject({
      stored: 30,
      counted: 30,
      spilled: 0,
      dropped: { 'memory-full': 0, 'spill-full': 0, invalid: 0 },
    });
  });

  test('closing leaves nothing uncounted', async () => {
    const { pipeline, send } = storage.start('one');
    await send(5);
    await pipeline.close();
    expect(await storage.counted()).toBe(50);
  });

  test('a warehouse outage costs no click: they are counted from the log when it is back', async () => {
    const { pipeline, send } = storage.start('one');
    await send(2);
    storage.broken.warehouse = true;
    await countAll(pipeline);
    await send(3);
    await countAll(pipeline);
    expect(storage.problems).toContain('the click warehouse cannot be written');
    storage.broken.warehouse = false;
    await countAll(pipeline);
    expect(await storage.counted()).toBe(50);
  });

  test('during a stream outage clicks wait, and they arrive in order', async () => {
    const { pipeline, send } = storage.start('one');
    await send(1);
    storage.broken.stream = true;
    await send(4);
    await countAll(pipeline);
    expect(await storage.counted()).toBe(10);
    expect(storage.problems).toContain('the click stream cannot be written');
    storage.broken.stream = false;
    await pipeline.store();
    await countAll(pipeline);
    expect(await storage.counted()).toBe(50);
    expect(pipeline.counts.dropped).toEqual({ 'memory-full': 0, 'spill-full': 0, invalid: 0 });
  });

  test('clicks of a process that died are counted by one that lives, once, however many do so', async () => {
    const dead = storage.start('dead');
    await dead.send(4);
    storage.clock.advance(60_000);
    const [first, second] = [storage.start('first'), storage.start('second')];
    await Promise.all([countAll(first.pipeline), countAll(second.pipeline)]);
    expect(await storage.counted()).toBe(40);
    expect(first.pipeline.counts.counted + second.pipeline.counts.counted).toBe(40);
  });

  test('a living process counts its own clicks itself', async () => {
    const other = storage.start('other');
    await other.send(1);
    const { pipeline } = storage.start('one');
    await countAll(pipeline);
    expect(await storage.counted()).toBe(0);
  });

  test('a process that restarts after a crash continues at the position of the warehouse', async () => {
    const before = storage.start('one');
    await before.send(2);
    await countAll(before.pipeline);
    await before.send(2);
    storage.clock.advance(60_000);
    const after = storage.start('two');
    await after.send(1);
    await countAll(after.pipeline);
    expect(await storage.counted()).toBe(50);
  });

  test('deleted clicks stay deleted when the warehouse is recounted', async () => {
    const { pipeline, send } = storage.start('one');
    await send(2);
    await countAll(pipeline);
    await pipeline.forget('abc', storage.clock.now() + 1_000);
    expect(await storage.counted()).toBe(0);
    await pipeline.close();
    for (const end of ['', '-wal', '-shm']) rmSync(join(storage.folder, `stats.db${end}`), { force: true });
    storage.clock.advance(60_000);
    const again = storage.start('two');
    await countAll(again.pipeline);
    expect(await storage.counted()).toBe(0);
    await again.send(1);
    await countAll(again.pipeline);
    expect(await storage.counted()).toBe(10);
  });

  test('a log that cannot be read does not keep the others from being counted', async () => {
    const dead = storage.start('dead');
    await dead.send(1);
    mkdirSync(join(storage.folder, '2026-06-01/aaa.log'));
    storage.clock.advance(60_000);
    const { pipeline, send } = storage.start('one');
    await send(1);
    await countAll(pipeline);
    expect(await storage.counted()).toBe(20);
    expect(storage.problems).toContain('the click log 2026-06-01/aaa.log cannot be read');
  });

  /** Counts six batches after one, by which the pipeline knows how long it takes; returns how often it paused. */
  async function pausesOf({ pipeline, send }: StartedPipeline, countMs: number): Promise<number> {
    await countAll(pipeline);
    storage.countMs = countMs;
    await send(1);
    await countAll(pipeline);
    await send(6);
    let pauses = 0;
    storage.onPause = async () => {
      pauses += 1;
      if (pauses === 1) await send(2);
    };
    await pipeline.count();
    return pauses;
  }

  test('counting that takes long is done in pieces, and lets new clicks in between', async () => {
    const started = storage.start('one');
    expect(await pausesOf(started, 400)).toBe(5);
    expect(await storage.counted()).toBe(70);
    await countAll(started.pipeline);
    expect(await storage.counted()).toBe(90);
  });

  test('pieces stay as large as it takes to be worth their own costs, however long they take', async () => {
    storage.pieceClicksMin = 30;
    expect(await pausesOf(storage.start('one'), 4_000)).toBe(1);
  });

  test('a recount accepts new clicks in between and counts them too', async () => {
    const { pipeline, send } = storage.start('one');
    await send(3);
    await countAll(pipeline);
    storage.onPause = async () => {
      storage.onPause = async () => {};
      await send(2);
    };
    await pipeline.recountAll();
    await countAll(pipeline);
    expect(await storage.counted()).toBe(50);
  });

  test('a fresh warehouse counts the whole log and reaches the same numbers', async () => {
    const { pipeline, send } = storage.start('one');
    await send(20);
    await pipeline.close();
    const before = await storage.counted();
    rmSync(join(storage.folder, 'stats.db'));
    rmSync(join(storage.folder, 'stats.db-wal'), { force: true });
    storage.clock.advance(60_000);
    const again = storage.start('two');
    await countAll(again.pipeline);
    expect([before, await storage.counted()]).toEqual([200, 200]);
  });
});
