/**
 * How often each value of a dimension came on one day, in bounded space. Strangers choose referrers, so a list that keeps
 * the first values it sees can be filled with invented ones. This one keeps the most frequent (Space-Saving, merged a
 * batch at a time as in Agarwal et al., “Mergeable summaries”): once a list is full, its least frequent values make room
 * and their clicks go to `(other)`, so the sum stays exact. A value that enters a full list is ranked as if it had come
 * before as often as the least frequent one. That head start is its floor; it is never shown.
 *
 * Invariants, of a list of k values and N clicks: whatever came more than N/k times is listed; no value is shown with more
 * clicks than it had, nor with more than N/k fewer; what was never removed is exact. Up to the limits everything is exact.
 */
import { type DimensionName, dimensionNames } from '../../warehouse.ts';

type Counts = Record<string, number>;

export type StoredDimensions = Partial<Record<DimensionName, Counts>> & {
  /** Of each key of the counts, in their order; only for lists that something was removed from. */
  floors?: Partial<Record<DimensionName, number[]>>;
};

/** A list that outgrows `most` is cut down to `kept`, so that it is not sorted for every new value. */
const valuesIn = { kept: 1_000, most: 1_100 } as const;
/** The whole list is written with every batch of clicks, and 1,000 host names of full length would be 253 KB. */
const charactersIn = { kept: 60_000, most: 65_536 } as const;
const otherValue = '(other)';

/** Changes what is stored. */
export function addValues(
  stored: StoredDimensions,
  more: Readonly<Record<DimensionName, ReadonlyMap<string, number>>>,
): StoredDimensions {
  for (const name of dimensionNames) {
    if (more[name].size === 0) continue;
    // Without a prototype, because a host may be called `__proto__`.
    const counts: Counts = Object.setPrototypeOf(stored[name] ?? {}, null);
    stored[name] = counts;
    const floors = floorsOf(counts, stored.floors?.[name]);
    const floor = leastRank(counts, floors);
    for (const [value, clicks] of more[name]) {
      if (floors.size > 0 && counts[value] === undefined) floors.set(value, floor);
      counts[value] = (counts[value] ?? 0) + clicks;
    }
    trim(counts, floors);
    if (floors.size > 0)
      stored.floors = { ...stored.floors, [name]: Object.keys(counts).map(value => floors.get(value) ?? 0) };
  }
  return stored;
}

/** Empty for a list that nothing was removed from. */
function floorsOf(counts: Counts, stored: readonly number[] | undefined): Map<string, number> {
  if (stored === undefined) return new Map();
  return new Map(Object.keys(counts).map((value, index) => [value, stored[index] ?? 0]));
}

/** What is not in a list that was trimmed came at most so often. */
function leastRank(counts: Counts, floors: ReadonlyMap<string, number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const [value, floor] of floors)
    if (value !== otherValue) least = Math.min(least, counts[value]! + floor);
  return least;
}

function trim(counts: Counts, floors: Map<string, number>): void {
  const values = Object.keys(counts).filter(value => value !== otherValue);
  let characters = values.reduce((sum, value) => sum + value.length, 0);
  if (values.length <= valuesIn.most && characters <= charactersIn.most) return;
  const rank = (value: string): number => counts[value]! + (floors.get(value) ?? 0);
  // Sorting is stable: of equals, the one that has been there longer stays.
  values.sort((a, b) => rank(b) - rank(a));
  let removed = 0;
  while (values.length > valuesIn.kept || characters > charactersIn.kept) {
    const value = values.pop()!;
    characters -= value.length;
    removed += counts[value]!;
    delete counts[value];
    floors.delete(value);
  }
  counts[otherValue] = (counts[otherValue] ?? 0) + removed;
  for (const value of values) floors.set(value, floors.get(value) ?? 0);
}
