/** The inputs from which the parts of a fleet are computed, and the demands that most of them make. */
import type { Assumptions } from './assumptions.ts';
import type { Demand } from './parts.ts';
import type { UnitFigures } from './unit-figures.ts';

export interface Context {
  readonly assumptions: Assumptions;
  readonly figures: UnitFigures;
  /** Shares of the redirects that reach Terse: answered by the shared cache, and by the store. */
  readonly shared: number;
  readonly store: number;
}

export const gb = 1e9;
export const tb = 1e12;
const usPerS = 1e6;

export const cpu = ({ assumptions }: Context, us: number, perUnit: number): Demand => ({
  resource: 'CPU',
  amount: us / usPerS,
  perUnit,
  measure: 'cores',
  useMax: assumptions.busyMax,
});
export const disk = ({ assumptions }: Context, bytes: number, perUnitTb: number): Demand => ({
  resource: 'disk',
  amount: bytes / tb,
  perUnit: perUnitTb,
  measure: 'TB',
  useMax: assumptions.fullMax,
});

/** A part that grows by adding units, and a part with a single unit. */
export const many = { unitsMax: Number.POSITIVE_INFINITY, copies: 1 } as const;
export const single = { unitsMin: 1, unitsMax: 1, copies: 1, coresPerUnit: 0 } as const;
