import { beforeEach, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../../../base/clock.ts';
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

/** The outcome of a call so far. */
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
  await yieldToEventLoop();
}

test('appends during a write go into the next one together, and do not resolve before', async () => {
  const calls = [['a'], ['b'], ['c', 'd']].map(messages => watch(appends.append(messages)));
  expect(writes.map(({ messages }) => messages)).toEqual([['a']]);
  await endLast();
  expect(calls.map(({ outcome }) => outcome)).toEqual(['done', 'waiting', 'waiting']);
  expect(writes.map(({ messages }) => messages)).toEqual([['a'], ['b', 'c', 'd']]);
  await endLast();
  expect(calls.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done']);
  await appends.settled();
});

test('a large call is written in pieces, one after the other, and resolves when all are written', async () => {
  const call = watch(appends.append(['12345', '12345', '1', 'far-too-large']));
  expect(writes.map(({ messages }) => messages)).toEqual([['12345', '12345']]);
  await endLast();
  await endLast();
  expect(call.outcome).toBe('waiting');
  await endLast();
  expect(writes.map(({ messages }) => messages)).toEqual([['12345', '12345'], ['1'], ['far-too-large']]);
  expect(call.outcome).toBe('done');
});

test('a large call yields to calls that arrived during its last write, and its order is kept', async () => {
  const large = watch(appends.append(['large 1', 'large 2', 'large 3']));
  const small = watch(appends.append(['a']));
  await endLast();
  const other = watch(appends.append(['b']));
  expect(writes.at(-1)!.messages).toEqual(['a', 'large 2']);
  await endLast();
  expect([small.outcome, other.outcome, large.outcome]).toEqual(['done', 'waiting', 'waiting']);
  expect(writes.at(-1)!.messages).toEqual(['b', 'large 3']);
  await endLast();
  expect([other.outcome, large.outcome]).toEqual(['done', 'done']);
});

test('a large call completes however many others arrive, and is not rejected once it has begun', async () => {
  const large = watch(appends.append(['large 1', 'large 2', 'large 3']));
  for (let turn = 0; turn < 5; turn += 1) {
    if (turn % 2 === 1) clock.advance(1_001);
    watch(appends.append([`another ${turn}`]));
    await endLast();
  }
  expect(writes.slice(0, 5).map(({ messages }) => messages)).toEqual([
    ['large 1'],
    ['another 0'],
    ['large 2'],
    ['another 1'],
    ['large 3'],
  ]);
  expect(large.outcome).toBe('done');
});

test('a failure rejects the calls with a part in it, and no call that was written before', async () => {
  const first = watch(appends.append(['first']));
  const small = watch(appends.append(['a']));
  const large = watch(appends.append(['large 1', 'large 2', 'large 3']));
  const next = watch(appends.append(['bbb']));
  await endLast();
  await endLast();
  const later = watch(appends.append(['c']));
  await endLast(new Error('down'));
  await endLast();
  const outcomes = [first, small, large, next, later].map(({ outcome }) => outcome);
  expect(outcomes).toEqual(['done', 'done', 'down', 'down', 'done']);
  expect(writes.at(-1)!.messages).toEqual(['c']);
});

test('a failure rejects all calls in the write, and the next write is tried', async () => {
  const first = watch(appends.append(['a']));
  const second = watch(appends.append(['b']));
  await endLast(new Error('down'));
  expect(first.outcome).toBe('down');
  await endLast();
  expect(second.outcome).toBe('done');
});

test('a call that waited too long for a turn is rejected as busy, and nothing of it is written', async () => {
  watch(appends.append(['refused before']));
  await endLast(new Error('down'));
  const first = watch(appends.append(['a']));
  const late = appends.append(['late']);
  const refusal = late.catch((error: unknown) => error);
  clock.advance(1_001);
  const next = watch(appends.append(['next']));
  await endLast();
  expect(first.outcome).toBe('done');
  expect(await refusal).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '1' } });
  expect(writes.at(-1)!.messages).toEqual(['next']);
  await endLast();
  expect(next.outcome).toBe('done');
});

test('a failure rejects all calls that waited too long behind it, also partly written ones', async () => {
  const large = watch(appends.append(['large 1', 'large 2']));
  const other = watch(appends.append(['another 1']));
  await endLast();
  const late = watch(appends.append(['late']));
  clock.advance(1_001);
  await endLast(new Error('down'));
  expect([large, other, late].map(({ outcome }) => outcome)).toEqual(['down', 'down', 'down']);
  expect(writes.length).toBe(2);
});

test('a large call is retried after a failure of others when a part of it was written recently', async () => {
  const large = watch(appends.append(['large 1', 'large 2']));
  clock.advance(1_001);
  const other = watch(appends.append(['another 1']));
  await endLast();
  await endLast(new Error('down'));
  expect([large.outcome, other.outcome]).toEqual(['waiting', 'down']);
  await endLast();
  expect(large.outcome).toBe('done');
});

test('a failure reports that nothing was written only to a call of which nothing was', async () => {
  const outcomeOf = (call: Promise<void>): Promise<unknown> => call.catch(error => error.outcome);
  const large = outcomeOf(appends.append(['large 1', 'large 2']));
  await endLast();
  const small = outcomeOf(appends.append(['small']));
  const unsent = (): Error => Object.assign(new Error('down'), { outcome: 'none' });
  await endLast(unsent());
  expect(await large).toBeUndefined();
  clock.advance(1_001);
  await endLast(unsent());
  expect(await small).toBe('none');

  const first = outcomeOf(appends.append(['first']));
  const untried = outcomeOf(appends.append(['untried']));
  clock.advance(1_001);
  await endLast(new Error('no answer'));
  expect([await first, await untried]).toEqual([undefined, 'none']);
});

test('an empty append writes nothing', async () => {
  await appends.append([]);
  expect(writes).toEqual([]);
});
