/**
 * Computes what each process could reach when, from the faults of a history, and how long a process may therefore act
 * on outdated state. The bounds are those of ADR 21.
 */
import type { Effect, Fault } from './history.ts';

export const bounds = {
  /** For a process that reaches the store, or receives the messages of the process that made the change. */
  freshMs: 3_000,
  /** Added to each bound for a busy machine, as in test/faults/kill-bounds.test.ts. */
  slackMs: 500,
} as const;

interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

export class Reachability {
  readonly #faults: readonly Fault[];
  readonly #isolatedMs: number;

  constructor(faults: readonly Fault[], isolatedMs: number) {
    this.#faults = faults;
    this.#isolatedMs = isolatedMs;
  }

  /** Whether `process` may at `atMs` still act on what `changer` had changed, and acknowledged, at `ackedMs`. */
  mayBeStale(process: number, changer: number, ackedMs: number, atMs: number): boolean {
    const maxMs = bounds.freshMs + bounds.slackMs;
    if (atMs - ackedMs <= maxMs) return true;
    const withoutStore = this.#without(process, ['store']);
    const withoutMessages = [
      ...this.#without(process, ['redis']),
      ...this.#without(changer, ['redis', 'process']),
    ];
    const proofs = [withoutStore, withoutMessages].flatMap(outages =>
      gapsBetween(outages, { fromMs: 0, toMs: atMs }),
    );
    // The process could learn of the change for long enough, from either source.
    if (proofs.some(({ fromMs, toMs }) => toMs - Math.max(fromMs, ackedMs) > maxMs)) return false;
    const lastProofMs = Math.max(...proofs.map(({ toMs }) => toMs));
    return atMs - lastProofMs <= this.#isolatedMs + maxMs;
  }

  /** Whether the process reaches its store all this time, and has for some seconds. */
  reachesStore(process: number, fromMs: number, toMs: number): boolean {
    const settledMs = bounds.freshMs + bounds.slackMs;
    return !this.#without(process, ['store', 'redis', 'process']).some(
      outage => outage.fromMs <= toMs && outage.toMs >= fromMs - settledMs,
    );
  }

  /** Whether there was no fault between these times, nor shortly before. */
  isCalm(fromMs: number, toMs: number): boolean {
    return !this.#faults.some(
      ({ startMs, healedMs }) => startMs <= toMs && healedMs >= fromMs - bounds.freshMs,
    );
  }

  /** The smallest and the largest difference of the process's clock from ours between these moments. */
  skew(process: number, fromMs: number, toMs: number): readonly [number, number] {
    // A step is read from a file that libfaketime caches for a second, which it counts in whole seconds: up to two.
    const stepMs = 2_000 + bounds.slackMs;
    const skews = this.#faults.flatMap(({ startMs, healedMs, effects }) =>
      startMs > toMs || healedMs + stepMs < fromMs
        ? []
        : effects
            .filter(effect => effect.part === 'clock' && isFor(effect, process))
            .map(({ skewMs = 0 }) => skewMs),
    );
    return [Math.min(0, ...skews), Math.max(0, ...skews)];
  }

  #without(process: number, parts: readonly Effect['part'][]): Interval[] {
    return this.#faults
      .filter(({ effects }) => effects.some(effect => parts.includes(effect.part) && isFor(effect, process)))
      .map(({ startMs, healedMs }) => ({ fromMs: startMs, toMs: healedMs }));
  }
}

const isFor = ({ process }: Effect, asked: number): boolean => process === undefined || process === asked;

/** The parts of `whole` that are in none of the intervals. */
function gapsBetween(intervals: readonly Interval[], whole: Interval): Interval[] {
  const gaps: Interval[] = [];
  let { fromMs } = whole;
  for (const each of intervals.toSorted((one, other) => one.fromMs - other.fromMs)) {
    if (each.fromMs >= whole.toMs) break;
    if (each.fromMs > fromMs) gaps.push({ fromMs, toMs: each.fromMs });
    fromMs = Math.max(fromMs, each.toMs);
  }
  if (fromMs < whole.toMs) gaps.push({ fromMs, toMs: whole.toMs });
  return gaps;
}
