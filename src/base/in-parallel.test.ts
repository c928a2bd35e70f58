import { expect, test } from 'bun:test';
import { yieldToEventLoop } from './clock.ts';
import { inParallel } from './in-parallel.ts';

test('each item is done once, within the concurrency limit', async () => {
  const done: number[] = [];
  let underWay = 0;
  let most = 0;
  await inParallel(20, 3, async index => {
    underWay += 1;
    most = Math.max(most, underWay);
    await yieldToEventLoop();
    underWay -= 1;
    done.push(index);
  });
  expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(most).toBe(3);
  await inParallel(0, 3, async () => {
    throw new Error('there is nothing to do');
  });
});

test('after a failure nothing more starts, and running work ends before the failure is thrown', async () => {
  const begun: number[] = [];
  let ended = 0;
  const work = inParallel(10, 2, async index => {
    begun.push(index);
    if (index === 1) throw new Error('the second fails');
    await yieldToEventLoop();
    ended += 1;
  });
  await expect(work).rejects.toThrow('the second fails');
  expect(begun).toEqual([0, 1]);
  expect(ended).toBe(1);
});
