import { expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { startMaintenance } from './maintenance.ts';

const dayMs = 24 * 60 * 60 * 1_000;

test('each round purges behind the grace period and prunes old records, one round at a time', async () => {
  const clock = new ManualClock();
  const calls: [string, number][] = [];
  const gate = Promise.withResolvers<void>();
  const stop = startMaintenance({
    clock,
    expiryGraceDays: 30,
    onError: () => calls.push(['error', 0]),
    store: {
      async purgeExpired(expiredBefore) {
        calls.push(['purge', clock.now() - expiredBefore]);
        await gate.promise;
        return 0;
      },
      async prune({ answersBefore, changesBefore }) {
        calls.push(['answers', clock.now() - answersBefore], ['changes', clock.now() - changesBefore]);
        throw new Error('store away');
      },
    },
  });
  clock.advance(5_000);
  clock.advance(20_000);
  expect(calls).toEqual([['purge', 30 * dayMs]]);
  gate.resolve();
  await Bun.sleep(0);
  expect(calls.slice(1)).toEqual([
    ['answers', dayMs + 20_000],
    ['changes', 620_000],
    ['error', 0],
  ]);
  clock.advance(5_000);
  await Bun.sleep(0);
  stop();
  const before = calls.length;
  expect(before).toBeGreaterThan(4);
  clock.advance(60_000);
  expect(calls).toHaveLength(before);
});
