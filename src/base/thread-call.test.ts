import { describe, expect, test } from 'bun:test';
import { getPriority } from 'node:os';
import { Problem } from './errors.ts';
import { answerCall, ThreadCaller } from './thread-call.ts';

/** Both ends in one thread; messages are copied, as between threads. */
function connect() {
  const functions = {
    add: (a: number, b: number): number => a + b,
    fail: async (): Promise<void> => {
      throw new Error('broken');
    },
    refuse: async (): Promise<void> => {
      throw new Problem('stats_unavailable', { detail: 'Not today.', headers: { 'Retry-After': '5' } });
    },
    never: (): Promise<void> => new Promise(() => {}),
  };
  const caller: ThreadCaller<typeof functions> = new ThreadCaller({
    postMessage: message =>
      void answerCall(structuredClone(message), functions, {
        postMessage: answer => caller.take(structuredClone(answer)),
      }),
  });
  return caller;
}

describe('calls between threads', () => {
  test('return what the function returns, each to its own caller', async () => {
    const caller = connect();
    expect(await Promise.all([caller.call('add', 1, 2), caller.call('add', 3, 4)])).toEqual([3, 7]);
  });

  test('throw what the function throws', async () => {
    await expect(connect().call('fail')).rejects.toThrow('broken');
  });

  test('pass on a Problem with everything that the client sees', async () => {
    const refusal = await connect()
      .call('refuse')
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Problem);
    expect(refusal).toMatchObject({
      code: 'stats_unavailable',
      status: 503,
      detail: 'Not today.',
      headers: { 'Retry-After': '5' },
    });
  });

  test('are rejected when the thread has ended', async () => {
    const caller = connect();
    const call = caller.call('never');
    caller.abandon('the thread ended');
    await expect(call).rejects.toThrow('the thread ended');
  });

  test('leave other messages alone', () => {
    expect(connect().take({ kind: 'other' })).toBe(false);
    expect(connect().take(undefined)).toBe(false);
    expect(answerCall({ kind: 'other' }, {}, { postMessage: () => {} })).toBe(false);
  });
});

// Elsewhere a thread has no priority of its own.
test.if(process.platform === 'linux')('only the thread that lowers its priority is affected', async () => {
  const source = `
    import { getPriority } from 'node:os';
    import { giveWay } from '${import.meta.dir}/thread-call.ts';
    giveWay();
    self.postMessage(getPriority());
  `;
  const before = getPriority();
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'application/typescript' })));
  const priority = await new Promise(resolve => {
    worker.onmessage = ({ data }) => resolve(data);
  });
  worker.terminate();
  expect(priority).toBe(5);
  expect(getPriority()).toBe(before);
});
