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
  expect(drift).toBeCloseTo(53 / 1_103, 10);
  expect(hours.map(row => [row.hour / hour, row.producer, row.recorded, row.dropped, row.missing])).toEqual([
    [1, 'killed', 500, 10, 0],
    [1, 'silent', 0, 0, 3],
    [2, 'killed', 450, 0, 40],
    [5, 'alive', 90, 0, 0],
  ]);
});

test('nothing noted is no drift', () => {
  expect(reconcile({ heads: [], counted: [], ledger: [] }).drift).toBe(0);
});
