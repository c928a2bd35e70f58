import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { type FakeProcess, settle, World } from './fake-processes.ts';
import { Freshness } from './freshness.ts';
import { ChangeDeduplicator, Invalidation } from './invalidation.ts';

describe('invalidation', () => {
  let world: World;
  let one: FakeProcess;
  let other: FakeProcess;

  beforeEach(async () => {
    world = new World();
    await world.create('abc');
    one = await world.start();
    other = await world.start();
    // Long enough for the memory of both to reach back further than a checkpoint.
    await world.pass(12_000);
  });
  const versions = async (): Promise<number[]> => [await one.visit('abc'), await other.visit('abc')];

  test('a change is visible in every process when its caller is answered', async () => {
    expect(await versions()).toEqual([1, 1]);
    await one.change('abc');
    expect(await versions()).toEqual([2, 2]);
    expect(one.invalidation).toMatchObject({ messagesSent: 1, messagesReceived: 0 });
    expect(other.invalidation).toMatchObject({ messagesSent: 0, messagesReceived: 1 });
  });

  test('a new alias resolves at once for clients that got a 404 before', async () => {
    expect([await one.visit('new'), await other.visit('new')]).toEqual([0, 0]);
    await world.create('new');
    await one.invalidation.announce(['new']);
    expect([await one.visit('new'), await other.visit('new')]).toEqual([1, 1]);
  });

  test('a change reported by a message is not fenced again when the feed reports it', async () => {
    await one.change('abc');
    const fences = one.cache.fences + other.cache.fences;
    await world.pass(1_000);
    expect(one.cache.fences + other.cache.fences).toBe(fences);
    expect([one.invalidation.changesByFeedOnly, other.invalidation.changesByFeedOnly]).toEqual([0, 0]);
  });

  test('a feed that is faster than the message does no harm', async () => {
    await versions();
    await world.change('abc');
    await other.poll();
    await one.invalidation.announce(['abc']);
    await world.change('abc');
    await other.poll();
    await one.invalidation.announce(['abc']);
    await settle();
    expect(await versions()).toEqual([3, 3]);
    expect(other.invalidation.changesByFeedOnly).toBe(2);
  });

  test('a change whose messages are lost is visible at the next poll', async () => {
    await versions();
    other.cache.isDeaf = true;
    await one.change('abc');
    await world.pass(1_000);
    expect(await versions()).toEqual([2, 2]);
  });

  test('a change whose process died before announcing it is fenced by the processes that read it', async () => {
    await versions();
    await world.change('abc');
    one.die();
    await world.pass(1_000);
    expect(await other.visit('abc')).toBe(2);
    expect(other.invalidation.changesByFeedOnly).toBe(1);
    await world.pass(20_000);
    expect(await (await world.start()).visit('abc')).toBe(2);
  });

  test('a change that could not be fenced is left to the feed, also when its message arrives', async () => {
    await versions();
    one.cache.lost.add('abc');
    await one.change('abc');
    expect(one.trust.owed).toBe(1);
    expect(other.invalidation.messagesReceived).toBe(1);
    expect(await versions()).toEqual([2, 2]);
    one.die();
    await world.pass(1_000);
    expect(other.invalidation.changesByFeedOnly).toBe(1);
    await world.pass(20_000);
    expect(await (await world.start()).visit('abc')).toBe(2);
  });

  test('a cache outage neither fails nor delays the change', async () => {
    await versions();
    one.cache.isDown = true;
    expect(await one.change('abc')).toBe(2);
    expect(one.invalidation).toMatchObject({ messagesSent: 0, messagesFailed: 1 });
    expect(await one.visit('abc')).toBe(2);
  });

  test('many codes are published in several messages', async () => {
    const codes = Array.from({ length: 1_201 }, (_, n) => `code${n}`);
    await one.invalidation.announce(codes);
    expect(other.invalidation.messagesReceived).toBe(3);
    expect([other.trust.isRecent('code0'), other.trust.isRecent('code1200')]).toEqual([true, true]);
  });

  test('a foreign message is ignored', async () => {
    for (const nonsense of ['', 'x', 'x <script> %%', 'a b c d e', ' , ,,'])
      await one.cache.publish(nonsense);
    expect(one.trust.isRecent('<script>')).toBe(false);
    await one.change('abc');
    expect(await versions()).toEqual([2, 2]);
  });
});

