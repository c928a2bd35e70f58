/** The guarantees of the simulator itself: dead code stays dead, a cancelled timer never fires, clocks are right. */
import { describe, expect, test } from 'bun:test';
import { Kernel, Party } from './kernel.ts';
import { Network } from './network.ts';
import { holdPlatform } from './platform.ts';
import { SimRedis } from './redis.ts';

const options = { timeoutMs: 5_000, failure: () => new Error('no answer') };

function openWorld() {
  const kernel = new Kernel(1);
  const network = new Network(kernel);
  const client = new Party(kernel, 'client');
  const server = new Party(kernel, 'server');
  const runFor = (ms: number): Promise<void> => kernel.runUntil(kernel.nowMs + ms);
  const restart = (): void => {
    client.crash();
    client.recover();
  };
  return { kernel, network, client, server, runFor, restart };
}

describe('after a restart', () => {
  test('the answer to a call of the former life never arrives', async () => {
    const { network, client, server, runFor, restart } = openWorld();
    const seen: string[] = [];
    const note = (what: string) => () => void seen.push(what);
    client.after(0, () => {
      network.call(client, server, () => undefined, options).then(note('answer'), note('failure'));
    });
    server.pause();
    await runFor(1_000);
    restart();
    server.resume();
    await runFor(10_000);
    expect(seen).toEqual([]);
  });

  test('messages do not reach listeners of the former life', async () => {
    const { kernel, network, client, server, runFor, restart } = openWorld();
    const redis = new SimRedis(kernel, network);
    const seen: string[] = [];
    client.after(0, () => redis.openFor(client).subscribe('channel', message => void seen.push(message)));
    await runFor(1_000);
    const publish = (message: string) =>
      server.after(0, () => void redis.openFor(server).publish('channel', message));
    publish('to the first');
    await runFor(1_000);
    restart();
    publish('to the second');
    await runFor(1_000);
    expect(seen).toEqual(['to the first']);
  });

  test('the rest of the step in which a process died has no effect', async () => {
    const { network, client, server, runFor, restart } = openWorld();
    const seen: string[] = [];
    client.after(0, () => {
      restart();
      client.after(1, () => void seen.push('timer'));
      void network.call(client, server, () => void seen.push('call'), options);
    });
    await runFor(1_000);
    expect(seen).toEqual([]);
  });
});

test('a timer that is cancelled after a pause does not fire', async () => {
  const { client, runFor } = openWorld();
  const seen: string[] = [];
  const cancel: (() => void)[] = [];
  client.after(5, () => cancel[0]!());
  cancel.push(client.after(10, () => void seen.push('fired')));
  client.pause();
  await runFor(100);
  client.resume();
  await runFor(100);
  expect(seen).toEqual([]);
});

test('a clock that drifts gains time steadily, and shows it on the wall', async () => {
  const { kernel, client, runFor } = openWorld();
  const clock = client.clock();
  await runFor(100_000);
  client.rate = 1.01;
  expect(clock.monotonicMs()).toBe(100_000);
  await runFor(10_000);
  expect(clock.monotonicMs()).toBeCloseTo(110_100, 3);
  expect(client.skewMs).toBeCloseTo(100, 3);
  client.rate = 1;
  expect(clock.monotonicMs()).toBeCloseTo(110_100, 3);
  client.skewMs = 0;
  expect(clock.now()).toBe(kernel.nowMs);
  expect(clock.monotonicMs()).toBeCloseTo(110_100, 3);
  const [smallest, largest] = client.skewBetween(kernel.startMs, kernel.nowMs);
  expect(smallest).toBe(0);
  expect(largest).toBeCloseTo(100, 3);
});

test("the platform's timers can be cleared", async () => {
  const { kernel, client, runFor } = openWorld();
  const release = holdPlatform(kernel);
  const seen: string[] = [];
  try {
    const { setTimeout: startTimeout } = globalThis;
    client.after(0, () => {
      clearTimeout(startTimeout(() => void seen.push('timeout'), 10));
      clearInterval(setInterval(() => void seen.push('interval'), 10));
      clearImmediate(setImmediate(() => void seen.push('immediate')));
    });
    await runFor(100);
  } finally {
    release();
  }
  expect(seen).toEqual([]);
});
