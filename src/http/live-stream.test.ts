import { describe, expect, test } from 'bun:test';
import { watchersMax } from '../clicks/live.ts';
import { viewsPerAccountMax, WatchShares } from './live-stream.ts';

/** Takes all places, and returns the functions that release them. */
function takeAllPlaces(shares: WatchShares, accountId: string): (() => void)[] {
  const taken: (() => void)[] = [];
  for (let next = shares.take(accountId); next !== undefined; next = shares.take(accountId)) taken.push(next);
  return taken;
}

describe('places for live views', () => {
  test('are a quarter of all for one account, and all of them again once they were released', () => {
    const shares = new WatchShares();
    expect(viewsPerAccountMax).toBe(250);
    for (let round = 0; round < 3; round += 1) {
      const taken = takeAllPlaces(shares, 'greedy');
      expect(taken).toHaveLength(viewsPerAccountMax);
      for (const giveBack of taken) giveBack();
    }
  });

  test('remain for others when ten accounts take all they can', () => {
    const shares = new WatchShares();
    let taken = 0;
    for (let account = 0; account < 10; account += 1)
      taken += takeAllPlaces(shares, `greedy ${account}`).length;
    for (const account of ['honest', 'another']) {
      const { length } = takeAllPlaces(shares, account);
      expect(length).toBeGreaterThan(10);
      taken += length;
    }
    expect(taken).toBeLessThan(watchersMax);
  });
});
