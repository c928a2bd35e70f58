import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { forGood, forOthers, stopServer, takeAll } from './stopping.ts';

function serverEnding(ended: Promise<void>) {
  const calls: string[] = [];
  const drain = (idleGraceTicks: number) => {
    calls.push(`drain ${idleGraceTicks}`);
    return ended;
  };
  return { drain, cutOff: () => void calls.push('cut off'), calls };
}

describe('a server that stops', () => {
  test('is given the time to answer what it began', async () => {
    const server = serverEnding(Promise.resolve());
    await stopServer(server, new ManualClock(), forGood);
    expect(server.calls).toEqual(['drain 0']);
  });

  test.each([
    ['for good', forGood],
    ['for others', forOthers],
  ])('cuts off what never ends, and does not wait for that either (%s)', async (_, farewell) => {
    const clock = new ManualClock();
    const server = serverEnding(new Promise(() => {}));
    const stopped = stopServer(server, clock, farewell);
    clock.advance(farewell.finishMaxMs - 1);
    await Bun.sleep(0);
    expect(server.calls).toEqual([`drain ${farewell.idleGraceTicks}`]);
    clock.advance(1);
    await stopped;
    expect(server.calls).toEqual([`drain ${farewell.idleGraceTicks}`, 'cut off']);
  });

  test('hurries when it is told to while it takes its time', async () => {
    const clock = new ManualClock();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const server = { ...serverEnding(ended), cutOff: end };
    const leisurely = stopServer(server, clock, forOthers);
    const hurried = stopServer(server, clock, forGood);
    expect(server.calls).toEqual(['drain 2', 'drain 0']);
    clock.advance(forGood.finishMaxMs);
    await Promise.all([leisurely, hurried]);
  });
});

test('every part is ended, also after one that fails, and the failure is told', async () => {
  const ended: string[] = [];
  const steps = [
    () => ended.push('first'),
    () => Promise.reject(new Error('second')),
    async () => ended.push('third'),
    () => {
      throw new Error('fourth');
    },
    () => ended.push('fifth'),
  ];
  await expect(takeAll(steps)).rejects.toThrow('second');
  expect(ended).toEqual(['first', 'third', 'fifth']);
  await takeAll([]);
});
