import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../base/clock.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { LiveFeed, WatchList, watchersMax } from './live.ts';
import type { LocalLog } from './log.ts';
import { createEmbeddedLog } from './logs/embedded.ts';

describe('live feed', () => {
  let folder: string;
  let reads: number;
  let positions: Map<string, number>;
  const clock = new ManualClock(samplesStart);
  const open = (producer: string) => createEmbeddedLog({ folder, producer, clock });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-live-'));
    reads = 0;
    positions = new Map();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function startFeed(): LiveFeed {
    const log = open('own');
    const read: LocalLog['read'] = (...range) => {
      reads += 1;
      return log.read(...range);
    };
    return new LiveFeed({ log: { ...log, read }, producer: 'own', positions: async () => positions });
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

  test('shows the watched links of a batch, and nothing while there are no watchers', async () => {
    const feed = startFeed();
    const { batch } = await append('own', 'a', 'b', 'a');
    expect(feed.pick(batch)).toBeUndefined();
    feed.watch(['a']);
    expect(feed.pick(batch)).toMatchObject({ counts: { a: 2 }, clicks: [{ code: 'a' }, { code: 'a' }] });
    feed.watch(['nothing']);
    expect(feed.pick(batch)).toBeUndefined();
  });

  test('shows the dimensions of a click, and nothing about the visitor', () => {
    const feed = startFeed();
    feed.watch(['abc']);
    const visit = { language: 'de', utmSource: 'newsletter', via: 'qr' };
    const place = { country: 'DE', region: 'Bavaria', city: 'Munich' };
    const batch = sampleBatch(1, [{ at: samplesStart, ...visit, ...place, visitor: 7 }]);
    const [click] = feed.pick(batch)!.clicks;
    expect(click).toMatchObject({ code: 'abc', at: samplesStart, kind: 'human', ...visit, ...place });
    expect(click).not.toHaveProperty('visitor');
    expect(click).not.toHaveProperty('userAgent');
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

  test('shows clicks that others log from now on, once, but neither its own nor earlier ones', async () => {
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

  test('reads nothing of a history that was counted, however long it is, when a watcher starts', async () => {
    const feed = startFeed();
    for (let count = 0; count < 20; count += 1) (await append('other', 'a')).counted();
    feed.watch(['a']);
    await feed.tail();
    expect(reads).toBe(0);
  });

  test('starts again with the next watcher after the last has left', async () => {
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

describe('live feed of partitions that producers share', () => {
  const ends = new Map([
    ['clicks/1', 100],
    ['clicks/2', 100],
  ]);
  const partitionOf = (code: string): string => (code === 'one' ? 'clicks/1' : 'clicks/2');
  const reads: [string, number][] = [];
  const feed = new LiveFeed({
    log: {
      partitionsOf: async codes => codes.map(partitionOf).map(name => ({ name, end: ends.get(name)! })),
      async read(offsets) {
        reads.push(...offsets);
        return new Map([...offsets].map(([name]) => [name, { items: [], to: ends.get(name)!, end: 0 }]));
      },
    },
    producer: 'own',
    positions: async () => new Map(),
  });
  const tailed = async (...codes: string[]) => {
    reads.length = 0;
    feed.watch(codes);
    await feed.tail();
    return [...reads];
  };

  test('is nothing while there are no watchers', async () => {
    expect(await tailed()).toEqual([]);
  });

  test('has new clicks from the partition of a watched code, and of no other', async () => {
    expect(await tailed('one')).toEqual([]);
    for (const name of ends.keys()) ends.set(name, 110);
    expect(await tailed('one')).toEqual([['clicks/1', 100]]);
    expect(await tailed('one')).toEqual([]);
  });

  test('starts again for a code that is watched later, and again', async () => {
    expect(await tailed('one', 'two')).toEqual([]);
    expect(await tailed('two')).toEqual([]);
    ends.set('clicks/1', 500);
    expect(await tailed('one')).toEqual([]);
  });
});

test('each watcher gets clicks of its own link, and the list of watched links follows the watchers', () => {
  const lists: string[][] = [];
  const watchList = new WatchList(codes => lists.push([...codes]));
  const heard: string[] = [];
  const stopFirst = watchList.watch('a', ({ counts }) => heard.push(`first ${JSON.stringify(counts)}`));
  const stopSecond = watchList.watch('a', ({ counts }) => heard.push(`second ${JSON.stringify(counts)}`));
  const stopOther = watchList.watch('b', ({ counts }) => heard.push(`other ${JSON.stringify(counts)}`));
  watchList.publish({ clicks: [], counts: { a: 2, c: 1 } });
  expect(heard).toEqual(['first {"a":2}', 'second {"a":2}']);
  stopFirst();
  stopFirst();
  stopSecond();
  stopOther();
  expect(lists).toEqual([['a'], ['a', 'b'], ['b'], []]);
  watchList.publish({ clicks: [], counts: { a: 2 } });
  expect(heard).toHaveLength(2);
});

test('the number of watchers is limited', () => {
  const watchList = new WatchList(() => {});
  const stops = Array.from({ length: watchersMax }, () => watchList.watch('a', () => {}));
  expect(watchList.isFull).toBe(true);
  stops[0]!();
  expect(watchList.isFull).toBe(false);
});

test('all watchers can be notified of the end, and then no new watcher is accepted', () => {
  const lists: string[][] = [];
  const watchList = new WatchList(codes => lists.push([...codes]));
  const ended: string[] = [];
  const watch = (name: string, code: string) => {
    const stop = watchList.watch(
      code,
      () => {},
      () => {
        ended.push(name);
        stop();
      },
    );
    return stop;
  };
  watch('first', 'a');
  watch('second', 'a');
  watch('other', 'b');
  watch('gone before', 'b')();
  watchList.endAll();
  expect(ended).toEqual(['first', 'second', 'other']);
  expect(lists.at(-1)).toEqual([]);
  expect(watchList.codes).toEqual([]);
  expect(watchList.isFull).toBe(true);
  watchList.endAll();
  expect(ended).toHaveLength(3);
});
