import { expect, test } from 'bun:test';
import { type Clock, ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import { createLog } from '../ops/log.ts';
import { awaitStore } from './await-store.ts';

/** Whoever sleeps on it has slept at once. */
class HastyClock extends ManualClock implements Clock {
  override after(delayMs: number, task: () => void): () => void {
    queueMicrotask(() => {
      this.advance(delayMs);
      task();
    });
    return () => {};
  }
}

const away = (): Problem =>
  new Problem('store_unavailable', { cause: new Error('', { cause: new Error('connection refused') }) });

function waiting(clock = new HastyClock()) {
  return { name: 'Postgres at db.example/terse', clock, random: seededRandom(1) };
}

test('a store that comes up a little later is used', async () => {
  let attempts = 0;
  const open = async (): Promise<string> => {
    attempts += 1;
    if (attempts < 5) throw away();
    return 'open';
  };
  expect(await awaitStore(open, waiting())).toBe('open');
  expect(attempts).toBe(5);
});

test('a store that stays away is given up after half a minute, and the line says where and why', async () => {
  const clock = new HastyClock();
  const start = clock.monotonicMs();
  let attempts = 0;
  const open = async (): Promise<void> => {
    attempts += 1;
    throw away();
  };
  await expect(awaitStore(open, waiting(clock))).rejects.toThrow(
    'Postgres at db.example/terse cannot be used: connection refused',
  );
  expect(clock.monotonicMs() - start).toBeGreaterThan(25_000);
  expect(clock.monotonicMs() - start).toBeLessThanOrEqual(30_000);
  expect(attempts).toBeLessThan(50);
});

test('what waiting cannot mend is not waited for', async () => {
  let attempts = 0;
  const failing = (error: Error) => async (): Promise<void> => {
    attempts += 1;
    throw error;
  };
  const newer = new Error('the database was written by a newer Terse');
  await expect(awaitStore(failing(newer), waiting())).rejects.toThrow('written by a newer Terse');
  const hopeless = { ...waiting(), isHopeless: () => true };
  await expect(awaitStore(failing(away()), hopeless)).rejects.toThrow('connection refused');
  expect(attempts).toBe(2);
});

test('whoever waits for ever is told of the first failure only, and logs no more often than needed', async () => {
  const clock = new HastyClock();
  let [attempts, told] = [0, 0];
  let logged = '';
  const log = createLog({ level: 'info', clock, write: text => (logged += text) });
  const open = async (): Promise<string> => {
    attempts += 1;
    if (clock.monotonicMs() - start < 3_600_000) throw away();
    return 'open';
  };
  const start = clock.monotonicMs();
  const onAway = (): void => {
    told += 1;
  };
  const waitMaxMs = Number.POSITIVE_INFINITY;
  expect(await awaitStore(open, { ...waiting(clock), log, waitMaxMs, onAway })).toBe('open');
  log.flush();
  expect(told).toBe(1);
  expect(attempts).toBeGreaterThan(1_000);
  expect(logged.match(/waiting for the store/g)!.length).toBeLessThan(125);
  expect(logged).toContain(
    '"event":"the store is there","store":"Postgres at db.example/terse","waitedS":360',
  );
});

test('it ends when nobody waits any more', async () => {
  let attempts = 0;
  const open = async (): Promise<void> => {
    attempts += 1;
    throw away();
  };
  const isGivenUp = (): boolean => attempts === 3;
  const waitMaxMs = Number.POSITIVE_INFINITY;
  await expect(awaitStore(open, { ...waiting(), waitMaxMs, isGivenUp })).rejects.toThrow(
    'connection refused',
  );
  expect(attempts).toBe(3);
});
