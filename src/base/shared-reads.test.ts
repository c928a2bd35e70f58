import { beforeEach, describe, expect, test } from 'bun:test';
import { yieldToEventLoop } from './clock.ts';
import { SharedReads } from './shared-reads.ts';

describe('shared reads', () => {
  let begun: { key: string; read: PromiseWithResolvers<string> }[];
  let reads: SharedReads<string>;
  beforeEach(() => {
    begun = [];
    reads = new SharedReads(key => {
      const read = Promise.withResolvers<string>();
      begun.push({ key, read });
      return read.promise;
    });
  });
  const keys = (): string[] => begun.map(({ key }) => key);

  test('of one turn are one, which begins after the last caller has asked', async () => {
    const crowd = [reads.read('a')];
    await Promise.resolve();
    for (let caller = 0; caller < 100; caller += 1) crowd.push(reads.read('a'));
    expect(keys()).toEqual([]);
    await yieldToEventLoop();
    expect(keys()).toEqual(['a']);
    begun[0]!.read.resolve('now');
    expect(new Set(await Promise.all(crowd))).toEqual(new Set(['now']));
  });

  test('of many callers are two: the one in flight, and one for all callers that came meanwhile', async () => {
    const first = reads.read('a');
    await yieldToEventLoop();
    const crowd = Array.from({ length: 100 }, () => reads.read('a'));
    await yieldToEventLoop();
    expect(keys()).toEqual(['a']);
    begun[0]!.read.resolve('old');
    expect(await first).toBe('old');
    expect(keys()).toEqual(['a', 'a']);
    begun[1]!.read.resolve('new');
    expect(new Set(await Promise.all(crowd))).toEqual(new Set(['new']));
  });

  test('cache nothing', async () => {
    for (const value of ['one', 'two']) {
      const read = reads.read('a');
      await yieldToEventLoop();
      begun.at(-1)!.read.resolve(value);
      expect(await read).toBe(value);
    }
    expect(keys()).toEqual(['a', 'a']);
  });

  test('of different things do not wait for each other', async () => {
    const [a, b] = [reads.read('a'), reads.read('b')];
    await yieldToEventLoop();
    expect(keys()).toEqual(['a', 'b']);
    begun[1]!.read.resolve('of b');
    expect(await b).toBe('of b');
    begun[0]!.read.resolve('of a');
    expect(await a).toBe('of a');
  });

  test('that fail reject the waiting callers, and no later ones', async () => {
    const failures = [reads.read('a')];
    await yieldToEventLoop();
    failures.push(reads.read('a'));
    const messages = failures.map(read => read.catch((error: Error) => error.message));
    begun[0]!.read.reject(new Error('down'));
    expect(await Promise.all(messages)).toEqual(['down', 'down']);
    expect(keys()).toEqual(['a']);
    const again = reads.read('a');
    await yieldToEventLoop();
    begun[1]!.read.resolve('back');
    expect(await again).toBe('back');
  });
});
