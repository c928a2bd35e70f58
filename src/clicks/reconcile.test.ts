import { describe, expect, test } from 'bun:test';
import { reconcile as account, knownDrift, type ReconcileInput } from './reconcile.ts';

const hour = 60 * 60_000;

type Given = Omit<ReconcileInput, 'countedAfter' | 'settledUntil'> & Partial<ReconcileInput>;

/** Nothing was counted meanwhile, and everything is settled. */
const reconcile = (input: Given) =>
  account({ countedAfter: input.counted, settledUntil: Number.POSITIVE_INFINITY, ...input });

test('every recorded click is accounted for: counted, dropped, missing or pending', () => {
  const { producers, totals, drift, hours } = reconcile({
    heads: [
      { producer: 'alive', sequence: 100, lastClickAt: 5 * hour, storedUntil: 0, alive: true },
      { producer: 'killed', sequence: 1_000, lastClickAt: 2 * hour + 7, storedUntil: 0, alive: false },
      { producer: 'silent', sequence: 3, lastClickAt: hour, storedUntil: 0, alive: false },
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
      settling: true,
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
      settling: false,
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
      settling: false,
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
    settling: true,
  });
  // Relative to the lost and counted clicks; ten clicks are still pending.
  expect(drift).toBeCloseTo(53 / 1_093, 10);
  expect(hours.map(row => [row.hour / hour, row.producer, row.recorded, row.dropped, row.missing])).toEqual([
    [1, 'killed', 500, 10, 0],
    [1, 'silent', 0, 0, 3],
    [2, 'killed', 450, 0, 40],
    [5, 'alive', 90, 0, 0],
  ]);
});

test('without clicks there is no drift', () => {
  expect(reconcile({ heads: [], counted: [], ledger: [], from: 0, to: 1 }).drift).toBe(0);
});

test('the drift is that of the hours asked for; producers are accounted for as a whole', () => {
  const input = {
    heads: [{ producer: 'p', sequence: 110, lastClickAt: hour, storedUntil: 0, alive: true }],
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

test('a producer that numbers the clicks of each partition separately is accounted for as one', () => {
  const { producers, hours } = reconcile({
    heads: [{ producer: 'p', sequence: 100, lastClickAt: hour, storedUntil: 0, alive: true }],
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
      settling: true,
    },
  ]);
  expect(hours).toEqual([
    { hour, producer: 'p', recorded: 85, dropped: 5, duplicates: 3, missing: 0, settling: false },
  ]);
});

describe('sources that were not read at one moment', () => {
  const head = { producer: 'p', sequence: 1_137, lastClickAt: hour, storedUntil: 0, alive: true };
  const ledger = [{ hour, producer: 'p', counted: 2_142, skipped: 0, duplicates: 0 }];
  const counted = [{ producer: 'p', sequence: 2_142 }];
  const range = { from: 0, to: 2 * hour };

  test('a report that is older than the counts: the sums are right, and the account is settling', () => {
    const { totals } = reconcile({ heads: [head], counted, ledger, ...range });
    expect(totals).toMatchObject({ produced: 2_142, recorded: 2_142, pending: 0, settling: true });
  });

  test('a producer whose clicks were counted while the ledger was read is settling', () => {
    const heads = [{ ...head, sequence: 2_142 }];
    const input = { heads, counted, ledger, ...range };
    expect(reconcile(input).totals.settling).toBe(false);
    const countedAfter = [{ producer: 'p', sequence: 2_143 }];
    expect(reconcile({ ...input, countedAfter }).totals.settling).toBe(true);
  });

  test('counts that disagree with the numbers at rest are not called settling', () => {
    const heads = [{ ...head, sequence: 2_142 }];
    const short = [{ ...ledger[0]!, counted: 2_000 }];
    const { totals } = reconcile({ heads, counted, ledger: short, ...range });
    expect(totals).toMatchObject({ produced: 2_142, recorded: 2_000, settling: false });
  });

  test('an hour that is settling is marked and is not part of the drift', () => {
    const lost = [...ledger, { hour: 2 * hour, producer: 'p', counted: 50, skipped: 50, duplicates: 0 }];
    const input = { heads: [head], counted, ledger: lost, from: 0, to: 3 * hour };
    const settling = reconcile({ ...input, settledUntil: 3 * hour - 1 });
    expect(settling.hours.map(row => row.settling)).toEqual([false, true]);
    expect([settling.drift, knownDrift(settling)]).toEqual([0, 0]);
    expect(knownDrift(reconcile({ ...input, settledUntil: 0 }))).toBeUndefined();
    expect(reconcile({ ...input, settledUntil: 3 * hour }).drift).toBeCloseTo(50 / 2_242, 10);
  });
});
