import { beforeEach, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { QueueGate } from './queued-writes.ts';

let clock: ManualClock;
let behind: () => Promise<number>;
let events: string[];
let gate: QueueGate;

beforeEach(() => {
  clock = new ManualClock();
  behind = async () => 0;
  events = [];
  gate = new QueueGate({
    queue: { behind: () => behind() },
    clock,
    config: { queueMax: 100, drainPerS: 10 },
    onDown: () => events.push('down'),
    onReturn: () => events.push('back'),
  });
});

const append = (count: number) => gate.through(count, async () => true);
const fail = () =>
  gate.through(1, async () => {
    throw new Error('the broker is down');
  });
const refusalOf = async (attempt: Promise<unknown>): Promise<[string, string | undefined]> => {
  const error = await attempt.then(() => undefined).catch(reason => reason);
  if (!(error instanceof Problem)) throw new Error('it was not refused');
  return [error.code, error.headers['Retry-After']];
};

test('admits as many as may wait, and tells the others when to retry', async () => {
  await append(99);
  await append(1);
  expect(await refusalOf(append(1))).toEqual(['overloaded', '1']);
  expect(await refusalOf(append(101))).toEqual(['overloaded', '11']);
  expect(await refusalOf(append(100_000))).toEqual(['overloaded', '60']);
  expect(gate.refusedFull).toBe(3);
});

test('counts links appended by other processes, links stored, and its own appends during the query', async () => {
  await append(90);
  behind = async () => {
    await append(5);
    return 50;
  };
  await gate.ask();
  expect(gate.behind).toBe(55);
  behind = async () => 100;
  await gate.ask();
  expect(await refusalOf(append(1))).toEqual(['overloaded', '1']);
});

test('a rejected call does not start, and one that reports no append is not counted', async () => {
  await gate.through(100, async () => false);
  expect(gate.behind).toBe(0);
  await append(100);
  let isBegun = false;
  const refused = gate.through(1, async () => {
    isBegun = true;
    return true;
  });
  expect(await refusalOf(refused)).toEqual(['overloaded', '1']);
  expect(isBegun).toBe(false);
});

test('reports whether links that failed may be in the queue', async () => {
  const outcomeOf = (error: Error): Promise<unknown> =>
    gate.through(1, () => Promise.reject(error)).catch(problem => problem.outcome);
  expect(await outcomeOf(new Error('no answer'))).toBe('unknown');
  expect(await outcomeOf(new Error('it takes nothing now'))).toBe('none');
  await gate.ask();
  expect(await outcomeOf(Object.assign(new Error('not sent'), { outcome: 'none' }))).toBe('none');
});

test('after a failure no call waits for the queue until it has answered a later query', async () => {
  const early = Promise.withResolvers<number>();
  behind = () => early.promise;
  const asked = gate.ask();
  expect(await refusalOf(fail())).toEqual(['store_unavailable', '1']);
  expect(await refusalOf(append(1))).toEqual(['store_unavailable', '1']);
  early.resolve(0);
  await asked;
  expect(await refusalOf(append(1))).toEqual(['store_unavailable', '1']);
  behind = async () => {
    throw new Error('still down');
  };
  await gate.ask();
  expect(await refusalOf(append(1))).toEqual(['store_unavailable', '1']);
  behind = async () => 0;
  await gate.ask();
  await append(1);
  expect(events).toEqual(['down', 'back']);
  expect(gate.refusedWhileDown).toBe(3);
});

test('a queue that is too busy for a call is not down: the next call is admitted', async () => {
  const busy = new Problem('overloaded', { headers: { 'Retry-After': '1' } });
  expect(await refusalOf(gate.through(1, () => Promise.reject(busy)))).toEqual(['overloaded', '1']);
  await append(1);
  expect([gate.isDown, gate.behind, gate.refusedBusy, gate.refusedWhileDown]).toEqual([false, 1, 1, 0]);
  expect(events).toEqual([]);
});

test('queries the queue every second from its start to its stop', async () => {
  let asked = 0;
  behind = async () => {
    asked += 1;
    return asked;
  };
  gate.start();
  for (let second = 0; second < 3; second += 1) {
    await yieldToEventLoop();
    clock.advance(1_000);
  }
  await yieldToEventLoop();
  expect(asked).toBe(4);
  expect(gate.behind).toBe(4);
  gate.stop();
  clock.advance(10_000);
  expect(asked).toBe(4);
});

test('admits a bounded number of concurrent calls', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const waiting = Array.from({ length: 1_000 }, () => gate.through(0, () => promise));
  expect(await refusalOf(append(0))).toEqual(['overloaded', '1']);
  expect(gate.refusedBusy).toBe(1);
  resolve(true);
  await Promise.all(waiting);
  await append(0);
});
