import { beforeEach, describe, expect, test } from 'bun:test';
import { type FakeProcess, settle, World } from './fake-processes.ts';

describe('invalidation', () => {
  let world: World;
  let one: FakeProcess;
  let other: FakeProcess;

  beforeEach(async () => {
    world = new World();
    await world.create('abc');
    one = await world.start();
    other = await world.start();
    // Long enough for the memory of both to reach back further than a mark.
    await world.pass(12_000);
  });
  const versions = async (): Promise<number[]> => [await one.visit('abc'), await other.visit('abc')];

  test('a change is over everywhere when its caller hears of it', async () => {
    expect(await versions()).toEqual([1, 1]);
    await one.change('abc');
    expect(await versions()).toEqual([2, 2]);
    expect(one.invalidation).toMatchObject({ messagesSent: 1, messagesHeard: 0 });
    expect(other.invalidation).toMatchObject({ messagesSent: 0, messagesHeard: 1 });
  });

  test('a new alias is there at once for those who were told that there is nothing', async () => {
    expect([await one.visit('new'), await other.visit('new')]).toEqual([0, 0]);
    await world.create('new');
    await one.invalidation.announce(['new']);
    expect([await one.visit('new'), await other.visit('new')]).toEqual([1, 1]);
  });

  test('what a message told of is not fenced again when the feed tells of it', async () => {
    await one.change('abc');
    const fences = one.cache.fences + other.cache.fences;
    await world.pass(1_000);
    expect(one.cache.fences + other.cache.fences).toBe(fences);
    expect([one.invalidation.heardByFeedAlone, other.invalidation.heardByFeedAlone]).toEqual([0, 0]);
  });

  test('a feed that is quicker than the message does no harm', async () => {
    await versions();
    await world.change('abc');
    await other.poll();
    await one.invalidation.announce(['abc']);
    await world.change('abc');
    await other.poll();
    await one.invalidation.announce(['abc']);
    await settle();
    expect(await versions()).toEqual([3, 3]);
    expect(other.invalidation.heardByFeedAlone).toBe(2);
  });

  test('a change whose messages are lost is over at the next poll', async () => {
    await versions();
    other.cache.isDeaf = true;
    await one.change('abc');
    await world.pass(1_000);
    expect(await versions()).toEqual([2, 2]);
  });

  test('a change whose maker died before it could tell is fenced by whoever hears of it', async () => {
    await versions();
    await world.change('abc');
    one.die();
    await world.pass(1_000);
    expect(await other.visit('abc')).toBe(2);
    expect(other.invalidation.heardByFeedAlone).toBe(1);
    await world.pass(20_000);
    expect(await (await world.start()).visit('abc')).toBe(2);
  });

  test('a change that could not be fenced is left to the feed, also when its message arrives', async () => {
    await versions();
    one.cache.lost.add('abc');
    await one.change('abc');
    expect(one.trust.owed).toBe(1);
    expect(other.invalidation.messagesHeard).toBe(1);
    expect(await versions()).toEqual([2, 2]);
    one.die();
    await world.pass(1_000);
    expect(other.invalidation.heardByFeedAlone).toBe(1);
    await world.pass(20_000);
    expect(await (await world.start()).visit('abc')).toBe(2);
  });

  test('a cache that is away neither fails nor delays the change', async () => {
    await versions();
    one.cache.isAway = true;
    expect(await one.change('abc')).toBe(2);
    expect(one.invalidation).toMatchObject({ messagesSent: 0, messagesFailed: 1 });
    expect(await one.visit('abc')).toBe(2);
  });

  test('many codes are told in several messages', async () => {
    const codes = Array.from({ length: 1_201 }, (_, n) => `code${n}`);
    await one.invalidation.announce(codes);
    expect(other.invalidation.messagesHeard).toBe(3);
    expect([other.trust.isRecent('code0'), other.trust.isRecent('code1200')]).toEqual([true, true]);
  });

  test('what is not a message of ours is ignored', async () => {
    for (const nonsense of ['', 'x', 'x <script> %%', 'a b c d e', ' , ,,'])
      await one.cache.publish(nonsense);
    expect(one.trust.isRecent('<script>')).toBe(false);
    await one.change('abc');
    expect(await versions()).toEqual([2, 2]);
  });
});
