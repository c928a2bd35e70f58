import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../../../base/clock.ts';
import { GatheredAppends } from './gathered-appends.ts';

let clock: ManualClock;
let writes: { readonly messages: readonly string[]; end(error?: Error): void }[];
let appends: GatheredAppends;

beforeEach(() => {
  clock = new ManualClock();
  writes = [];
  appends = new GatheredAppends({
    write(messages) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      writes.push({ messages, end: error => (error === undefined ? resolve() : reject(error)) });
      return promise;
    },
    clock,
    turnMaxMs: 1_000,
    charactersMax: 10,
  });
});

/** What became of a call so far. */
function watch(call: Promise<void>): { outcome: string } {
  const watched = { outcome: 'waiting' };
  call.then(
    () => (watched.outcome = 'done'),
    error => (watched.outcome = (error as Error).message),
  );
  return watched;
}

async function endLast(error?: Error): Promise<void> {
  writes.at(-1)!.end(error);
  await Bun.sleep(0);
}

test('what comes during a write goes into the next one together, and nobody hears of it before', async () => {
  const calls = [['a'], ['b'], ['c', 'd']].map(messages => watch(appends.append(messages)));
  expect(writes.map(({ messages }) => messages)).toEqual([['a']]);
  await endLast();
  expect(calls.map(({ outcome }) => outcome)).toEqual(['done', 'waiting', 'waiting']);
  expect(writes.map(({ messages }) => messages)).toEqual([['a'], ['b', 'c', 'd']]);
  await endLast();
  expect(calls.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done']);
  await appends.settled();
});

test('a large call is written in pieces, one after the other, and is done when all are', async () => {
  const call = watch(appends.append(['12345', '12345', '1', 'far-too-large']));
  expect(writes.map(({ messages }) => messages)).toEqual([['12345', '12345']]);
  await endLast();
  await endLast();
  expect(call.outcome).toBe('waiting');
  await endLast();
  expect(writes.map(({ messages }) => messages)).toEqual([['12345', '12345'], ['1'], ['far-too-large']]);
  expect(call.outcome).toBe('done');
});

test('a failure is told to all that were in the write, and the next one is tried', async () => {
  const first = watch(appends.append(['a']));
  const second = watch(appends.append(['b']));
  await endLast(new Error('away'));
  expect(first.outcome).toBe('away');
  await endLast();
  expect(second.outcome).toBe('done');
});

test('who waited too long for a turn is refused, and nothing of it is written', async () => {
  const first = watch(appends.append(['a']));
  const late = watch(appends.append(['late']));
  clock.advance(1_001);
  const next = watch(appends.append(['next']));
  await endLast(new Error('away'));
  expect([first.outcome, late.outcome]).toEqual(['away', 'the writes before it took too long']);
  expect(writes.at(-1)!.messages).toEqual(['next']);
  await endLast();
  expect(next.outcome).toBe('done');
});

test('nothing is nothing to write', async () => {
  await appends.append([]);
  expect(writes).toEqual([]);
});
