import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../base/clock.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { LiveFeed } from './live.ts';
import type { ClickStream } from './stream.ts';
import { createEmbeddedStream } from './streams/embedded/stream.ts';

describe('live feed', () => {
  let folder: string;
  let reads: number;
  let positions: Map<string, number>;
  const clock = new ManualClock(samplesStart);
  const open = (producer: string) => createEmbeddedStream({ folder, producer, clock });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-live-'));
    reads = 0;
    positions = new Map();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function startFeed(): LiveFeed {
    const stream = open('own');
    const read: ClickStream['read'] = (...range) => {
      reads += 1;
      return stream.read(...range);
    };
    return new LiveFeed({ stream: { ...stream, read }, producer: 'own', positions: async () => positions });
  }
  let sequence = 0;
  const append = async (producer: string, ...codes: string[]) => {
    sequence += codes.length;
    const batch = sampleBatch(
      sequence - codes.length + 1,
      codes.map(code => ({ at: samplesStart, code })),
    );
    const { partition, to } = await open(producer).append(batch);
    return { batch, counted: () => positions.set(partition, to) };
  };
  const countsOf = async (feed: LiveFeed) => (await feed.tail()).map(({ counts }) => counts);

  test('shows of a batch what is watched, and nothing while nobody watches', async () => {
    const feed = startFeed();
    const { batch } = await append('own', 'a', 'b', 'a');
    expect(feed.pick(batch)).toBeUndefined();
    feed.watch(['a']);
    expect(feed.pick(batch)).toMatchObject({ counts: { a: 2 }, clicks: [{ code: 'a' }, { code: 'a' }] });
    feed.watch(['nothing']);
    expect(feed.pick(batch)).toBeUndefined();
  });

  test('shows single clicks of every link that is watched, however many one of them has', async () => {
    const feed = startFeed();
    const busy = Array.from({ length: 2_000 }, () => 'busy');
    const { batch } = await append('own', ...busy, 'quiet', '__proto__', 'quiet');
    feed.watch(['busy', 'quiet', '__proto__']);
    const { clicks, counts } = feed.pick(batch)!;
    expect(Object.entries(counts)).toEqual([
      ['busy', 2_000],
      ['quiet', 2],
      ['__proto__', 1],
    ]);
    const shown = Map.groupBy(clicks, ({ code }) => code);
    expect([...shown].map(([code, { length }]) => [code, length])).toEqual([
      ['busy', 50],
      ['quiet', 2],
      ['__proto__', 1],
    ]);
    feed.watch(['busy', 'quiet', ...Array.from({ length: 998 }, (_, n) => `other${n}`)]);
    expect(feed.pick(batch)!.clicks.map(({ code }) => code)).toEqual(['busy', 'quiet']);
  });

  test('shows what others log from now on, once, and neither its own nor what was before', async () => {
    const feed = startFeed();
    (await append('other', 'a', 'a')).counted();
    feed.watch(['a']);
    expect(await countsOf(feed)).toEqual([]);
    await append('other', 'a');
    await append('own', 'a');
    await append('third', 'a', 'b');
    expect(await countsOf(feed)).toEqual([{ a: 1 }, { a: 1 }]);
    expect(await countsOf(feed)).toEqual([]);
  });

  test('reads nothing of a history that was counted, however long it is, when somebody begins to watch', async () => {
    const feed = startFeed();
    for (let count = 0; count < 20; count += 1) (await append('other', 'a')).counted();
    feed.watch(['a']);
    await feed.tail();
    expect(reads).toBe(0);
  });

  test('begins anew with the next watcher after the last has left', async () => {
    const feed = startFeed();
    feed.watch(['a']);
    await feed.tail();
    feed.watch([]);
    (await append('other', 'a')).counted();
    expect(await countsOf(feed)).toEqual([]);
    feed.watch(['a']);
    expect(await countsOf(feed)).toEqual([]);
    await append('other', 'a');
    expect(await countsOf(feed)).toEqual([{ a: 1 }]);
  });

  test('a viral link is shown by its count and its first clicks', async () => {
    const feed = startFeed();
    feed.watch(['a']);
    const { batch } = await append('own', ...Array(500).fill('a'));
    const update = feed.pick(batch)!;
    expect([update.counts.a, update.clicks.length]).toEqual([500, 50]);
  });
});
