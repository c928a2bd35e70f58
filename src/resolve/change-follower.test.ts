import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { insertItem, sampleLink } from '../links/store-samples.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { ChangeFollower, pollMsDefault } from './change-follower.ts';
import { Horizon } from './horizon.ts';

describe('a follower', () => {
  let clock: ManualClock;
  let store: ReturnType<typeof createMemoryStore>;
  let isBroken: boolean;
  let changed: string[];
  let gaps: number;
  let provenAtMs: number;
  let reachedSeq: number;
  let errors: unknown[];
  let follower: ChangeFollower;
  let asked: number;
  /** Where the feed says to resume although there is more, as one with a hole does. */
  let heldBackSeq: number | undefined;

  beforeEach(async () => {
    clock = new ManualClock();
    store = createMemoryStore();
    [isBroken, changed, gaps, errors] = [false, [], 0, []];
    [asked, heldBackSeq, provenAtMs, reachedSeq] = [0, undefined, 0, 0];
    follower = new ChangeFollower({
      store: {
        ...store,
        async changes(afterSeq, limit) {
          if (isBroken) throw new Error('the feed is broken');
          asked += 1;
          const page = await store.changes(afterSeq, limit);
          return { ...page, resumeSeq: heldBackSeq ?? page.resumeSeq };
        },
      },
      clock,
      horizon: new Horizon(() => undefined),
      codeLength: undefined,
      onChange: code => changed.push(code),
      onReached: seq => {
        reachedSeq = seq;
      },
      onGap: () => {
        gaps += 1;
      },
      onProven: atMs => {
        provenAtMs = atMs;
      },
      onError: error => errors.push(error),
    });
    await follower.start();
  });

  const insert = (code: string) => store.insert([insertItem(sampleLink(code, { origin: 'custom' }))]);
  /** Polls as often as fits into the time. */
  const pass = async (forMs: number): Promise<void> => {
    for (let passedMs = 0; passedMs < forMs; passedMs += pollMsDefault) {
      clock.advance(pollMsDefault);
      await yieldToEventLoop();
    }
  };

  test('learns of a change with the next poll', async () => {
    await insert('a');
    await pass(pollMsDefault);
    expect(changed).toEqual(['a']);
  });

  test('treats a feed that went backwards, as that of a promoted copy may, as missed changes', async () => {
    for (const code of ['a', 'b', 'c']) await insert(code);
    await pass(pollMsDefault);
    expect(gaps).toBe(0);
    store = createMemoryStore();
    await insert('x');
    await follower.catchUp();
    expect(gaps).toBe(1);
    await insert('y');
    await follower.catchUp();
    expect([changed.at(-1), gaps]).toEqual(['y', 1]);
  });

  test('proves nothing while the feed does not answer, and misses nothing once it does again', async () => {
    await pass(pollMsDefault);
    const lastProvenMs = provenAtMs;
    isBroken = true;
    await insert('a');
    await pass(2_100);
    expect(provenAtMs).toBe(lastProvenMs);
    expect(errors.length).toBeGreaterThan(100);
    isBroken = false;
    await pass(pollMsDefault);
    expect(changed).toEqual(['a']);
    expect([reachedSeq, gaps]).toEqual([1, 0]);
    expect(provenAtMs).toBe(clock.monotonicMs());
  });

  test('asks the store only one more time for many concurrent callers', async () => {
    asked = 0;
    const first = follower.catchUp();
    await insert('a');
    const later = Promise.all(Array.from({ length: 50 }, () => follower.catchUp()));
    await first;
    await later;
    expect(changed).toContain('a');
    expect(asked).toBe(2);
  });

  test('resumes where the feed says, and reports each change once however often it is repeated', async () => {
    heldBackSeq = 1;
    for (const code of ['a', 'b', 'c']) await insert(code);
    for (let round = 0; round < 3; round += 1) await follower.catchUp();
    expect([changed, reachedSeq]).toEqual([['a', 'b', 'c'], 1]);
    heldBackSeq = undefined;
    await insert('d');
    await follower.catchUp();
    expect([changed, reachedSeq]).toEqual([['a', 'b', 'c', 'd'], 4]);
  });

  test('reports the changes of a feed that went backwards although it knew their numbers', async () => {
    heldBackSeq = 0;
    for (const code of ['a', 'b']) await insert(code);
    await follower.catchUp();
    store = createMemoryStore();
    await insert('x');
    await follower.catchUp();
    expect([changed, gaps]).toEqual([['a', 'b', 'x'], 1]);
  });

  test.each([
    ['behind a number that is still empty', [1]],
    ['behind numbers without a change', [2, 3, 1_002]],
  ])('proves nothing before it has read what is %s', async (_what, empty) => {
    const lastSeq = 3_500;
    const isHole = empty.includes(1);
    let asks = 0;
    const long = new ChangeFollower({
      store: {
        ...store,
        changeToken: undefined as never,
        async changes(afterSeq, limit) {
          asks += 1;
          if (afterSeq > lastSeq) return { changes: [], lastSeq: 0, endSeq: 0, resumeSeq: 0, gap: false };
          const endSeq = Math.min(lastSeq, afterSeq + limit);
          const numbers = Array.from({ length: endSeq - afterSeq }, (_, n) => afterSeq + 1 + n);
          const changes = numbers
            .filter(seq => !empty.includes(seq))
            .map(seq => ({ seq, code: `c${seq}`, claim: undefined }));
          return { changes, lastSeq, endSeq, resumeSeq: isHole && afterSeq === 0 ? 0 : endSeq, gap: false };
        },
      },
      clock,
      horizon: new Horizon(() => undefined),
      codeLength: undefined,
      onChange: code => changed.push(code),
      onGap: () => {},
      onProven: atMs => {
        expect(changed).toHaveLength(lastSeq - empty.length);
        provenAtMs = atMs;
      },
      onError: error => errors.push(error),
      pollMs: 1_000_000,
    });
    await long.start();
    clock.advance(1);
    await long.catchUp();
    expect(provenAtMs).toBe(clock.monotonicMs());
    expect(asks).toBe(5);
    await long.catchUp();
    expect(changed).toHaveLength(lastSeq - empty.length);
    long.stop();
  });

  test('keeps its cache while the store does not change', async () => {
    await pass(10_000);
    expect([changed, gaps]).toEqual([[], 0]);
  });
});
