import { expect, test } from 'bun:test';
import { ManualClock } from '../../../base/clock.ts';
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { Generations } from './generations.ts';

/** A server that answers on command, with the given answer. */
function open() {
  const waiting: ((generation: number | Error) => void)[] = [];
  const clickHouse = {
    rows: () =>
      new Promise((resolve, reject) => {
        waiting.push(generation =>
          generation instanceof Error ? reject(generation) : resolve([{ generation }]),
        );
      }),
  } as unknown as ClickHouse;
  const clock = new ManualClock(0);
  const generations = new Generations(clickHouse, clock, async () => {});
  const settled = () => new Promise(resolve => setImmediate(resolve));
  return {
    generations,
    clock,
    asked: () => waiting.length,
    async answer(generation: number | Error) {
      waiting.shift()!(generation);
      await settled();
    },
  };
}

test('callers that come together ask once which tables are active', async () => {
  const { generations, asked, answer } = open();
  const found = [1, 2, 3, 4, 5].map(() => generations.current());
  expect(asked()).toBe(1);
  await answer(7);
  expect(await Promise.all(found)).toEqual([7, 7, 7, 7, 7]);
});

test('the known answer is used while it is being refreshed, and no caller sees a failure of the refresh', async () => {
  const { generations, clock, asked, answer } = open();
  generations.note(1);
  clock.advance(1_500);
  expect(await Promise.all([generations.current(), generations.current()])).toEqual([1, 1]);
  expect(asked()).toBe(1);
  await answer(new Error('down'));
  expect(await generations.current()).toBe(1);
  expect(asked()).toBe(1);
  await answer(2);
  expect(await generations.current()).toBe(2);
});

test('a failure reaches all callers that wait for the answer, and the next caller asks again', async () => {
  const { generations, asked, answer } = open();
  const both = Promise.allSettled([generations.current(), generations.current()]);
  await answer(new Error('down'));
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = generations.current();
  expect(asked()).toBe(1);
  await answer(3);
  expect(await next).toBe(3);
});

test('a caller that wants the current state does not get the answer to an earlier question', async () => {
  const { generations, asked, answer } = open();
  const before = generations.current();
  const now = generations.refreshed();
  expect(asked()).toBe(2);
  await answer(1);
  expect(await before).toBe(1);
  await answer(2);
  expect(await now).toBe(2);
  expect(await generations.current()).toBe(2);
});
