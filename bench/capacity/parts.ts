/**
 * A part of an installation is a number of like units: machines, servers, brokers. Each has a few things it can run out
 * of; as many units are planned as the busiest second needs, with room to spare. Some parts cannot be multiplied, and
 * those are where growth ends.
 */

/** What is asked of everything in one second, and what lies around meanwhile. */
export interface Load {
  /** Those that reach Terse: the edge has answered the others. */
  readonly redirectsPerS: number;
  readonly createsPerS: number;
  readonly changesPerS: number;
  readonly linksKept: number;
}

export interface Demand {
  readonly resource: string;
  readonly amount: number;
  readonly perUnit: number;
  /** The unit of `amount` and `perUnit`. */
  readonly measure: string;
  /** How much of a unit may be used. */
  readonly useMax: number;
  /** Settings decide about it, and not the traffic. */
  readonly isFixed?: true;
}

export interface Part {
  readonly name: string;
  readonly unit: string;
  readonly unitsMin: number;
  /** Infinite where adding units is all it takes. */
  readonly unitsMax: number;
  /** Cores of a unit, for its cost; 0 for a managed service. */
  readonly coresPerUnit: number;
  /** How many machines stand for one unit: itself and its replicas. */
  readonly copies: number;
  demands(load: Load): Demand[];
}

export interface PlannedPart {
  readonly part: Part;
  readonly units: number;
  /** More than `units` where no more are available. */
  readonly unitsNeeded: number;
  /** The resource that there would be too little of with a unit less. */
  readonly setBy: Demand;
}

export function planPart(part: Part, peak: Load): PlannedPart {
  const demands = part.demands(peak);
  const needs = demands.map(demand => demand.amount / (demand.perUnit * demand.useMax));
  const largest = Math.max(...needs);
  // A hair more than a whole number is the rounding of arithmetic, not a need.
  const unitsNeeded = Math.max(part.unitsMin, Math.ceil(largest - 1e-9));
  return {
    part,
    unitsNeeded,
    units: Math.min(unitsNeeded, part.unitsMax),
    setBy: demands[needs.indexOf(largest)]!,
  };
}

export interface Use {
  readonly demand: Demand;
  /** Of all that the planned units have; above one is too much. */
  readonly share: number;
}

export function usesOf({ part, units }: PlannedPart, load: Load): Use[] {
  return part.demands(load).map(demand => ({ demand, share: demand.amount / (demand.perUnit * units) }));
}

/** A resource of a part, and how much is asked of what may be used of it; above one is more than that. */
export interface Strain {
  readonly part: Part;
  readonly demand: Demand;
  readonly share: number;
}

/** What is nearest to its end with the planned units, first. */
export const strainsAsPlanned = (parts: readonly PlannedPart[], load: Load): Strain[] =>
  strains(parts, load, ({ units }) => units);

/** The same for parts with a maximum, if all available units were used. */
export const strainsAtMost = (parts: readonly PlannedPart[], load: Load): Strain[] =>
  strains(
    parts.filter(({ part }) => Number.isFinite(part.unitsMax)),
    load,
    ({ part }) => part.unitsMax,
  );

function strains(
  parts: readonly PlannedPart[],
  load: Load,
  unitsOf: (planned: PlannedPart) => number,
): Strain[] {
  return parts
    .flatMap(planned =>
      planned.part.demands(load).map(demand => ({
        part: planned.part,
        demand,
        share: demand.amount / (demand.perUnit * demand.useMax * unitsOf(planned)),
      })),
    )
    .toSorted((one, other) => other.share - one.share);
}
