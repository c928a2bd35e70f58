/**
 * A part of an installation consists of equal units: machines, servers, brokers. Each unit has a few limited resources;
 * as many units are planned as the busiest second needs, with some headroom. Parts that cannot be multiplied limit
 * growth.
 */

/** The load in one second, and the amount of stored data. */
export interface Load {
  /** Redirects that reach Terse; the edge answers the others. */
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
  /** The share of a unit that may be used. */
  readonly useMax: number;
  /** Set for a demand that depends on settings, not on traffic. */
  readonly isFixed?: true;
}

export interface Part {
  readonly name: string;
  readonly unit: string;
  readonly unitsMin: number;
  /** Infinite for a part that grows by adding units. */
  readonly unitsMax: number;
  /** Cores of a unit, for its cost; 0 for a managed service. */
  readonly coresPerUnit: number;
  /** Machines per unit: itself and its replicas. */
  readonly copies: number;
  demands(load: Load): Demand[];
}

export interface PlannedPart {
  readonly part: Part;
  readonly units: number;
  /** More than `units` if not enough are available. */
  readonly unitsNeeded: number;
  /** The resource that would run out with one unit less. */
  readonly setBy: Demand;
}

export function planPart(part: Part, peak: Load): PlannedPart {
  const demands = part.demands(peak);
  const needs = demands.map(demand => demand.amount / (demand.perUnit * demand.useMax));
  const largest = Math.max(...needs);
  // Tolerates rounding errors slightly above a whole number.
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
  /** The used share of all planned units; above one is too much. */
  readonly share: number;
}

export function usesOf({ part, units }: PlannedPart, load: Load): Use[] {
  return part.demands(load).map(demand => ({ demand, share: demand.amount / (demand.perUnit * units) }));
}

/** A resource of a part, and the demand as a share of what may be used; above one is too much. */
export interface Strain {
  readonly part: Part;
  readonly demand: Demand;
  readonly share: number;
}

/** The resources of the planned units, the scarcest first. */
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
