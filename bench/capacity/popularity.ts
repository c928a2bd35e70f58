/**
 * The popularity of very many links in few numbers. The key of rank k is requested in proportion to 1 / k^exponent;
 * each of the first ranks has its own bin, and later ones, which differ less and less, share bins. So ten billion links
 * are about a thousand bins, and sums over them are practically exact.
 */
export interface Bin {
  readonly keys: number;
  /** The share of all requests for each key of the bin. */
  readonly share: number;
}

/** Most popular first; keys times share adds up to one. */
export type Popularity = readonly Bin[];

const ranksAlone = 1_000;
/** The maximum ratio of the last to the first rank of a bin. */
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

/** In how many of `spans` time spans each key is requested at least once, summed over all keys. */
export function distinctSpans(popularity: Popularity, requests: number, spans: number): number {
  return popularity.reduce(
    (sum, { keys, share }) => sum + keys * spans * -Math.expm1((-requests * share) / spans),
    0,
  );
}
