import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../base/clock.ts';
import { insertItem, sampleLink } from '../links/store-samples.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { KeptNumber } from '../ops/kept-number.ts';
import { PurgeFeed, settleMs } from './purge-feed.ts';
import { PurgeFailed } from './purger.ts';

const everything = '*';
const stepMs = 50;

describe('the feed of purges', () => {
  let clock: ManualClock;
  let folder: string;
  let path: string;
  let store: ReturnType<typeof createMemoryStore>;
  /** What the edge was told, call by call. */
  let calls: string[][];
  let isAway: boolean;
  let problems: string[];
  /** Where the feed says to go on although there is more, as one with a hole does. */
  let heldBackSeq: number | undefined;
  let feeds: PurgeFeed[];

  beforeEach(() => {
    clock = new ManualClock();
    folder = mkdtempSync(join(tmpdir(), 'terse-edge-'));
    path = join(folder, 'edge', 'position');
    store = createMemoryStore();
    [calls, isAway, problems, heldBackSeq, feeds] = [[], false, [], undefined, []];
  });
  afterEach(async () => {
    await Promise.all(feeds.map(feed => feed.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  const take = async (codes: readonly string[]): Promise<void> => {
    if (isAway) throw new PurgeFailed('the edge cannot be reached');
    calls.push([...codes]);
  };
  function start({ canForgetAll = true, codesMax = 100 } = {}): PurgeFeed {
    const feed = new PurgeFeed({
      purger: {
        name: 'test',
        codesMax,
        purge: take,
        ...(canForgetAll && { purgeAll: () => take([everything]) }),
      },
      store: {
        find: store.find,
        async changes(afterSeq, limit) {
          const page = await store.changes(afterSeq, limit);
          return { ...page, resumeSeq: heldBackSeq ?? page.resumeSeq };
        },
      },
      position: new KeptNumber(path),
      clock,
      onProblem: what => problems.push(what),
    });
    feeds.push(feed);
    feed.start();
    return feed;
  }

  async function pass(forMs: number): Promise<void> {
    for (let passedMs = 0; passedMs < forMs; passedMs += stepMs) {
      clock.advance(stepMs);
      await Bun.sleep(0);
    }
  }
  const told = (): string[] => calls.splice(0).flat();
  const make = (code: string) => store.insert([insertItem(sampleLink(code, { origin: 'custom' }))]);
  async function change(code: string): Promise<void> {
    const link = (await store.find(code))!;
    await store.replace({ ...link, status: 'disabled', version: link.version + 1, updatedAt: clock.now() });
  }
  /** A feed that has nothing to make up for. */
  async function started(options = {}): Promise<PurgeFeed> {
    new KeptNumber(path).write((await store.changes(Number.MAX_SAFE_INTEGER, 1)).lastSeq);
    return start(options);
  }

  test('a change is purged at once, and again when every process has heard of it', async () => {
    await make('one');
    await started();
    await change('one');
    await pass(200);
    expect(told()).toEqual(['one']);
    await pass(settleMs - 400);
    expect(told()).toEqual([]);
    await pass(400);
    expect(told()).toEqual(['one']);
    await pass(2 * settleMs);
    expect(told()).toEqual([]);
  });

  test('a link that is only new is not purged, however it comes to be in the feed', async () => {
    const feed = await started();
    await make('new');
    await pass(2 * settleMs);
    expect(told()).toEqual([]);
    expect(feed.figures.purged).toBe(0);
    await change('new');
    await pass(200);
    expect(told()).toEqual(['new']);
    expect(feed.figures.purged).toBe(1);
  });

  test('who does not know how far it came makes the edge forget everything, twice, and goes on from there', async () => {
    await make('one');
    await change('one');
    const feed = start();
    await pass(200);
    expect(told()).toEqual([everything]);
    await pass(settleMs);
    expect(told()).toEqual([everything]);
    expect(feed.figures.emptied).toBe(1);
    await change('one');
    await pass(200);
    expect(told()).toEqual(['one']);
  });

  test('what changed while nobody was there, or was purged only once, is purged by the next start', async () => {
    await make('one');
    await make('two');
    const crashed = await started();
    await change('one');
    await pass(200);
    expect(told()).toEqual(['one']);
    await crashed.stop();
    await change('two');
    start();
    await pass(200);
    expect(told()).toEqual(['one', 'two']);
    await pass(settleMs);
    expect(told()).toEqual(['one', 'two']);
    const { lastSeq } = await store.changes(Number.MAX_SAFE_INTEGER, 1);
    expect(new KeptNumber(path).read()).toBe(lastSeq);
  });

  test('an edge that is away is tried again until it is there; nothing is lost and the log is not flooded', async () => {
    await make('one');
    await make('two');
    const feed = await started();
    isAway = true;
    await change('one');
    await pass(20_000);
    expect(feed.figures.behindMs).toBeGreaterThan(15_000);
    expect(feed.figures.failures).toBeGreaterThan(3);
    expect(feed.figures.failures).toBeLessThan(20);
    expect(problems).toEqual(['changes cannot be purged from the edge test']);
    await change('two');
    isAway = false;
    await pass(6_000);
    expect(new Set(told())).toEqual(new Set(['one', 'two']));
    expect(feed.figures.behindMs).toBe(0);
    isAway = true;
    await change('two');
    await pass(500);
    expect(problems).toHaveLength(2);
  });

  test('a feed that no longer reaches back makes the edge forget everything', async () => {
    await make('one');
    await change('one');
    await change('one');
    new KeptNumber(path).write(1);
    await store.prune({ answersBefore: 0, changesBefore: Number.MAX_SAFE_INTEGER }, 2);
    await make('two');
    start();
    await pass(200);
    expect(told()).toEqual([everything]);
  });

  test('a position that the store has not come to yet makes the edge forget everything', async () => {
    await make('one');
    new KeptNumber(path).write(1_000);
    start();
    await pass(200);
    expect(told()).toEqual([everything]);
  });

  test('entries that the feed tells again are not purged again', async () => {
    await make('one');
    await make('two');
    await started();
    heldBackSeq = 2;
    await change('one');
    await pass(500);
    await change('two');
    await pass(500);
    heldBackSeq = undefined;
    await pass(500);
    expect(told()).toEqual(['one', 'two']);
  });

  test('more codes than an edge takes at once go in several calls, each code once', async () => {
    for (const code of ['a', 'b', 'c', 'd', 'e']) await make(code);
    const first = await started();
    await first.stop();
    for (const code of ['a', 'b', 'c', 'a', 'd', 'e']) await change(code);
    start({ codesMax: 2 });
    await pass(200);
    expect(calls).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  test('being told that everything has changed outlives a crash', async () => {
    await make('one');
    const feed = await started();
    await pass(200);
    isAway = true;
    feed.purgeAll();
    expect(existsSync(path)).toBe(false);
    await pass(200);
    await feed.stop();
    isAway = false;
    start();
    await pass(200);
    expect(told()).toEqual([everything]);
  });

  test('everything is owed to an edge that was away until it was told', async () => {
    isAway = true;
    start();
    await pass(1_000);
    isAway = false;
    await pass(2_000);
    expect(told()).toEqual([everything]);
  });

  test('an edge that cannot forget everything is left to its time, the log says so, and what comes is not missed', async () => {
    await make('one');
    const crashed = start({ canForgetAll: false });
    await pass(200);
    expect(problems).toEqual(['the edge test cannot be told to forget everything']);
    await crashed.stop();
    await change('one');
    start({ canForgetAll: false });
    await pass(200);
    expect(told()).toEqual(['one']);
    expect(problems).toHaveLength(1);
  });
});
