import { expect, test } from 'bun:test';
import { Problem } from './errors.ts';
import { createKeyedSerialQueue } from './serial-queue.ts';

test('work of one name is done one after the other, in the order of asking, and other names do not wait', async () => {
  const turns = createKeyedSerialQueue();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const work = (name: string, wait?: Promise<void>) => async () => {
    seen.push(`${name} begins`);
    await wait;
    seen.push(`${name} ends`);
  };
  const all = [
    turns.run('a', work('a1', first.promise)),
    turns.run('a', work('a2')),
    turns.run('b', work('b1')),
  ];
  await all[2];
  expect(seen).toEqual(['a1 begins', 'b1 begins', 'b1 ends']);
  first.resolve();
  await Promise.all(all);
  expect(seen.slice(3)).toEqual(['a1 ends', 'a2 begins', 'a2 ends']);
});

test('a failure reaches its own caller and no other', async () => {
  const turns = createKeyedSerialQueue();
  const failing = turns.run('a', () => Promise.reject(new Error('mine')));
  const next = turns.run('a', async () => 'done');
  await expect(failing).rejects.toThrow('mine');
  expect(await next).toBe('done');
});

test('callers that wait behind a store that is down fail without trying, and later callers try again', async () => {
  const turns = createKeyedSerialQueue();
  let tried = 0;
  const failing = async () => {
    tried += 1;
    throw new Problem('store_unavailable');
  };
  const waiting = Array.from({ length: 5 }, () => turns.run('a', failing));
  const outcomes = await Promise.allSettled(waiting);
  expect(outcomes.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  expect(tried).toBe(1);
  // Only the one that tried may have done something.
  const doubts = outcomes.map(each => each.status === 'rejected' && each.reason.outcome);
  expect(doubts).toEqual(['unknown', ...Array(4).fill('none')]);
  expect(await turns.run('a', async () => 'back')).toBe('back');
});

test('the number of waiting callers is bounded', async () => {
  const turns = createKeyedSerialQueue();
  const first = Promise.withResolvers<void>();
  const waiting = Array.from({ length: 10_000 }, () => turns.run('a', () => first.promise));
  await expect(turns.run('b', async () => {})).rejects.toMatchObject({ code: 'overloaded' });
  first.resolve();
  await Promise.all(waiting);
  await turns.run('b', async () => {});
});
