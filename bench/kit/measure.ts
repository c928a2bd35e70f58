/**
 * A figure and how far it can be trusted: the values of several rounds, shown as their median and their spread. One
 * machine's absolute times say little about another's, so the ratios of figures from the same round matter most.
 */
export interface Measure {
  /** One value per round, in the order of the rounds. */
  readonly values: readonly number[];
  /** Digits shown after the point. */
  readonly digits: number;
}

export function measure(values: number | readonly number[], digits = 0): Measure {
  return { values: typeof values === 'number' ? [values] : values, digits };
}

/** One figure of every round. */
export function measureOf<Name extends string>(
  rounds: readonly Readonly<Record<Name, number>>[],
  name: Name,
  digits = 0,
): Measure {
  return { values: rounds.map(round => round[name]), digits };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The quotient of each round, so that a slow moment of the machine counts on both sides. */
export function ratio(dividend: Measure, divisor: Measure, digits = 2): Measure {
  return { values: dividend.values.map((value, round) => value / divisor.values[round]!), digits };
}

/** `median (min..max)`, without the spread where there is none to show. */
export function formatMeasure({ values, digits }: Measure): string {
  if (values.length === 0) return '–';
  const low = formatNumber(Math.min(...values), digits);
  const high = formatNumber(Math.max(...values), digits);
  const middle = formatNumber(median(values), digits);
  return low === high ? middle : `${middle} (${low}..${high})`;
}

function formatNumber(value: number, digits: number): string {
  if (!Number.isFinite(value)) return '–';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A count with its thousands apart. */
export const formatCount = (count: number): string => formatNumber(count, 0);
