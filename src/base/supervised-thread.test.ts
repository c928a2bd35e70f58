import { expect, test } from 'bun:test';
import { ManualClock } from './clock.ts';
import { lazyThread, SupervisedThread } from './supervised-thread.ts';

/** As much of a worker as is used here. */
class FakeThread {
  onmessage: ((event: { data: unknown }) => void) | undefined;
  onerror: ((event: { message: string }) => void) | undefined;
  readonly received: unknown[] = [];
  isTerminated = false;
  postMessage(message: unknown): void {
    this.received.push(message);
  }
  terminate(): void {
    this.isTerminated = true;
  }
}

function supervised() {
  const clock = new ManualClock();
  const threads: FakeThread[] = [];
  const failures: string[] = [];
  const messages: unknown[] = [];
  const thread = new SupervisedThread({
    start() {
      threads.push(new FakeThread());
      return threads.at(-1) as unknown as Worker;
    },
    onMessage: (data: unknown) => messages.push(data),
    onFailure: detail => failures.push(detail),
    restartPauseMs: 100,
    clock,
  });
  return { clock, threads, failures, messages, thread };
}

test('messages go both ways', () => {
  const { threads, messages, thread } = supervised();
  thread.postMessage('in');
  threads[0]!.onmessage!({ data: 'out' });
  expect([threads[0]!.received, messages]).toEqual([['in'], ['out']]);
});

test('one that fails is ended at once and started again after the pause', () => {
  const { clock, threads, failures, thread } = supervised();
  threads[0]!.onerror!({ message: 'broken' });
  expect([threads.length, threads[0]!.isTerminated, failures]).toEqual([1, true, ['broken']]);
  clock.advance(99);
  expect(threads.length).toBe(1);
  clock.advance(1);
  expect(threads.length).toBe(2);
  thread.postMessage('to the second');
  expect(threads[1]!.received).toEqual(['to the second']);
});

test('after it was stopped nothing is started again', () => {
  const { clock, threads, thread } = supervised();
  threads[0]!.onerror!({ message: 'broken' });
  thread.stop();
  clock.advance(1_000);
  expect(threads.length).toBe(1);
});

test('a lazy thread is started by the first call, and by the first after a failure', async () => {
  const threads: FakeThread[] = [];
  const failures: string[] = [];
  const lazy = lazyThread<{ add(one: number, other: number): number }>(
    'the adder',
    () => {
      threads.push(new FakeThread());
      return threads.at(-1) as unknown as Worker;
    },
    detail => failures.push(detail),
  );
  expect([threads.length, lazy.isRunning]).toEqual([0, false]);
  const lost = lazy.caller.call('add', 1, 2);
  threads[0]!.onerror!({ message: 'broken' });
  await expect(lost).rejects.toThrow('broken');
  expect([threads[0]!.isTerminated, lazy.isRunning, failures]).toEqual([true, false, ['broken']]);
  const sum = lazy.caller.call('add', 1, 2);
  threads[1]!.onmessage!({ data: { answer: 2, value: 3 } });
  expect(await sum).toBe(3);
  lazy.terminate();
  expect([threads[1]!.isTerminated, lazy.isRunning]).toEqual([true, false]);
});
