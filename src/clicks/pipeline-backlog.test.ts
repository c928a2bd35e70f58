/** The pipeline with clicks that its stream does not accept. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backlogBounds, clicksPerBatch, countAll, FaultyStorage } from './fake-faulty-storage.ts';
import { forgedFrame, openedFrame } from './fake-frames.ts';
import { encodeFrame } from './frame.ts';
import type { RawBatch } from './recorder.ts';
import { Spill } from './spill.ts';

let storage: FaultyStorage;
beforeEach(() => {
  storage = new FaultyStorage();
});
afterEach(() => storage.dispose());

const nothing = { 'memory-full': 0, 'spill-full': 0, invalid: 0 };
const firstNumbers = (batches: number): number[] =>
  Array.from({ length: batches }, (_, index) => 1 + index * clicksPerBatch);

describe('during a long outage of the stream', () => {
  test('clicks beyond the memory limit are spilled, and all arrive in order, new clicks last', async () => {
    const { pipeline, send } = storage.start('one');
    expect(pipeline.counts.isStreamDown).toBe(false);
    storage.broken.stream = true;
    await send(40);
    expect(pipeline.counts).toMatchObject({ stored: 0, spilled: 400, dropped: nothing, isStreamDown: true });
    expect(pipeline.counts.spilledBytes).toBeGreaterThan(0);
    storage.broken.stream = false;
    await send(2);
    await pipeline.store();
    await countAll(pipeline);
    expect(await storage.logged()).toEqual(firstNumbers(42));
    expect(await storage.counted()).toBe(420);
    expect(pipeline.counts).toMatchObject({
      spilledBytes: 0,
      duplicates: 0,
      dropped: nothing,
      isStreamDown: false,
    });
    expect(readdirSync(storage.spillFolder)).toEqual([]);
  });

  test('reports since when clicks wait, in memory, on disk, and of a dead process', async () => {
    const { pipeline, send, writer } = storage.start('one');
    expect(writer.waitingSince).toBeUndefined();
    storage.broken.stream = true;
    const [first, second] = [storage.clock.now(), storage.clock.now() + 60_000];
    await send();
    expect([writer.waitingSince, pipeline.counts.spilled]).toEqual([first, 0]);
    storage.clock.advance(60_000);
    await send();
    expect([writer.waitingSince, pipeline.counts.spilled > 0]).toEqual([first, true]);
    // The batch of the first minute is appended, that of the second waits.
    let appends = 0;
    storage.onAppend = () => {
      appends += 1;
      storage.broken.stream = appends > 1;
    };
    await pipeline.store();
    expect(writer.waitingSince).toBe(second);
    storage.clock.advance(60_000);
    await send(10);
    const heir = storage.start('two');
    await heir.pipeline.store();
    await heir.send();
    expect(heir.writer.waitingSince).toBe(second);
    storage.onAppend = () => {};
    storage.broken.stream = false;
    await heir.pipeline.store();
    expect(heir.writer.waitingSince).toBeUndefined();
  });

  test('clicks that wait for long are spilled however few they are', async () => {
    const { pipeline, send } = storage.start('one');
    storage.broken.stream = true;
    await send();
    storage.clock.advance(backlogBounds.memoryMs - 1);
    await pipeline.store();
    expect(pipeline.counts.spilled).toBe(0);
    storage.clock.advance(1);
    await pipeline.store();
    expect(pipeline.counts.spilled).toBe(10);
  });

  test('clicks that come after spilled ones are spilled at once', async () => {
    const { pipeline, send } = storage.start('one');
    storage.broken.stream = true;
    await send();
    storage.clock.advance(backlogBounds.memoryMs);
    await pipeline.store();
    await send();
    expect(pipeline.counts.spilled).toBe(20);
    storage.broken.stream = false;
    await pipeline.store();
    await send();
    expect(pipeline.counts.spilled).toBe(20);
    expect(await storage.logged()).toEqual(firstNumbers(3));
  });

  test('a round stores a bounded number of spilled clicks', async () => {
    const { pipeline, send } = storage.start('one');
    storage.broken.stream = true;
    await send(203);
    storage.broken.stream = false;
    const stored: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      await send();
      await pipeline.store();
      stored.push(pipeline.counts.stored);
    }
    expect(stored).toEqual([640, 1_280, 1_920, 2_070]);
    expect(await storage.logged()).toEqual(firstNumbers(207));
  });

  test('beyond its bound the oldest are dropped, counted by reason, and show as dropped in the account', async () => {
    storage.spillBytesMax = 4_096;
    const { pipeline, send } = storage.start('one');
    storage.broken.stream = true;
    await send(100);
    const dropped = pipeline.counts.dropped['spill-full'];
    expect(dropped).toBeGreaterThan(0);
    storage.broken.stream = false;
    await pipeline.store();
    await countAll(pipeline);
    expect(await storage.counted()).toBe(1_000 - dropped);
    const ledger = await storage.ask(warehouse => warehouse.ledger(0, Number.MAX_SAFE_INTEGER));
    expect(ledger.reduce((skipped, row) => skipped + row.skipped, 0)).toBe(dropped);
  });

  for (const [how, prepare] of [
    ['a spill that cannot be written either', () => writeFileSync(storage.spillFolder, 'in the way')],
    ['no spill allowed', () => (storage.spillBytesMax = 0)],
  ] as const) {
    test(`with ${how}, memory holds what it may, and the oldest beyond it are dropped and counted`, async () => {
      prepare();
      const { pipeline, send } = storage.start('one');
      storage.broken.stream = true;
      await send(25);
      expect(pipeline.counts).toMatchObject({ spilled: 0, dropped: { ...nothing, 'memory-full': 150 } });
      storage.broken.stream = false;
      await pipeline.store();
      await countAll(pipeline);
      expect(await storage.counted()).toBe(100);
    });
  }

  test('a spill that accepts clicks again is used again, and no clicks get out of order', async () => {
    writeFileSync(storage.spillFolder, 'in the way');
    const { pipeline, send } = storage.start('one');
    storage.broken.stream = true;
    await send(8);
    expect(storage.problems).toContain('clicks cannot be spilled to disk');
    rmSync(storage.spillFolder);
    await send(8);
    expect(pipeline.counts.spilled).toBe(160);
    storage.broken.stream = false;
    await pipeline.store();
    expect(await storage.logged()).toEqual(firstNumbers(16));
  });

  test('clicks that a killed process spilled are stored in its name by a living one, and counted once', async () => {
    const dead = storage.start('dead');
    await dead.send(2);
    storage.broken.stream = true;
    await dead.send(20);
    storage.clock.advance(60_000);
    const { pipeline, send } = storage.start('one');
    await send(1);
    await pipeline.store();
    storage.broken.stream = false;
    await pipeline.store();
    await countAll(pipeline);
    expect(await storage.counted()).toBe(20 + 200 + 10);
    expect(await storage.ask(warehouse => warehouse.producers())).toEqual([
      { producer: 'dead', sequence: 220 },
      { producer: 'one', sequence: 10 },
    ]);
    expect(existsSync(join(storage.spillFolder, 'dead~one'))).toBe(false);
  });

  test('a recount of everything gives the same result, also when an older process stored what a younger left', async () => {
    const dead = storage.start('z-dead');
    await dead.send(2);
    storage.broken.stream = true;
    await dead.send(20);
    storage.clock.advance(60_000);
    storage.broken.stream = false;
    const { pipeline } = storage.start('a-living');
    await pipeline.store();
    await countAll(pipeline);
    const before = await storage.counted();
    await pipeline.recountAll();
    await countAll(pipeline);
    expect([before, await storage.counted()]).toEqual([220, 220]);
  });

  test('clicks that come a second time, because the kill came between storing and noting it, count once', async () => {
    const dead = storage.start('dead');
    storage.broken.stream = true;
    await dead.send(20);
    storage.broken.stream = false;
    // As if it had stored the first two and was killed before it could record that.
    const itsLog = storage.log('dead');
    for (const sequence of [1, 11]) await itsLog.append(storage.batch(sequence));
    storage.clock.advance(60_000);
    const { pipeline } = storage.start('one');
    await pipeline.store();
    await countAll(pipeline);
    expect(await storage.counted()).toBe(200);
    expect(pipeline.counts.duplicates).toBe(20);
  });

  test('a stop leaves nothing in memory: the next process stores it', async () => {
    const stopped = storage.start('stopped');
    storage.broken.stream = true;
    await stopped.send(2);
    await stopped.pipeline.close();
    expect(stopped.pipeline.counts.spilled).toBe(20);
    storage.broken.stream = false;
    storage.clock.advance(60_000);
    const { pipeline } = storage.start('one');
    await pipeline.store();
    await countAll(pipeline);
    expect(await storage.counted()).toBe(20);
  });

  test('a stream that takes long to fail is not tried for every batch', async () => {
    const { pipeline, send } = storage.start('one');
    storage.broken.stream = true;
    storage.onAppend = () => storage.clock.advance(1_000);
    await send(5);
    await pipeline.store();
    expect(storage.problems.filter(what => what.includes('stream'))).toHaveLength(1);
    storage.clock.advance(9_000);
    await pipeline.store();
    expect(storage.problems.filter(what => what.includes('stream'))).toHaveLength(2);
  });
});

describe('clicks that no stream takes', () => {
  test('are dropped and counted, and hold up nothing that comes after them', async () => {
    const { pipeline, send } = storage.start('one');
    for (const isDown of [false, true]) {
      storage.broken.stream = isDown;
      await send();
      // Like on a machine whose clock was never set.
      const timeless = { ...storage.batch(1), at: new Float64Array(clicksPerBatch) };
      await pipeline.accept(timeless as unknown as RawBatch);
      await send();
    }
    expect(pipeline.counts.dropped).toEqual({ ...nothing, invalid: 2 * clicksPerBatch });
    expect(storage.problems).toContain('clicks are not valid and are dropped');
    storage.clock.advance(backlogBounds.memoryMs);
    await pipeline.store();
    expect(pipeline.counts.spilled).toBe(2 * clicksPerBatch);
    storage.broken.stream = false;
    await pipeline.store();
    expect(await storage.logged()).toEqual(firstNumbers(4));
  });

  test('are dropped also when an earlier version has spilled them', async () => {
    const spill = new Spill({
      folder: join(storage.spillFolder, 'dead~dead'),
      segmentBytesMax: 1_000_000,
      onProblem: () => {},
    });
    const payload = openedFrame(encodeFrame('dead', storage.batch(1)));
    spill.push(forgedFrame({ ...payload, head: { ...payload.head, startAt: 0 } }));
    spill.push(encodeFrame('dead', storage.batch(11)));
    spill.close();
    const { pipeline } = storage.start('one');
    await pipeline.store();
    expect(await storage.logged()).toEqual([11]);
    expect(pipeline.counts.dropped.invalid).toBe(clicksPerBatch);
  });
});
