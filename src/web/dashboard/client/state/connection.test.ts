import { afterEach, expect, test } from 'bun:test';
import { yieldToEventLoop } from '../../../../base/clock.ts';
import { connection, createReader, noteDown, retryNow } from './connection.ts';

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

test('a user who presses again and again gets one check at a time, and its result stands', async () => {
  const asked: ((response: Response) => void)[] = [];
  globalThis.fetch = (() => new Promise<Response>(resolve => asked.push(resolve))) as unknown as typeof fetch;
  noteDown();
  retryNow();
  retryNow();
  expect(asked).toHaveLength(1);
  asked[0]!(new Response('ok'));
  await yieldToEventLoop();
  expect(connection.get()).toMatchObject({ isDown: false, returns: 1 });
});

test('answers slower than the reloads are all shown, one read at a time, and the last one is of the last reload', async () => {
  const asked: ((value: number) => void)[] = [];
  const shown: number[] = [];
  const reader = createReader(() => new Promise<number>(resolve => asked.push(resolve)), {
    onStart() {},
    onValue: value => shown.push(value),
    onProblem() {},
  });
  reader.start();
  for (const turn of [0, 1, 2]) {
    reader.reload();
    reader.reload();
    expect(asked).toHaveLength(turn + 1);
    asked[turn]!(turn);
    await yieldToEventLoop();
  }
  expect(shown).toEqual([0, 1, 2]);
  expect(asked).toHaveLength(4);
  reader.stop();
  asked[3]!(3);
  await yieldToEventLoop();
  expect(shown).toEqual([0, 1, 2]);
});
