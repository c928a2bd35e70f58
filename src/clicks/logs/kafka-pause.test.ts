import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../../base/clock.ts';
import type { CommittedOffset } from '../../engines/kafka/group.ts';
import { createKafkaPause } from './kafka-group.ts';

describe('a pause in counting', () => {
  let clock: ManualClock;
  let commits: Map<number, CommittedOffset>;
  let holds: string[];
  let done: string[];
  beforeEach(() => {
    clock = new ManualClock();
    commits = new Map([
      [0, { offset: 10, metadata: '' }],
      [1, { offset: 20, metadata: '' }],
    ]);
    holds = [];
    done = [];
  });

  /** Called on every look at the plans, with the number of looks so far. */
  let onLook: (looks: number) => void = () => {};
  const pause = () => {
    let looks = 0;
    return createKafkaPause({
      clock,
      partitions: async () => 2,
      progress: {
        async commits() {
          looks += 1;
          onLook(looks);
          return new Map(commits);
        },
      },
      hold: {
        set: async () => void holds.push('set'),
        clear: async () => void holds.push('clear'),
      },
    });
  };
  const during = (between: () => void = () => {}) =>
    pause().during(
      async () => {
        done.push('look');
        between();
      },
      async () => void done.push('act'),
    );
  /** Time passes until it is over. */
  async function elapsed<Result>(work: Promise<Result>): Promise<Result> {
    let isOver = false;
    const settled = work.finally(() => {
      isOver = true;
    });
    settled.catch(() => undefined);
    while (!isOver) {
      clock.advance(100);
      await yieldToEventLoop();
    }
    return settled;
  }

  test('is taken when no plan is open and none is made, and given back', async () => {
    onLook = () => {};
    expect(await elapsed(during())).toBe(true);
    expect(done).toEqual(['look', 'act']);
    expect([holds[0], holds.at(-1)]).toEqual(['set', 'clear']);
  });

  test('waits until what is planned is counted', async () => {
    commits.set(1, { offset: 20, metadata: 'to=30' });
    onLook = looks => {
      if (looks === 5) commits.set(1, { offset: 30, metadata: '' });
      expect(done).toEqual(looks <= 5 ? [] : ['look']);
    };
    expect(await elapsed(during())).toBe(true);
  });

  test.each([
    ['planned', { offset: 20, metadata: 'to=25' }],
    ['planned and finished', { offset: 25, metadata: '' }],
  ])('is over when something was %s meanwhile, and then nothing is acted on', async (_what, commit) => {
    onLook = () => {};
    expect(await elapsed(during(() => void commits.set(1, commit)))).toBe(false);
    expect(done).toEqual(['look']);
    expect(holds.at(-1)).toBe('clear');
  });

  test('is given up when no process counts what is planned, and says so', async () => {
    onLook = () => {};
    commits.set(0, { offset: 10, metadata: 'to=11' });
    await expect(elapsed(during())).rejects.toThrow('not being counted');
    expect([done, holds.at(-1)]).toEqual([[], 'clear']);
    // The request was renewed several times, since it expires by itself.
    expect(holds.filter(word => word === 'set').length).toBeGreaterThan(3);
  });
});
