import { describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { closeAll, handover, stopServer, terminate } from './shutdown.ts';

function serverEnding(ended: Promise<void>) {
  const calls: string[] = [];
  const drain = (idleGraceTicks: number) => {
    calls.push(`drain ${idleGraceTicks}`);
    return ended;
  };
  return { drain, cutOff: () => void calls.push('cut off'), calls };
}

describe('a server that stops', () => {
  test('has time to finish the requests that it began', async () => {
    const server = serverEnding(Promise.resolve());
    await stopServer(server, new ManualClock(), terminate);
    expect(server.calls).toEqual(['drain 0']);
  });

  test.each([
    ['for good', terminate],
    ['for others', handover],
  ])('cuts off what never ends, and does not wait for that either (%s)', async (_, policy) => {
    const clock = new ManualClock();
    const server = serverEnding(new Promise(() => {}));
    const stopped = stopServer(server, clock, policy);
    clock.advance(policy.finishMaxMs - 1);
    await yieldToEventLoop();
    expect(server.calls).toEqual([`drain ${policy.idleGraceTicks}`]);
    clock.advance(1);
    await stopped;
    expect(server.calls).toEqual([`drain ${policy.idleGraceTicks}`, 'cut off']);
  });

  test('hurries when asked to during a graceful stop', async () => {
    const clock = new ManualClock();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const server = { ...serverEnding(ended), cutOff: end };
    const leisurely = stopServer(server, clock, handover);
    const hurried = stopServer(server, clock, terminate);
    expect(server.calls).toEqual(['drain 2', 'drain 0']);
    clock.advance(terminate.finishMaxMs);
    await Promise.all([leisurely, hurried]);
  });
});

test('every part is closed, also after one that fails, and the failure is reported', async () => {
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
  await expect(closeAll(steps)).rejects.toThrow('second');
  expect(ended).toEqual(['first', 'third', 'fifth']);
  await closeAll([]);
});
