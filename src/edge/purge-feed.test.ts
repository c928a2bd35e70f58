import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointFile } from '../base/checkpoint-file.ts';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { insertItem, sampleLink } from '../links/store-samples.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { PurgeFeed, settleMs } from './purge-feed.ts';
import { PurgeFailed } from './purger.ts';

const everything = '*';
const stepMs = 50;

describe('the feed of purges', () => {
  let clock: ManualClock;
  let folder: string;
  let path: string;
  let store: ReturnType<typeof createMemoryStore>;
  /** The purges that the edge received, call by call. */
  let calls: string[][];
  let isDown: boolean;
  let problems: string[];
  /** The cursor to continue from although there is more, as in a feed with a gap. */
  let heldBackSeq: number | undefined;
  let feeds: PurgeFeed[];

  beforeEach(() => {
    clock = new ManualClock();
    folder = mkdtempSync(join(tmpdir(), 'terse-edge-'));
    path = join(folder, 'edge', 'position');
    store = createMemoryStore();
    [calls, isDown, problems, heldBackSeq, feeds] = [[], false, [], undefined, []];
  });
  afterEach(async () => {
    await Promise.all(feeds.map(feed => feed.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  const take = async (codes: readonly string[]): Promise<void> => {
    if (isDown) throw new PurgeFailed('the edge cannot be reached');
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
      position: new CheckpointFile(path),
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
      await yieldToEventLoop();
    }
  }
  const purged = (): string[] => calls.splice(0).flat();
  const make = (code: string) => store.insert([insertItem(sampleLink(code, { origin: 'custom' }))]);
  async function change(code: string): Promise<void> {
    const link = (await store.find(code))!;
    await store.replace({ ...link, status: 'disabled', version: link.version + 1, updatedAt: clock.now() });
  }
  /** A feed with no backlog. */
  async function started(options = {}): Promise<PurgeFeed> {
    new CheckpointFile(path).write((await store.changes(Number.MAX_SAFE_INTEGER, 1)).lastSeq);
    return start(options);
  }

  test('a change is purged at once, and again when every process has learned of it', async () => {
    await make('one');
    await started();
    await change('one');
    await pass(200);
    expect(purged()).toEqual(['one']);
    await pass(settleMs - 400);
    expect(purged()).toEqual([]);
    await pass(400);
    expect(purged()).toEqual(['one']);
    await pass(2 * settleMs);
    expect(purged()).toEqual([]);
  });

  test('a link that is only new is not purged, however it comes to be in the feed', async () => {
    const feed = await started();
    await make('new');
    await pass(2 * settleMs);
    expect(purged()).toEqual([]);
    expect(feed.figures.purged).toBe(0);
    await change('new');
    await pass(200);
    expect(purged()).toEqual(['new']);
    expect(feed.figures.purged).toBe(1);
  });

  test('a feed without a saved position purges everything, twice, and continues from there', async () => {
    await make('one');
    await change('one');
    const feed = start();
    await pass(200);
    expect(purged()).toEqual([everything]);
    await pass(settleMs);
    expect(purged()).toEqual([everything]);
    expect(feed.figures.emptied).toBe(1);
    await change('one');
    await pass(200);
    expect(purged()).toEqual(['one']);
  });

  test('changes made while no process ran, or purged only once, are purged by the next start', async () => {
    await make('one');
    await make('two');
    const crashed = await started();
    await change('one');
    await pass(200);
    expect(purged()).toEqual(['one']);
    await crashed.stop();
    await change('two');
    start();
    await pass(200);
    expect(purged()).toEqual(['one', 'two']);
    await pass(settleMs);
    expect(purged()).toEqual(['one', 'two']);
    const { lastSeq } = await store.changes(Number.MAX_SAFE_INTEGER, 1);
    expect(new CheckpointFile(path).read()).toBe(lastSeq);
  });

  test('an edge that is down is retried until it is back; nothing is lost and the log is not flooded', async () => {
    await make('one');
    await make('two');
    const feed = await started();
    isDown = true;
    await change('one');
    await pass(20_000);
    expect(feed.figures.behindMs).toBeGreaterThan(15_000);
    expect(feed.figures.failures).toBeGreaterThan(3);
    expect(feed.figures.failures).toBeLessThan(20);
    expect(problems).toEqual(['changes cannot be purged from the edge test']);
    await change('two');
    isDown = false;
    await pass(6_000);
    expect(new Set(purged())).toEqual(new Set(['one', 'two']));
    expect(feed.figures.behindMs).toBe(0);
    isDown = true;
    await change('two');
    await pass(500);
    expect(problems).toHaveLength(2);
  });

  test('a feed that no longer reaches back purges everything', async () => {
    await make('one');
    await change('one');
    await change('one');
    new CheckpointFile(path).write(1);
    await store.prune({ answersBefore: 0, changesBefore: Number.MAX_SAFE_INTEGER }, 2);
    await make('two');
    start();
    await pass(200);
    expect(purged()).toEqual([everything]);
  });

  test('a position that the store has not reached yet purges everything', async () => {
    await make('one');
    new CheckpointFile(path).write(1_000);
    start();
    await pass(200);
    expect(purged()).toEqual([everything]);
  });

  test('entries that the feed returns again are not purged again', async () => {
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
    expect(purged()).toEqual(['one', 'two']);
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

  test('a pending purge of everything survives a crash', async () => {
    await make('one');
    const feed = await started();
    await pass(200);
    isDown = true;
    feed.purgeAll();
    expect(existsSync(path)).toBe(false);
    await pass(200);
    await feed.stop();
    isDown = false;
    start();
    await pass(200);
    expect(purged()).toEqual([everything]);
  });

  test('a purge of everything stays pending until an edge that was down has received it', async () => {
    isDown = true;
    start();
    await pass(1_000);
    isDown = false;
    await pass(2_000);
    expect(purged()).toEqual([everything]);
  });

  test('an edge that cannot purge everything is logged and left to its TTL, and later changes are purged', async () => {
    await make('one');
    const crashed = start({ canForgetAll: false });
    await pass(200);
    expect(problems).toEqual(['the edge test cannot be emptied']);
    await crashed.stop();
    await change('one');
    start({ canForgetAll: false });
    await pass(200);
    expect(purged()).toEqual(['one']);
    expect(problems).toHaveLength(1);
  });
});
