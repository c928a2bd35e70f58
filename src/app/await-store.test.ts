import { expect, test } from 'bun:test';
import { type Clock, ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
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
