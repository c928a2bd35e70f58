import { describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { seededRandom } from '../../base/random.ts';
import { type CallOptions, DynamoCalls } from './calls.ts';
import { DynamoError } from './failures.ts';

const answered = (name: string, status = 400): DynamoError =>
  new DynamoError(status, JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}` }));
const throttled = (): DynamoError => answered('ThrottlingException');

function callsWith(options: Partial<CallOptions> = {}) {
  const clock = new ManualClock();
  const calls = new DynamoCalls({ clock, random: seededRandom(1), ...options });
  /** Lets time pass in small steps, so that a chain of waits can unroll. */
  const pass = async (totalMs: number, stepMs = 10): Promise<void> => {
    for (let ms = 0; ms < totalMs; ms += stepMs) {
      clock.advance(stepMs);
      await yieldToEventLoop();
    }
  };
  return { clock, calls, pass };
}

/** What became of a call, without waiting for it. */
function watch<Value>(call: Promise<Value>) {
  const state: { value?: Value; error?: unknown } = {};
  call.then(
    value => {
      state.value = value;
    },
    error => {
      state.error = error;
    },
  );
  return state;
}

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
  });

describe('a failed write says whether it may have been done', () => {
  const failedWith = (name: string, more: object) => Object.assign(new Error(name), { name, ...more });
  const lost = failedWith('Error', { code: 'ECONNRESET' });
  const refused = failedWith('Error', { code: 'ConnectionRefused' });
  const denied = answered('AccessDeniedException', 400);

  test.each([
    ['a connection that broke', [lost], 'unknown'],
    ['a connection that nobody took', [refused], 'none'],
    ['a refusal', [denied], 'none'],
    ['throttling', [throttled()], 'none'],
    ['a stumble of the engine', [answered('InternalServerError', 500), denied], 'unknown'],
    ['an answer lost before a refusal', [lost, denied], 'unknown'],
    ['the same transaction under way', [answered('TransactionInProgressException', 400), denied], 'unknown'],
  ])('%s', async (_, errors, outcome) => {
    const { calls, pass } = callsWith();
    const left = [...errors];
    const call = watch(
      calls.run('write', async () => {
        throw left.length > 1 ? left.shift() : left[0];
      }),
    );
    await pass(6_000);
    expect(call.error).toMatchObject({ code: 'store_unavailable', outcome });
  });

  test('no answer by the deadline, but not of a read, nor of a call that waited for its turn', async () => {
    const { calls, pass } = callsWith({ underWayMax: 2 });
    const states = [calls.run('write', never), calls.run('read', never), calls.run('write', never)];
    const watched = [...states, calls.run('write', never)].map(watch);
    await pass(6_000);
    expect(watched.map(({ error }) => (error as Problem).outcome)).toEqual([
      'unknown',
      'none',
      'unknown',
      'none',
    ]);
  });
});

describe('a call', () => {
  test('that is throttled is repeated until it is answered', async () => {
    const { calls, pass } = callsWith();
    let attempts = 0;
    const call = watch(
      calls.run('read', async () => {
        attempts += 1;
        if (attempts < 5) throw throttled();
        return 'answer';
      }),
    );
    await pass(900);
    expect(call).toEqual({ value: 'answer' });
    expect(calls.retries).toBe(4);
  });

  test('that is never answered ends at its deadline, reads before writes', async () => {
    const { calls, pass } = callsWith();
    const read = watch(calls.run('read', never));
    const write = watch(calls.run('write', never));
    await pass(990);
    expect(read).toEqual({});
    await pass(20);
    expect(read.error).toMatchObject({ code: 'store_unavailable' });
    expect(write).toEqual({});
    await pass(4_000);
    expect(write.error).toMatchObject({ code: 'store_unavailable' });
  });

  test('about the table may take longer than one that a request waits for, and ends, too', async () => {
    const { calls, pass } = callsWith();
    const call = watch(calls.run('table', never));
    await pass(59_000, 1_000);
    expect(call).toEqual({});
    await pass(2_000, 1_000);
    expect(call.error).toMatchObject({ code: 'store_unavailable' });
  });

  test('that is throttled forever ends at its deadline', async () => {
    const { calls, pass } = callsWith();
    const call = watch(
      calls.run('write', async () => {
        throw throttled();
      }),
    );
    await pass(5_000);
    expect(call.error).toMatchObject({ code: 'store_unavailable' });
    // The waits are capped: without that there would be a handful of attempts, and without growing hundreds.
    expect(calls.retries).toBeGreaterThan(15);
    expect(calls.retries).toBeLessThan(60);
  });

  test('whose connection is lost is repeated a little and not to the end', async () => {
    const { calls, pass } = callsWith();
    let attempts = 0;
    const call = watch(
      calls.run('write', async () => {
        attempts += 1;
        throw new TypeError('connection refused');
      }),
    );
    await pass(300);
    expect(call.error).toMatchObject({ code: 'store_unavailable' });
    expect(attempts).toBe(3);
  });

  test('whose condition did not hold, or that was invalid, fails at once', async () => {
    const { calls } = callsWith();
    const refused = answered('ConditionalCheckFailedException');
    const wrong = answered('ValidationException');
    for (const error of [refused, wrong]) {
      const call = calls.run('write', async () => {
        throw error;
      });
      expect(await call.catch((thrown: unknown) => thrown)).toBe(error);
    }
    expect(calls.retries).toBe(0);
  });
});

describe('when more calls are made than may be in flight', () => {
  test('calls wait for a place, in the order they came', async () => {
    const { calls } = callsWith({ underWayMax: 2 });
    const running: (() => void)[] = [];
    let begun = 0;
    const run = () =>
      calls.run('read', () => {
        begun += 1;
        return new Promise<void>(resolve => running.push(resolve));
      });
    const all = [run(), run(), run(), run()];
    await yieldToEventLoop();
    expect(begun).toBe(2);
    running.shift()?.();
    await yieldToEventLoop();
    expect(begun).toBe(3);
    while (running.length > 0) {
      running.shift()?.();
      await yieldToEventLoop();
    }
    await Promise.all(all);
    expect(begun).toBe(4);
  });

  test('a call that waited to its deadline gives up, and its place in the line is free', async () => {
    const { calls, pass } = callsWith({ underWayMax: 1, waitingMax: 1 });
    const first = watch(calls.run('write', never));
    const second = watch(calls.run('read', async () => 'answer'));
    await pass(1_010);
    expect(second.error).toMatchObject({ code: 'store_unavailable' });
    const third = watch(calls.run('write', async () => 'answer'));
    await pass(4_000);
    expect(first.error).toBeInstanceOf(Problem);
    expect(third).toEqual({ value: 'answer' });
  });

  test('a call too many is refused instead of waiting', async () => {
    const { calls, pass } = callsWith({ underWayMax: 1, waitingMax: 1 });
    watch(calls.run('write', never));
    watch(calls.run('write', never));
    const refused = watch(calls.run('write', async () => 'answer'));
    await pass(10);
    expect(refused.error).toMatchObject({ code: 'overloaded' });
  });
});
