import { expect, test } from 'bun:test';
import { yieldToEventLoop } from '../../base/clock.ts';
import type { Connection } from './connection.ts';
import { ConnectionPlaces } from './connection-places.ts';

/** A connection that is never evicted. */
class BusyConnection {
  isOver = false;
  isWaiting = true;
  restrict(): void {}
  terminate(): void {
    this.isOver = true;
  }
}

function fullPlaces({ reserveMax }: { readonly reserveMax: number }) {
  const places = new ConnectionPlaces({
    connectionsMax: 8,
    reserveMax,
    sharePercent: 50,
    networkOf: () => ({ host: 'one', site: 'one' }),
    counts: { evicted: 0, rejected: 0 },
  });
  const add = (count: number): BusyConnection[] =>
    Array.from({ length: count }, () => {
      const connection = new BusyConnection();
      places.add(connection as unknown as Connection);
      return connection;
    });
  // Its share, and no more than that.
  add(4);
  return { places, add };
}

const ended = (connections: readonly BusyConnection[]): number =>
  connections.filter(({ isOver }) => isOver).length;

test('the bytes of a connection beyond the cap are read first, however many are accepted with it', async () => {
  const { places, add } = fullPlaces({ reserveMax: 100 });
  const beyond = add(60);
  expect(places.reserve.size).toBe(60);
  // The turn in which requests are read.
  await yieldToEventLoop();
  expect(ended(beyond)).toBe(0);
  await yieldToEventLoop();
  expect(places.reserve.size).toBe(2);
  expect(ended(beyond.slice(0, -2))).toBe(58);
});

test('a health check that is being answered, and a connection that came a turn later, are not closed', async () => {
  const { add } = fullPlaces({ reserveMax: 100 });
  const beyond = add(20);
  await yieldToEventLoop();
  beyond[0]!.isWaiting = false;
  const later = add(20);
  await yieldToEventLoop();
  expect(beyond[0]!.isOver).toBe(false);
  expect(ended(beyond)).toBe(19);
  expect(ended(later)).toBe(0);
});

test('there are never more beyond the cap than there are descriptors for', () => {
  const { places, add } = fullPlaces({ reserveMax: 10 });
  const beyond = add(60);
  expect(places.reserve.size).toBe(10);
  expect(ended(beyond)).toBe(50);
});
