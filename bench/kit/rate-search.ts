/** Searches the highest rate that holds, with few trials, because each takes long. */
export interface RateSearch {
  /** Tried first. */
  readonly from: number;
  /** A rate that is known not to hold. */
  readonly above: number;
  /** The maximum final ratio between a rate that does not hold and one that does. */
  readonly precision: number;
  readonly trialsMax: number;
  holds(rate: number): Promise<boolean>;
}

export interface FoundRate {
  /** The highest that held; undefined when none did. */
  readonly best: number | undefined;
  readonly lowest: number;
}

/** While none holds, the next trial is this share of the last. */
const descent = 0.7;

export async function searchRate({
  from,
  above,
  precision,
  trialsMax,
  holds,
}: RateSearch): Promise<FoundRate> {
  let [best, tooHigh, rate, lowest]: [number | undefined, number, number, number] = [
    undefined,
    above,
    from,
    from,
  ];
  for (let trial = 0; trial < trialsMax; trial += 1) {
    lowest = Math.min(lowest, rate);
    if (await holds(rate)) best = rate;
    else tooHigh = rate;
    if (best !== undefined && tooHigh / best <= precision) break;
    rate = best === undefined ? tooHigh * descent : Math.sqrt(best * tooHigh);
  }
  return { best, lowest };
}
