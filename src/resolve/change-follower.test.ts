import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
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
  let silences: number;
  let reachedSeq: number;
  let errors: unknown[];
  let follower: ChangeFollower;
  let asked: number;
  /** Where the feed says to go on although there is more, as one with a hole does. */
  let heldBackSeq: number | undefined;

  beforeEach(async () => {
    clock = new ManualClock();
    store = createMemoryStore();
    [isBroken, changed, gaps, errors] = [false, [], 0, []];
    [asked, heldBackSeq, silences, reachedSeq] = [0, undefined, 0, 0];
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
      onSilence: () => {
        silences += 1;
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
      await Bun.sleep(0);
    }
  };

  test('hears of a change with the next poll', async () => {
    await insert('a');
    await pass(pollMsDefault);
    expect(changed).toEqual(['a']);
  });

  test('takes a feed that has fallen back, as that of a promoted copy may, for one that it missed something of', async () => {
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

  test('that hears nothing for two seconds has what is cached forgotten, again and again', async () => {
    isBroken = true;
    await insert('a');
    await pass(1_980);
    expect(silences).toBe(0);
    await pass(60);
    expect(silences).toBe(1);
    await pass(2_100);
    expect(silences).toBe(2);
    expect(gaps).toBe(0);
    expect(errors.length).toBeGreaterThan(100);
  });

  test('that can hear again misses nothing and forgets no more', async () => {
    isBroken = true;
    await insert('a');
    await pass(2_100);
    isBroken = false;
    await pass(pollMsDefault);
    expect(changed).toEqual(['a']);
    expect(reachedSeq).toBe(1);
    await pass(5_000);
    expect([silences, gaps]).toEqual([1, 0]);
  });

  test('asked by many at once asks the store once more than it is asking already', async () => {
    asked = 0;
    const first = follower.catchUp();
    await insert('a');
    const later = Promise.all(Array.from({ length: 50 }, () => follower.catchUp()));
    await first;
    await later;
    expect(changed).toContain('a');
    expect(asked).toBe(2);
  });

  test('goes on where it is told to, and minds no repetition', async () => {
    heldBackSeq = 1;
    await insert('a');
    await insert('b');
    await follower.catchUp();
    heldBackSeq = undefined;
    await follower.catchUp();
    expect(changed).toEqual(['a', 'b', 'b']);
    await follower.catchUp();
    expect(changed).toHaveLength(3);
  });

  test('of a store where nothing happens forgets nothing', async () => {
    await pass(10_000);
    expect([silences, gaps]).toEqual([0, 0]);
  });
});
