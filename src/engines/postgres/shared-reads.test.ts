import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { SharedReads } from './shared-reads.ts';

/** A statement that waits for the test to say how it ends. */
interface Sent {
  readonly keys: readonly string[];
  readonly deadlineMs: number;
  readonly answer: () => void;
  readonly fail: (error: unknown) => void;
}

const statementsMax = 4;

let clock: ManualClock;
let sent: Sent[];
let reads: SharedReads<string>;

beforeEach(() => {
  clock = new ManualClock();
  sent = [];
  reads = new SharedReads({
    clock,
    read: (keys, deadlineMs) =>
      new Promise((resolve, fail) => {
        const there = keys.filter(key => !key.startsWith('absent'));
        const answer = () => resolve(new Map(there.map(key => [key, `value of ${key}`])));
        sent.push({ keys, deadlineMs, answer, fail });
      }),
  });
});

const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
const busy = (): Promise<unknown>[] => Array.from({ length: statementsMax }, (_, n) => reads.get(`busy${n}`));

test('no read waits to be batched: the first few go at once, each alone', async () => {
  const values = busy();
  expect(sent.map(({ keys }) => keys)).toEqual([['busy0'], ['busy1'], ['busy2'], ['busy3']]);
  for (const { answer } of sent) answer();
  expect(await values[2]).toBe('value of busy2');
});

test('those that come meanwhile share the next statement, and a key is asked for once', async () => {
  busy();
  const waiting = ['a', 'absent', 'a', 'b'].map(key => reads.get(key));
  sent[0]!.answer();
  await settle();
  expect(sent[4]?.keys).toEqual(['a', 'absent', 'b']);
  sent[4]!.answer();
  expect(await Promise.all(waiting)).toEqual(['value of a', undefined, 'value of a', 'value of b']);
  expect(reads.statements).toBe(5);
});

test('a key that is under way is asked for again, because its answer may be older than the question', async () => {
  busy();
  const again = reads.get('busy1');
  sent[0]!.answer();
  await settle();
  expect(sent[4]?.keys).toEqual(['busy1']);
  sent[4]!.answer();
  expect(await again).toBe('value of busy1');
});

test('a statement that fails fails the reads that share it, and no others', async () => {
  const first = busy();
  const shared = [reads.get('a'), reads.get('b')].map(read => read.catch(error => error.message));
  sent[0]!.answer();
  await settle();
  sent[4]!.fail(new Error('down'));
  expect(await Promise.all(shared)).toEqual(['down', 'down']);
  for (const { answer } of sent) answer();
  expect(await first[3]).toBe('value of busy3');
  const later = reads.get('a');
  sent.at(-1)!.answer();
  expect(await later).toBe('value of a');
});

test('a bounded number waits and the others are refused', async () => {
  busy();
  const waiting = Array.from({ length: 1_000 }, (_, n) => reads.get(`key${n}`));
  const refused = await reads.get('one more').catch(error => error);
  expect(refused).toBeInstanceOf(Problem);
  expect(refused.code).toBe('overloaded');
  const known = reads.get('key7');
  for (const { answer } of sent) answer();
  await settle();
  expect(sent.slice(4).map(({ keys }) => keys.length)).toEqual([250, 250, 250, 250]);
  for (const { answer } of sent) answer();
  expect(await known).toBe('value of key7');
  expect(await Promise.all(waiting)).toHaveLength(1_000);
});

test('a read that has waited gets the rest of its time, and at least a quarter of a second', async () => {
  busy();
  void reads.get('a');
  clock.advance(400);
  sent[0]!.answer();
  await settle();
  void reads.get('b');
  clock.advance(990);
  sent[1]!.answer();
  await settle();
  expect(sent.map(({ deadlineMs }) => deadlineMs)).toEqual([1_000, 1_000, 1_000, 1_000, 600, 250]);
});