describe('a lost message', () => {
  let clock: ManualClock;
  let published: string[];
  let hear: (message: string) => void;
  let invalidation: Invalidation;
  beforeEach(() => {
    clock = new ManualClock();
    published = [];
    invalidation = new Invalidation({
      cache: {
        publish: async message => void published.push(message),
        onMessage: handler => {
          hear = handler;
        },
      },
      trust: { fence: async () => new Set<string>(), noteChange() {} } as never,
      freshness: new Freshness(clock),
      clock,
      forget: () => {},
      onAccountChange: () => {},
      onMissed: () => {},
      random: seededRandom(1),
    });
    invalidation.start();
  });
  const want = (numbers: string): string[] => {
    const [name] = published[0]!.split(' ');
    published.length = 1;
    hear(`peer 0 want ${name} ${numbers}`);
    return published.slice(1).map(message => message.split(' ')[1]!);
  };

  test('is repeated once a second at most, however many processes request it', async () => {
    await invalidation.announceAccount('key:one');
    await invalidation.announceAccount('key:two');
    expect(want('1,2')).toEqual(['1', '2']);
    expect([want('1,2'), want('2')]).toEqual([[], []]);
    await invalidation.announceAccount('key:three');
    expect(want('2,3')).toEqual(['3']);
    clock.advance(1_000);
    expect(want('1,2,3,4')).toEqual(['1', '2', '3']);
  });

  test('is kept for that in a bounded number of bytes; the oldest are dropped', async () => {
    const codes = Array.from({ length: 500 }, (_, n) => `${n}`.padStart(50, 'x'));
    for (let n = 0; n < 400; n += 1) await invalidation.announce(codes);
    const kept = want(Array.from({ length: 400 }, (_, n) => n + 1).join());
    expect(kept.length * codes.join().length).toBeLessThan(5_000_000);
    expect([kept.length > 100, kept.at(-1)]).toEqual([true, '400']);
  });
});

describe('a change that is reported twice', () => {
  let clock: ManualClock;
  let duplicates: ChangeDeduplicator;
  beforeEach(() => {
    clock = new ManualClock();
    duplicates = new ChangeDeduplicator(clock);
  });

  test('is recognised the second time, whichever source is first', () => {
    expect([duplicates.report('a', 'message'), duplicates.report('a', 'feed')]).toEqual([false, true]);
    expect([duplicates.report('a', 'feed'), duplicates.report('a', 'message')]).toEqual([false, true]);
  });

  test('does not match another change of the same link', () => {
    expect([
      duplicates.report('a', 'message'),
      duplicates.report('a', 'feed'),
      duplicates.report('a', 'feed'),
    ]).toEqual([false, true, false]);
  });

  test('counts as often as it is reported', () => {
    expect([duplicates.report('a', 'message'), duplicates.report('a', 'message')]).toEqual([false, false]);
    expect([
      duplicates.report('a', 'feed'),
      duplicates.report('a', 'feed'),
      duplicates.report('a', 'feed'),
    ]).toEqual([true, true, false]);
  });

  test('is no longer expected after a while', () => {
    duplicates.report('a', 'message');
    clock.advance(5_000);
    expect(duplicates.report('a', 'feed')).toBe(false);
  });

  test('is dropped when there are too many, the oldest first', () => {
    for (let n = 0; n <= 20_001; n += 1) duplicates.report(`code${n}`, 'message');
    expect([duplicates.report('code0', 'feed'), duplicates.report('code20001', 'feed')]).toEqual([
      false,
      true,
    ]);
  });
});
