import { beforeEach, expect, test } from 'bun:test';
import { BatchedReads } from './batched-reads.ts';
import { ManualClock, yieldToEventLoop } from './clock.ts';
import { Problem } from './errors.ts';

/** A call that waits for the test to say how it ends. */
interface Sent {
  readonly keys: readonly string[];
  readonly deadlineMs: number;
  readonly answer: () => void;
  readonly fail: (error: unknown) => void;
}

const callsMax = 4;
const keysMax = 250;

let clock: ManualClock;
let sent: Sent[];
let reads: BatchedReads<string>;

beforeEach(() => {
  clock = new ManualClock();
  sent = [];
  reads = new BatchedReads({
    clock,
    keysMax,
    deadlineMs: 1_000,
    read: (keys, deadlineMs) =>
      new Promise((resolve, fail) => {
        const there = keys.filter(key => !key.startsWith('absent'));
        const answer = () => resolve(new Map(there.map(key => [key, `value of ${key}`])));
        sent.push({ keys, deadlineMs, answer, fail });
      }),
  });
});

/** As many calls as may be in flight. */
async function busy(): Promise<Promise<unknown>[]> {
  const values: Promise<unknown>[] = [];
  for (let call = 0; call < callsMax; call += 1) {
    values.push(reads.get(`busy${call}`));
    await yieldToEventLoop();
    // Fewer keys than are worth a call of their own wait a moment for the one in flight.
    if (sent.length === call) clock.advance(2);
  }
  return values;
}

test('keys that are asked for together share a call, and a key is asked for once', async () => {
  const values = ['a', 'absent', 'a', 'b'].map(key => reads.get(key));
  expect(sent).toEqual([]);
  await yieldToEventLoop();
  expect(sent.map(({ keys }) => keys)).toEqual([['a', 'absent', 'b']]);
  sent[0]!.answer();
  expect(await Promise.all(values)).toEqual(['value of a', undefined, 'value of a', 'value of b']);
  expect(reads.calls).toBe(1);
});

test('those that come while as many calls as allowed are in flight share the next one', async () => {
  await busy();
  const waiting = ['a', 'b'].map(key => reads.get(key));
  await yieldToEventLoop();
  waiting.push(reads.get('c'));
  expect(sent).toHaveLength(callsMax);
  sent[0]!.answer();
  await yieldToEventLoop();
  expect(sent[4]?.keys).toEqual(['a', 'b', 'c']);
  sent[4]!.answer();
  expect(await Promise.all(waiting)).toEqual(['value of a', 'value of b', 'value of c']);
});

test('a key whose read is in flight is read again, because its answer may be older than the request', async () => {
  await busy();
  const again = reads.get('busy1');
  sent[0]!.answer();
  await yieldToEventLoop();
  expect(sent[4]?.keys).toEqual(['busy1']);
  sent[4]!.answer();
  expect(await again).toBe('value of busy1');
});

test('a problem of the engine fails the reads that share its call, and no others', async () => {
  const first = await busy();
  const shared = [reads.get('a'), reads.get('b')].map(read => read.catch(error => error.code));
  sent[0]!.answer();
  await yieldToEventLoop();
  sent[4]!.fail(new Problem('store_unavailable'));
  expect(await Promise.all(shared)).toEqual(['store_unavailable', 'store_unavailable']);
  expect(sent).toHaveLength(5);
  for (const { answer } of sent) answer();
  expect(await first[3]).toBe('value of busy3');
  const later = reads.get('a');
  await yieldToEventLoop();
  sent.at(-1)!.answer();
  expect(await later).toBe('value of a');
});

test('a failure that one key may have caused does not fail the others: each is read alone', async () => {
  const outcomes = ['a', 'bad', 'b'].map(key => reads.get(key).catch(error => error.message));
  await yieldToEventLoop();
  sent[0]!.fail(new Error('not understood'));
  await yieldToEventLoop();
  expect(sent.slice(1).map(({ keys }) => keys)).toEqual([['a'], ['bad'], ['b']]);
  sent[1]!.answer();
  sent[2]!.fail(new Error('not understood'));
  sent[3]!.answer();
  expect(await Promise.all(outcomes)).toEqual(['value of a', 'not understood', 'value of b']);
});

test('a bounded number waits and the others are rejected', async () => {
  await busy();
  const waiting = Array.from({ length: callsMax * keysMax }, (_, n) => reads.get(`key${n}`));
  const refused = await reads.get('one more').catch(error => error);
  expect(refused).toBeInstanceOf(Problem);
  expect(refused.code).toBe('overloaded');
  const known = reads.get('key7');
  for (const { answer } of sent) answer();
  await yieldToEventLoop();
  expect(sent.slice(4).map(({ keys }) => keys.length)).toEqual([keysMax, keysMax, keysMax, keysMax]);
  for (const { answer } of sent) answer();
  expect(await known).toBe('value of key7');
  expect(await Promise.all(waiting)).toHaveLength(1_000);
});

test('a read that has waited gets the rest of its time, and at least a quarter of it', async () => {
  await busy();
  void reads.get('a');
  clock.advance(400);
  sent[0]!.answer();
  await yieldToEventLoop();
  void reads.get('b');
  clock.advance(990);
  sent[1]!.answer();
  await yieldToEventLoop();
  expect(sent.map(({ deadlineMs }) => deadlineMs)).toEqual([1_000, 998, 998, 998, 600, 250]);
});
