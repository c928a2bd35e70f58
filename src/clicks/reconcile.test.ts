import { expect, test } from 'bun:test';
import { reconcile } from './reconcile.ts';

const hour = 60 * 60_000;

test('every noted click is accounted for: recorded, dropped, missing or on its way', () => {
  const { producers, totals, drift, hours } = reconcile({
    heads: [
      { producer: 'alive', sequence: 100, lastClickAt: 5 * hour, alive: true },
      { producer: 'killed', sequence: 1_000, lastClickAt: 2 * hour + 7, alive: false },
      { producer: 'silent', sequence: 3, lastClickAt: hour, alive: false },
    ],
    counted: [
      { producer: 'alive', sequence: 90 },
      { producer: 'killed', sequence: 960 },
    ],
    from: 0,
    to: 10 * hour,
    ledger: [
      { hour, producer: 'killed', counted: 500, skipped: 10, duplicates: 2 },
      { hour: 2 * hour, producer: 'killed', counted: 450, skipped: 0, duplicates: 0 },
      { hour: 5 * hour, producer: 'alive', counted: 90, skipped: 0, duplicates: 0 },
    ],
  });
  expect(producers).toEqual([
    {
      producer: 'alive',
      alive: true,
      produced: 100,
      recorded: 90,
      dropped: 0,
      duplicates: 0,
      missing: 0,
      pending: 10,
    },
    {
      producer: 'killed',
      alive: false,
      produced: 1_000,
      recorded: 950,
      dropped: 10,
      duplicates: 2,
      missing: 40,
      pending: 0,
    },
    {
      producer: 'silent',
      alive: false,
      produced: 3,
      recorded: 0,
      dropped: 0,
      duplicates: 0,
      missing: 3,
      pending: 0,
    },
  ]);
  for (const { produced, recorded, dropped, missing, pending } of producers) {
    expect(recorded + dropped + missing + pending).toBe(produced);
  }
  expect(totals).toEqual({
    produced: 1_103,
    recorded: 1_040,
    dropped: 10,
    duplicates: 2,
    missing: 43,
    pending: 10,
  });
  // Of what was lost or counted; ten clicks are still on their way.
  expect(drift).toBeCloseTo(53 / 1_093, 10);
  expect(hours.map(row => [row.hour / hour, row.producer, row.recorded, row.dropped, row.missing])).toEqual([
    [1, 'killed', 500, 10, 0],
    [1, 'silent', 0, 0, 3],
    [2, 'killed', 450, 0, 40],
    [5, 'alive', 90, 0, 0],
  ]);
});

test('nothing noted is no drift', () => {
  expect(reconcile({ heads: [], counted: [], ledger: [], from: 0, to: 1 }).drift).toBe(0);
});

test('the drift is that of the hours asked for; producers are accounted for as a whole', () => {
  const input = {
    heads: [{ producer: 'p', sequence: 110, lastClickAt: hour, alive: true }],
    counted: [{ producer: 'p', sequence: 110 }],
    ledger: [
      { hour: 0, producer: 'p', counted: 50, skipped: 50, duplicates: 0 },
      { hour: 5 * hour, producer: 'p', counted: 10, skipped: 0, duplicates: 0 },
    ],
  };
  const late = reconcile({ ...input, from: 5 * hour, to: 6 * hour });
  expect([late.drift, late.hours.length, late.totals.recorded, late.totals.dropped]).toEqual([0, 1, 60, 50]);
  expect(reconcile({ ...input, from: 0, to: hour }).drift).toBe(0.5);
});

test('a producer that numbers its clicks for each partition apart is accounted for as one', () => {
  const { producers, hours } = reconcile({
    heads: [{ producer: 'p', sequence: 100, lastClickAt: hour, alive: true }],
    counted: [
      { producer: 'p/0', sequence: 30 },
      { producer: 'p/7', sequence: 60 },
      { producer: 'other/0', sequence: 5 },
    ],
    ledger: [
      { hour, producer: 'p/0', counted: 25, skipped: 5, duplicates: 1 },
      { hour, producer: 'p/7', counted: 60, skipped: 0, duplicates: 2 },
    ],
    from: 0,
    to: 2 * hour,
  });
  expect(producers).toEqual([
    {
      producer: 'p',
      alive: true,
      produced: 100,
      recorded: 85,
      dropped: 5,
      duplicates: 3,
      missing: 0,
      pending: 10,
    },
  ]);
  expect(hours).toEqual([{ hour, producer: 'p', recorded: 85, dropped: 5, duplicates: 3, missing: 0 }]);
});
