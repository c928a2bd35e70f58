/**
 * The parts of an installation on several machines, and how many units of each the busiest second needs. The order
 * matters: the number of processes determines the numbers of connections, polls and frames.
 */
import type { Assumptions } from './assumptions.ts';
import { answeredWhere, type Tiers } from './cache-tiers.ts';
import { type Context, gb } from './demands.ts';
import { brokers, clickhouseServer, dynamoTable, postgresServer, redisServers } from './engines.ts';
import {
  apiMachines,
  busiestPartition,
  countingMachines,
  machineMemory,
  redirectMachines,
} from './machines.ts';
import { type Load, type Part, type PlannedPart, planPart } from './parts.ts';
import { type Popularity, zipfPopularity } from './popularity.ts';
import { type StoredSizes, storedSizes } from './stored-sizes.ts';
import { frameClickBytes, redisLinkBytes, type UnitFigures, valueAt } from './unit-figures.ts';
import { loadAt, peakLoad, secondsPerDay } from './week.ts';

export interface Fleet {
  readonly popularity: Popularity;
  readonly tiers: Tiers;
  readonly average: Load;
  readonly peak: Load;
  readonly parts: readonly PlannedPart[];
  /** Limits that cannot be raised by adding units. */
  readonly limits: readonly PlannedPart[];
  readonly processes: number;
  readonly clickBytes: number;
  readonly sizes: StoredSizes;
}

export function planFleet(assumptions: Assumptions, figures: UnitFigures): Fleet {
  const popularity = zipfPopularity(assumptions.workingSet, assumptions.zipf);
  const redisEntryBytes = valueAt(redisLinkBytes, assumptions.urlBytes);
  const tiers = answeredWhere(popularity, {
    redirectsPerS: assumptions.redirectsPerDay / secondsPerDay,
    edgeTtlS: assumptions.edgeTtlS,
    edgePlaces: assumptions.edgePlaces,
    memoryEntries: assumptions.l1Entries,
    sharedTtlS: assumptions.cacheTtlS,
    sharedEntriesMax:
      assumptions.cacheGb === 0 ? Number.POSITIVE_INFINITY : (assumptions.cacheGb * gb) / redisEntryBytes,
  });
  const [average, peak] = [loadAt(assumptions, tiers, 1), peakLoad(assumptions, tiers)];
  const context: Context = {
    assumptions,
    figures,
    shared: ofTerse(tiers, tiers.shared),
    store: ofTerse(tiers, tiers.store),
  };
  const plan = (part: Part): PlannedPart => planPart(part, peak);

  const redirects = plan(redirectMachines(context));
  const api = plan(apiMachines(context));
  const counting = plan(countingMachines(context));
  const machines = [redirects, api, counting];
  const processes = machines.reduce((sum, { units }) => sum + units, 0) * assumptions.machineCores;
  const clicksPerFrame =
    average.redirectsPerS /
    (redirects.units * assumptions.machineCores * figures.flushesPerS * assumptions.partitions);
  const clickBytes = valueAt(frameClickBytes, Math.max(1, clicksPerFrame), Math.log);
  const clicksPerS = average.redirectsPerS;
  const sizes = storedSizes(context, popularity, { tiers, redisEntryBytes, clickBytes, clicksPerS });
  const engines = [
    redisServers(context, sizes),
    assumptions.store === 'postgres' ? postgresServer(context, processes) : dynamoTable(context, processes),
    brokers(context, sizes, clickBytes),
    clickhouseServer(context, sizes),
  ].map(plan);
  return {
    popularity,
    tiers,
    average,
    peak,
    parts: [...machines, ...engines],
    limits: [machineMemory(context, sizes), busiestPartition(context, popularity)].map(plan),
    processes,
    clickBytes,
    sizes,
  };
}

/** Converts a share of all redirects to a share of those that reach Terse. */
const ofTerse = ({ edge }: Tiers, share: number): number => (edge < 1 ? share / (1 - edge) : 0);
