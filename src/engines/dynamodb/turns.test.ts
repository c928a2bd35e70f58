import { expect, test } from 'bun:test';
import { Problem } from '../../base/errors.ts';
import { createTurns } from './turns.ts';

test('work of one name is done one after the other, in the order of asking, and other names do not wait', async () => {
  const turns = createTurns();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const work = (name: string, wait?: Promise<void>) => async () => {
    seen.push(`${name} begins`);
    await wait;
    seen.push(`${name} ends`);
  };
  const all = [
    turns.take('a', work('a1', first.promise)),
    turns.take('a', work('a2')),
    turns.take('b', work('b1')),
  ];
  await all[2];
  expect(seen).toEqual(['a1 begins', 'b1 begins', 'b1 ends']);
  first.resolve();
  await Promise.all(all);
  expect(seen.slice(3)).toEqual(['a1 ends', 'a2 begins', 'a2 ends']);
});

test('a failure is told to whoever asked and to nobody else', async () => {
  const turns = createTurns();
  const failing = turns.take('a', () => Promise.reject(new Error('mine')));
  const next = turns.take('a', async () => 'done');
  await expect(failing).rejects.toThrow('mine');
  expect(await next).toBe('done');
});

test('who waits behind a store that is away is told so without trying, and who comes later tries again', async () => {
  const turns = createTurns();
  let tried = 0;
  const away = async () => {
    tried += 1;
    throw new Problem('store_unavailable');
  };
  const waiting = Array.from({ length: 5 }, () => turns.take('a', away));
  const outcomes = await Promise.allSettled(waiting);
  expect(outcomes.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  expect(tried).toBe(1);
  expect(await turns.take('a', async () => 'back')).toBe('back');
});

test('the number of those who wait is bounded', async () => {
  const turns = createTurns();
  const first = Promise.withResolvers<void>();
  const waiting = Array.from({ length: 10_000 }, () => turns.take('a', () => first.promise));
  await expect(turns.take('b', async () => {})).rejects.toMatchObject({ code: 'overloaded' });
  first.resolve();
  await Promise.all(waiting);
  await turns.take('b', async () => {});
});
