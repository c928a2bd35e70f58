/**
 * How often each of very many links is asked for, in few numbers. The key of rank k is asked for in proportion to
 * 1 / k^exponent; the first ranks stand alone, and those behind them, which differ less and less, share a bin with their
 * neighbours. So ten billion links are about a thousand bins, and sums over them are as good as exact.
 */
export interface Bin {
  readonly keys: number;
  /** The share of all requests for each key of the bin. */
  readonly share: number;
}

/** Most popular first; keys times share adds up to one. */
export type Popularity = readonly Bin[];

const ranksAlone = 1_000;
/** The last rank of a bin is at most this much behind its first. */
const binGrowth = 1.02;

export function zipfPopularity(keys: number, exponent: number): Popularity {
  const bins: { keys: number; weight: number }[] = [];
  for (let rank = 1; rank <= Math.min(keys, ranksAlone); rank += 1) {
    bins.push({ keys: 1, weight: rank ** -exponent });
  }
  for (let first = ranksAlone + 1; first <= keys; ) {
    const last = Math.min(keys, Math.floor(first * binGrowth));
    bins.push({ keys: last - first + 1, weight: weightBetween(first - 0.5, last + 0.5, exponent) });
    first = last + 1;
  }
  const total = bins.reduce((sum, { weight }) => sum + weight, 0);
  return bins.map(({ keys: count, weight }) => ({ keys: count, share: weight / total / count }));
}

/** The integral of 1 / x^exponent, which the sum over whole ranks follows closely this far out. */
function weightBetween(from: number, to: number, exponent: number): number {
  if (exponent === 1) return Math.log(to / from);
  return (to ** (1 - exponent) - from ** (1 - exponent)) / (1 - exponent);
}

/** In how many different spans of time, of so many, at least one of `requests` for each key falls; over all keys. */
export function distinctSpans(popularity: Popularity, requests: number, spans: number): number {
  return popularity.reduce(
    (sum, { keys, share }) => sum + keys * spans * -Math.expm1((-requests * share) / spans),
    0,
  );
}
