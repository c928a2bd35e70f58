import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { QueueGate } from './queue-gate.ts';

let clock: ManualClock;
let behind: () => Promise<number>;
let told: string[];
let gate: QueueGate;

beforeEach(() => {
  clock = new ManualClock();
  behind = async () => 0;
  told = [];
  gate = new QueueGate({
    queue: { behind: () => behind() },
    clock,
    behindMax: 100,
    drainPerS: 10,
    onAway: () => told.push('away'),
    onReturn: () => told.push('back'),
  });
});

const append = (count: number) => gate.through(count, async () => true);
const fail = () =>
  gate.through(1, async () => {
    throw new Error('the broker is away');
  });
const refusalOf = async (attempt: Promise<unknown>): Promise<[string, string | undefined]> => {
  const error = await attempt.then(() => undefined).catch(reason => reason);
  if (!(error instanceof Problem)) throw new Error('it was not refused');
  return [error.code, error.headers['Retry-After']];
};

test('lets through as many as may wait, and says of the others when to come again', async () => {
  await append(99);
  await append(1);
  expect(await refusalOf(append(1))).toEqual(['overloaded', '1']);
  expect(await refusalOf(append(101))).toEqual(['overloaded', '11']);
  expect(await refusalOf(append(100_000))).toEqual(['overloaded', '60']);
  expect(gate.refusedFull).toBe(3);
});

test('counts what others have brought and what was stored, and what it brought itself while asking', async () => {
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

test('a refused call does not begin, and one that says it brought nothing counts for nothing', async () => {
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

test('after a failure nobody waits for the queue until it has answered a question that was asked later', async () => {
  const early = Promise.withResolvers<number>();
  behind = () => early.promise;
  const asked = gate.ask();
  expect(await refusalOf(fail())).toEqual(['store_unavailable', '1']);
  expect(await refusalOf(append(1))).toEqual(['store_unavailable', '1']);
  early.resolve(0);
  await asked;
  expect(await refusalOf(append(1))).toEqual(['store_unavailable', '1']);
  behind = async () => {
    throw new Error('still away');
  };
  await gate.ask();
  expect(await refusalOf(append(1))).toEqual(['store_unavailable', '1']);
  behind = async () => 0;
  await gate.ask();
  await append(1);
  expect(told).toEqual(['away', 'back']);
  expect(gate.refusedAway).toBe(3);
});

test('a queue that is too busy for a call is not away: the next call is let through', async () => {
  const busy = new Problem('overloaded', { headers: { 'Retry-After': '1' } });
  expect(await refusalOf(gate.through(1, () => Promise.reject(busy)))).toEqual(['overloaded', '1']);
  await append(1);
  expect([gate.isAway, gate.behind, gate.refusedBusy, gate.refusedAway]).toEqual([false, 1, 1, 0]);
  expect(told).toEqual([]);
});

test('asks every second from its start to its stop', async () => {
  let asked = 0;
  behind = async () => {
    asked += 1;
    return asked;
  };
  gate.start();
  for (let second = 0; second < 3; second += 1) {
    await Bun.sleep(0);
    clock.advance(1_000);
  }
  await Bun.sleep(0);
  expect(asked).toBe(4);
  expect(gate.behind).toBe(4);
  gate.stop();
  clock.advance(10_000);
  expect(asked).toBe(4);
});

test('holds a bounded number of calls', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const waiting = Array.from({ length: 1_000 }, () => gate.through(0, () => promise));
  expect(await refusalOf(append(0))).toEqual(['overloaded', '1']);
  expect(gate.refusedBusy).toBe(1);
  resolve(true);
  await Promise.all(waiting);
  await append(0);
});
