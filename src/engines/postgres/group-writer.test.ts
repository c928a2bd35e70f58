import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { GroupWriter } from './group-writer.ts';

/** A transaction that waits for the test to say how it ends. */
interface Sent {
  readonly items: readonly string[];
  readonly deadlineMs: number;
  readonly commit: () => void;
  readonly fail: (error: unknown) => void;
}

let clock: ManualClock;
let sent: Sent[];
let writer: GroupWriter<string, string>;

const startWriter = (transactionsMax: number): GroupWriter<string, string> =>
  new GroupWriter({
    clock,
    transactionsMax,
    write: (items, deadlineMs) =>
      new Promise((resolve, fail) => {
        sent.push({ items, deadlineMs, commit: () => resolve(items.map(item => `${item}!`)), fail });
      }),
  });

beforeEach(() => {
  clock = new ManualClock();
  sent = [];
  writer = startWriter(1);
});

const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no failure',
    error => (error instanceof Problem ? error.code : (error as Error).message),
  );
const unavailable = new Problem('store_unavailable');

test('calls that come while a transaction is under way share the next one, and each gets its own outcomes', async () => {
  const first = writer.write(['a']);
  const second = writer.write(['b', 'c']);
  const third = writer.write(['d']);
  expect(sent.map(({ items }) => items)).toEqual([['a']]);
  sent[0]!.commit();
  expect(await first).toEqual(['a!']);
  await settle();
  expect(sent[1]?.items).toEqual(['b', 'c', 'd']);
  sent[1]!.commit();
  expect([await second, await third]).toEqual([['b!', 'c!'], ['d!']]);
  expect(writer.transactions).toBe(2);
});

test('so many transactions are under way at once as were asked for', async () => {
  writer = startWriter(2);
  const calls = ['a', 'b', 'c', 'd'].map(item => writer.write([item]));
  expect(sent.map(({ items }) => items)).toEqual([['a'], ['b']]);
  sent[1]!.commit();
  await settle();
  expect(sent[2]?.items).toEqual(['c', 'd']);
  for (const { commit } of sent) commit();
  expect(await Promise.all(calls)).toEqual([['a!'], ['b!'], ['c!'], ['d!']]);
});

test('one transaction stays small, unless one call alone is large', async () => {
  const items = (count: number): string[] => Array.from({ length: count }, () => 'x');
  const calls = [items(1), items(3_000), items(3_000), items(10_000), items(1)].map(call =>
    writer.write(call),
  );
  for (let index = 0; index < 5; index += 1) {
    sent[index]?.commit();
    await settle();
  }
  expect(sent.map(({ items }) => items.length)).toEqual([1, 3_000, 3_000, 10_000, 1]);
  await Promise.all(calls);
});

describe('a transaction that fails', () => {
  test('because the server is down fails all of its calls, and the next one is tried', async () => {
    const first = codeOf(writer.write(['a']));
    const shared = [writer.write(['b']), writer.write(['c'])].map(codeOf);
    sent[0]!.commit();
    await settle();
    const later = codeOf(writer.write(['d']));
    sent[1]!.fail(unavailable);
    expect(await Promise.all(shared)).toEqual(['store_unavailable', 'store_unavailable']);
    await settle();
    sent[2]!.commit();
    expect([await first, await later]).toEqual(['no failure', 'no failure']);
    expect(sent).toHaveLength(3);
  });

  test('because of an item is retried call by call, and only the call at fault gets the error', async () => {
    const first = writer.write(['a']);
    const calls = [writer.write(['good']), writer.write(['bad']), writer.write(['fine'])].map(codeOf);
    sent[0]!.commit();
    await first;
    await settle();
    sent[1]!.fail(new Error('broken item'));
    for (const number of [2, 3, 4]) {
      await settle();
      if (sent[number]!.items[0] === 'bad') sent[number]!.fail(new Error('broken item'));
      else sent[number]!.commit();
    }
    expect(await Promise.all(calls)).toEqual(['no failure', 'broken item', 'no failure']);
    expect(sent.slice(2).map(({ items }) => items)).toEqual([['good'], ['bad'], ['fine']]);
  });
});

describe('the queue', () => {
  const many = (count: number): string[] => Array.from({ length: count }, () => 'x');

  test('is bounded: beyond it a call is refused as overloaded, and taken again afterwards', async () => {
    const first = writer.write(many(150_000));
    expect(await codeOf(writer.write(many(50_001)))).toBe('overloaded');
    const fits = writer.write(many(50_000));
    sent[0]!.commit();
    await first;
    await settle();
    const again = writer.write(many(150_000));
    sent[1]!.commit();
    await fits;
    await settle();
    sent[2]!.commit();
    expect(await again).toHaveLength(150_000);
  });

  test('holds no call for longer than a write may take', async () => {
    void writer.write(['stuck']);
    const waiting = writer.write(['waiting']).catch(({ code, outcome }: Problem) => `${code} ${outcome}`);
    clock.advance(5_000);
    expect(await waiting).toBe('store_unavailable none');
    sent[0]!.commit();
    await settle();
    expect(sent).toHaveLength(1);
  });

  test('shortens the time of a transaction by what its first call has waited, down to a second', async () => {
    void writer.write(['a']);
    void writer.write(['b']);
    clock.advance(1_500);
    sent[0]!.commit();
    await settle();
    void writer.write(['c']);
    clock.advance(4_900);
    sent[1]!.commit();
    await settle();
    expect(sent.map(({ deadlineMs }) => deadlineMs)).toEqual([5_000, 3_500, 1_000]);
  });
});

test('closing waits for what was accepted and refuses what comes after', async () => {
  const calls = [writer.write(['a']), writer.write(['b'])];
  let isClosed = false;
  const closing = writer.close().then(() => (isClosed = true));
  expect(await codeOf(writer.write(['late']))).toBe('store_unavailable');
  sent[0]!.commit();
  await settle();
  expect(isClosed).toBe(false);
  sent[1]!.commit();
  await closing;
  expect(await Promise.all(calls)).toEqual([['a!'], ['b!']]);
});
