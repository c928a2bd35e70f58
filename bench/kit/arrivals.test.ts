import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { closedLoop, PacedArrivals } from './arrivals.ts';

const pace = { startNs: 1_000, perSecond: 1e8, count: 100, patienceNs: 1e9 };

test('visitors come at their time, and not before', () => {
  const arrivals = new PacedArrivals(pace);
  expect(arrivals.next(999)).toBeUndefined();
  expect(arrivals.next(1_000)).toBe(1_000);
  expect(arrivals.next(1_000)).toBeUndefined();
  expect(arrivals.next(1_025)).toBe(1_010);
});

test('who could not be served at once is served later with the time that was appointed', () => {
  const arrivals = new PacedArrivals(pace);
  expect([arrivals.next(1_500), arrivals.next(1_500), arrivals.next(1_500)]).toEqual([1_000, 1_010, 1_020]);
  expect(arrivals.gaveUp).toBe(0);
});

test('everybody who comes is either taken or gives up, whenever one looks', () => {
  const steps = fc.array(fc.nat({ max: 400 }), { maxLength: 50 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 300 }), (pauses, patienceNs) => {
      const arrivals = new PacedArrivals({ ...pace, patienceNs });
      let nowNs = pace.startNs;
      let taken = 0;
      const take = () => {
        const dueNs = arrivals.next(nowNs);
        if (dueNs === undefined) return;
        taken += 1;
        expect(nowNs - dueNs).toBeWithin(0, patienceNs + 1);
      };
      for (const pauseNs of pauses) {
        nowNs += pauseNs;
        take();
      }
      for (nowNs += 1e6; !arrivals.isOver; ) take();
      expect(taken + arrivals.gaveUp).toBe(pace.count);
    }),
  );
});

test('in a closed loop somebody always comes just now', () => {
  expect([closedLoop.next(5), closedLoop.next(9), closedLoop.isOver]).toEqual([5, 9, false]);
});
