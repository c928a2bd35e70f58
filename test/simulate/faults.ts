/** The faults of a run, as data that is drawn from the seed before it starts, so that a failing run can be shrunk. */
import { seededRandom } from '../../src/base/random.ts';

export const faultKinds = [
  'crash-process',
  'pause-process',
  'restart-process',
  'pause-database',
  'crash-database',
  'cut-database',
  'pause-redis',
  'restart-redis-empty',
  'fail-over-redis',
  'evict-redis',
  'cut-redis',
  'isolate-process',
  'lose-messages',
  'lose-packets',
  'slow-network',
  'jump-clock',
  'drift-clock',
  'power-cut',
  'full-disk',
  'torn-write',
  'pause-kafka',
  'crash-kafka',
  'cut-kafka',
  'break-warehouse',
] as const;

export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly forMs: number;
  /** The process, for a fault of one process. */
  readonly process: number;
  /** Between 0 and 1, for faults of varying severity. */
  readonly severity: number;
}

export interface FaultPlan {
  readonly kinds: readonly FaultKind[];
  readonly processes: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly countMax: number;
  /** By which factor everything takes longer. */
  readonly pace?: number;
}

export function planFaults(seed: number, plan: FaultPlan): Fault[] {
  const { kinds, processes, fromMs, toMs, countMax, pace = 1 } = plan;
  const random = seededRandom(seed ^ 0x5eed);
  const below = (max: number): number => Math.floor(random.float() * max);
  // Some runs have no fault at all, and some only one kind: then the tightest bounds hold.
  const chosen = random.float() < 0.3 ? [kinds[below(kinds.length)]!] : kinds;
  const count = below(countMax + 1);
  return Array.from({ length: count }, () => ({
    kind: chosen[below(chosen.length)]!,
    atMs: fromMs + below((toMs - fromMs) * pace),
    forMs: 200 + below((random.float() < 0.2 ? 15_000 : 4_000) * pace),
    process: below(processes),
    severity: random.float(),
  })).sort((one, other) => one.atMs - other.atMs);
}

export const describeFault = ({ kind, atMs, forMs, process, severity }: Fault): string =>
  `${kind} at ${(atMs / 1_000).toFixed(2)} s for ${(forMs / 1_000).toFixed(2)} s (process ${process}, severity ${severity.toFixed(2)})`;
