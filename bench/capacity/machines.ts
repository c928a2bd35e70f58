/** The machines that run Terse itself, by role, and the limits of each that more machines do not raise. */
import { type Context, cpu, gb, many, single } from './demands.ts';
import type { Part } from './parts.ts';
import type { Popularity } from './popularity.ts';
import type { StoredSizes } from './stored-sizes.ts';

export function redirectMachines(context: Context): Part {
  const { assumptions, figures, shared, store } = context;
  const { machineCores, machineGbit, urlBytes, busyMax } = assumptions;
  const us =
    figures.redirectUs + figures.frameUs + shared * figures.sharedCacheUs + store * figures.storeReadUs;
  const bytes = Math.max(figures.requestBytes, figures.answerBytes + urlBytes);
  return {
    name: 'redirects',
    unit: `machine of ${machineCores} cores`,
    unitsMin: 2,
    ...many,
    coresPerUnit: machineCores,
    demands: ({ redirectsPerS }) => [
      cpu(context, redirectsPerS * us, machineCores),
      {
        resource: 'network',
        amount: (redirectsPerS * bytes * 8) / 1e9,
        perUnit: machineGbit,
        measure: 'Gbit/s',
        useMax: busyMax,
      },
    ],
  };
}

export function apiMachines(context: Context): Part {
  const { assumptions, figures } = context;
  return {
    name: 'API',
    unit: `machine of ${assumptions.machineCores} cores`,
    unitsMin: 2,
    ...many,
    coresPerUnit: assumptions.machineCores,
    demands: ({ createsPerS, changesPerS }) => [
      cpu(context, (createsPerS + changesPerS) * figures.createUs, assumptions.machineCores),
    ],
  };
}

export function countingMachines(context: Context): Part {
  const { assumptions, figures } = context;
  return {
    name: 'counting',
    unit: `machine of ${assumptions.machineCores} cores`,
    unitsMin: 2,
    ...many,
    coresPerUnit: assumptions.machineCores,
    demands: ({ redirectsPerS }) => [cpu(context, redirectsPerS * figures.countUs, assumptions.machineCores)],
  };
}

export function machineMemory({ assumptions }: Context, { process }: StoredSizes): Part {
  const { machineGb, machineCores, fullMax } = assumptions;
  return {
    name: 'memory of a machine',
    unit: `${machineGb} GB`,
    ...single,
    demands: () => [
      {
        resource: 'memory',
        amount: (process * machineCores) / gb,
        perUnit: machineGb,
        measure: 'GB',
        useMax: fullMax,
        isFixed: true,
      },
    ],
  };
}

/** One process counts a partition, and all clicks of a link are in one. */
export function busiestPartition(context: Context, [top]: Popularity): Part {
  const ofTop = top?.keys === 1 ? top.share : 0;
  const share = ofTop + (1 - ofTop) / context.assumptions.partitions;
  return {
    name: 'busiest partition',
    unit: 'one core',
    ...single,
    demands: ({ redirectsPerS }) => [cpu(context, redirectsPerS * share * context.figures.countUs, 1)],
  };
}
