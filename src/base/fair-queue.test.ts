import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from './clock.ts';
import { FairQueue, type Turn } from './fair-queue.ts';

class Refused extends Error {}

let clock: ManualClock;
let queue: FairQueue;
/** The names of the tasks that were started, in that order. */
let begun: string[];
let refused: string[];
let ends: (() => void)[];

beforeEach(() => {
  clock = new ManualClock();
  queue = new FairQueue({
    concurrency: 1,
    waitingMax: 6,
    waitingPerLaneMax: 2,
    waitMaxMs: 5_000,
    clock,
    refusal: () => new Refused(),
  });
  [begun, refused, ends] = [[], [], []];
});

/** Asks for a turn; the work lasts until `endOne`. */
function ask(name: string, turn: Partial<Turn> = {}): void {
  const whole = { lane: name, isPreferred: false, isAbandoned: () => false, ...turn };
  const work = (): Promise<void> => {
    begun.push(name);
    return new Promise(resolve => ends.push(resolve));
  };
  queue.run(whole, work).catch(error => {
    expect(error).toBeInstanceOf(Refused);
    refused.push(name);
  });
}

/** Returns once all resulting work has run. */
const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

async function endOne(): Promise<void> {
  await settled();
  ends.shift()!();
  await settled();
}

async function endAll(): Promise<void> {
  await settled();
  while (ends.length > 0) await endOne();
}

describe('a fair queue', () => {
  test('runs a limited number at once, and starts a waiting one when another ends', async () => {
    queue = new FairQueue({
      concurrency: 2,
      waitingMax: 6,
      waitingPerLaneMax: 2,
      waitMaxMs: 5_000,
      clock,
      refusal: () => new Refused(),
    });
    for (const name of ['a', 'b', 'c']) ask(name);
    await settled();
    expect(begun).toEqual(['a', 'b']);
    expect(queue.waiting).toBe(1);
    await endOne();
    expect(begun).toEqual(['a', 'b', 'c']);
    await endAll();
    expect(refused).toEqual([]);
  });

  test('returns what the work returns, and continues after work that fails', async () => {
    const turn = { lane: 'a', isPreferred: false, isAbandoned: () => false };
    const failing = queue.run(turn, async () => {
      throw new Error('broken');
    });
    const next = queue.run(turn, async () => 7);
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe(7);
  });

  test('runs the preparation when the turn comes, and skips the work if that fails', async () => {
    const turn = { lane: 'a', isPreferred: false, isAbandoned: () => false };
    const done: string[] = [];
    ask('running');
    const failing = queue.run(
      { ...turn, onBegin: () => Promise.reject(new Error('not allowed')) },
      async () => done.push('never'),
    );
    const other = queue.run({ ...turn, onBegin: async () => void done.push('before') }, async () =>
      done.push('work'),
    );
    const refusal = failing.catch(error => error);
    await settled();
    expect(done).toEqual([]);
    await endOne();
    expect(await refusal).toMatchObject({ message: 'not allowed' });
    await other;
    expect(done).toEqual(['before', 'work']);
    expect(queue.refused).toBe(0);
  });

  test('serves a lane that asks for the first time before those that have asked more often', async () => {
    ask('running');
    for (const round of [1, 2]) for (const lane of ['x', 'y']) ask(`${lane}${round}`, { lane });
    ask('quiet');
    await endAll();
    expect(begun).toEqual(['running', 'quiet', 'y1', 'x1', 'y2', 'x2']);
  });

  test('forgets with time how often a lane has asked', async () => {
    for (let n = 0; n < 8; n += 1) {
      ask(`early ${n}`, { lane: 'busy' });
      await endAll();
    }
    clock.advance(4 * 60_000);
    begun = [];
    ask('running');
    ask('stranger');
    ask('busy');
    await endAll();
    expect(begun).toEqual(['running', 'busy', 'stranger']);
  });

  test('forgets the lane that has not asked for longest when there are very many', async () => {
    for (let n = 0; n < 3; n += 1) {
      ask(`early ${n}`, { lane: 'busy' });
      await endAll();
    }
    for (let n = 0; n < 10_000; n += 1) {
      void queue.run({ lane: `lane ${n}`, isPreferred: false, isAbandoned: () => false }, async () => {});
      if (n % 5 === 0) await settled();
    }
    await settled();
    begun = [];
    ask('running');
    ask('stranger');
    ask('busy');
    await endAll();
    expect(begun).toEqual(['running', 'busy', 'stranger']);
  });

  test('serves preferred turns first, however often their lane has asked', async () => {
    ask('running', { lane: 'x' });
    ask('x1', { lane: 'x' });
    ask('quiet');
    ask('preferred', { lane: 'x', isPreferred: true });
    await endAll();
    expect(begun).toEqual(['running', 'preferred', 'quiet', 'x1']);
  });

  test('rejects at once what exceeds the limit of one lane, and keeps the others', async () => {
    ask('running');
    for (const name of ['x1', 'x2', 'x3']) ask(name, { lane: 'x' });
    ask('quiet');
    await settled();
    expect(refused).toEqual(['x3']);
    ask('x preferred', { lane: 'x', isPreferred: true });
    await settled();
    expect(refused).toEqual(['x3', 'x2']);
    await endAll();
    expect(begun).toEqual(['running', 'x preferred', 'quiet', 'x1']);
  });

  test('lets a quiet lane into a full queue in place of the last in order', async () => {
    ask('running');
    for (const lane of ['x', 'y', 'z']) for (const round of [1, 2]) ask(`${lane}${round}`, { lane });
    ask('quiet');
    await settled();
    expect(refused).toEqual(['x2']);
    expect(queue.refused).toBe(1);
    ask('x again', { lane: 'x' });
    await settled();
    expect(refused).toEqual(['x2', 'x again']);
    await endOne();
    expect(begun).toEqual(['running', 'quiet']);
    await endAll();
  });

  test('gives a new turn the place of the oldest when all lanes have asked once', async () => {
    ask('running');
    for (let n = 0; n < 7; n += 1) ask(`flood ${n}`);
    ask('user');
    await endOne();
    expect(refused).toEqual(['flood 0', 'flood 1']);
    expect(begun).toEqual(['running', 'user']);
    await endAll();
  });

  test('does no work for disconnected clients, and gives their places to others', async () => {
    let hasGone = false;
    ask('running', { lane: 'busy' });
    for (let n = 0; n < 6; n += 1) ask(`leaver ${n}`, { isAbandoned: () => hasGone });
    await settled();
    hasGone = true;
    ask('stayer', { lane: 'busy' });
    await settled();
    expect(refused).toHaveLength(6);
    ask('leaver', { isAbandoned: () => true });
    await endAll();
    expect(begun).toEqual(['running', 'stayer']);
  });

  test('rejects a turn that has waited too long', async () => {
    ask('running');
    ask('old');
    clock.advance(4_999);
    ask('young');
    clock.advance(1);
    await endOne();
    expect(refused).toEqual(['old']);
    expect(begun).toEqual(['running', 'young']);
    await endAll();
  });
});
