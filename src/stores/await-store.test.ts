import { expect, test } from 'bun:test';
import { type Clock, ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import { createLog } from '../telemetry/log.ts';
import { awaitStore } from './await-store.ts';

/** A sleep on it returns immediately. */
class HastyClock extends ManualClock implements Clock {
  override after(delayMs: number, task: () => void): () => void {
    queueMicrotask(() => {
      this.advance(delayMs);
      task();
    });
    return () => {};
  }
}

const unavailable = (): Problem =>
  new Problem('store_unavailable', { cause: new Error('', { cause: new Error('connection refused') }) });

function waiting(clock = new HastyClock()) {
  return { name: 'Postgres at db.example/terse', clock, random: seededRandom(1) };
}

test('a store that comes up a little later is used', async () => {
  let attempts = 0;
  const open = async (): Promise<string> => {
    attempts += 1;
    if (attempts < 5) throw unavailable();
    return 'open';
  };
  expect(await awaitStore(open, waiting())).toBe('open');
  expect(attempts).toBe(5);
});

test('the wait for a store that stays down ends after half a minute, and the line says where and why', async () => {
  const clock = new HastyClock();
  const start = clock.monotonicMs();
  let attempts = 0;
  const open = async (): Promise<void> => {
    attempts += 1;
    throw unavailable();
  };
  await expect(awaitStore(open, waiting(clock))).rejects.toThrow(
    'Postgres at db.example/terse cannot be used: connection refused',
  );
  expect(clock.monotonicMs() - start).toBeGreaterThan(25_000);
  expect(clock.monotonicMs() - start).toBeLessThanOrEqual(30_000);
  expect(attempts).toBeLessThan(50);
});

test('a failure that waiting cannot fix is not retried', async () => {
  let attempts = 0;
  const failing = (error: Error) => async (): Promise<void> => {
    attempts += 1;
    throw error;
  };
  const newer = new Error('the database was written by a newer Terse');
  await expect(awaitStore(failing(newer), waiting())).rejects.toThrow('written by a newer Terse');
  const hopeless = { ...waiting(), isHopeless: () => true };
  await expect(awaitStore(failing(unavailable()), hopeless)).rejects.toThrow('connection refused');
  expect(attempts).toBe(2);
});

test('an unlimited wait reports the first failure only, and logs no more often than needed', async () => {
  const clock = new HastyClock();
  let [attempts, notified] = [0, 0];
  let logged = '';
  const log = createLog({ level: 'info', clock, write: text => (logged += text) });
  const open = async (): Promise<string> => {
    attempts += 1;
    if (clock.monotonicMs() - start < 3_600_000) throw unavailable();
    return 'open';
  };
  const start = clock.monotonicMs();
  const onDown = (): void => {
    notified += 1;
  };
  const waitMaxMs = Number.POSITIVE_INFINITY;
  expect(await awaitStore(open, { ...waiting(clock), log, waitMaxMs, onDown })).toBe('open');
  log.flush();
  expect(notified).toBe(1);
  expect(attempts).toBeGreaterThan(1_000);
  expect(logged.match(/waiting for the store/g)!.length).toBeLessThan(125);
  expect(logged).toContain(
    '"event":"the store is available","store":"Postgres at db.example/terse","waitedS":360',
  );
});

test('it ends when the wait is cancelled', async () => {
  let attempts = 0;
  const open = async (): Promise<void> => {
    attempts += 1;
    throw unavailable();
  };
  const isGivenUp = (): boolean => attempts === 3;
  const waitMaxMs = Number.POSITIVE_INFINITY;
  await expect(awaitStore(open, { ...waiting(), waitMaxMs, isGivenUp })).rejects.toThrow(
    'connection refused',
  );
  expect(attempts).toBe(3);
});
