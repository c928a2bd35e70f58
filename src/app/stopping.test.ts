import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { finishMaxMs, stopServer, takeAll } from './stopping.ts';

function serverEnding(ended: Promise<void>) {
  const calls: string[] = [];
  const drain = () => {
    calls.push('drain');
    return ended;
  };
  return { drain, cutOff: () => void calls.push('cut off'), calls };
}

describe('a server that stops', () => {
  test('is given the time to answer what it began', async () => {
    const server = serverEnding(Promise.resolve());
    await stopServer(server, new ManualClock());
    expect(server.calls).toEqual(['drain']);
  });

  test('cuts off what never ends, and does not wait for that either', async () => {
    const clock = new ManualClock();
    const server = serverEnding(new Promise(() => {}));
    const stopped = stopServer(server, clock);
    clock.advance(finishMaxMs - 1);
    await Bun.sleep(0);
    expect(server.calls).toEqual(['drain']);
    clock.advance(1);
    await stopped;
    expect(server.calls).toEqual(['drain', 'cut off']);
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
