import { describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from './clock.ts';
import { SerialQueue } from './serial-queue.ts';

describe('serial work', () => {
  const problems: string[] = [];
  const work = new SerialQueue((what, error) => problems.push(`${what}: ${(error as Error).message}`));

  test('is done one after the other, also after a failure, which goes to its caller', async () => {
    const done: string[] = [];
    const first = work.do(async () => {
      await yieldToEventLoop();
      done.push('first');
      throw new Error('no');
    });
    const second = work.do(async () => done.push('second'));
    await expect(first).rejects.toThrow('no');
    await second;
    expect(done).toEqual(['first', 'second']);
  });

  test('without a caller that waits reports its failure', async () => {
    await work.inBackground('it failed', () => Promise.reject(new Error('why')));
    expect(problems).toEqual(['it failed: why']);
  });

  test('that repeats does not pile up while it is slow', async () => {
    const clock = new ManualClock();
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const stop = work.every(clock, 10, 'never', () => {
      begun += 1;
      return gate.promise;
    });
    clock.advance(50);
    await yieldToEventLoop();
    expect(begun).toBe(1);
    gate.resolve();
    await work.do(async () => {});
    clock.advance(10);
    await work.do(async () => {});
    expect(begun).toBe(2);
    stop();
    clock.advance(50);
    await work.do(async () => {});
    expect(begun).toBe(2);
  });
});
