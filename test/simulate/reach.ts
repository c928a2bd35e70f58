/**
 * Records what each process could reach when, and computes how long it may therefore act on outdated state. The bounds
 * are those of ADR 21.
 */

/** By the feed or by messages, with the latency of this network. */
const usualBoundMs = 3_600;
export const isolatedMs = 15_000;
/** After this long together on the channel two processes know each other. */
const acquaintedMs = 3_000;
/** A process that has been silent for longer may be forgotten. */
const silentMaxMs = 600_000;

/** One life of a process. */
export interface ProcessLife {
  readonly process: number;
  readonly life: number;
}

interface Span {
  readonly life: number;
  readonly fromMs: number;
  toMs: number;
}

export class Reach {
  /** For each process, when it could reach the database. */
  readonly #store: readonly Span[][];
  /** For each process, when it could send and receive every message. */
  readonly #channel: readonly Span[][];

  constructor(processes: number) {
    this.#store = Array.from({ length: processes }, () => []);
    this.#channel = Array.from({ length: processes }, () => []);
  }

  note(at: ProcessLife, nowMs: number, { store, channel }: { store: boolean; channel: boolean }): void {
    extend(this.#store[at.process]!, at.life, nowMs, store);
    extend(this.#channel[at.process]!, at.life, nowMs, channel);
  }

  /** Whether it has reached the database all this time, and for long enough before to know that it does. */
  reachesStore({ process, life }: ProcessLife, fromMs: number, toMs: number): boolean {
    return this.#store[process]!.some(
      span => span.life === life && span.fromMs <= fromMs - usualBoundMs && span.toMs >= toMs,
    );
  }

  /** Whether `reader` may at `atMs` act on the state before a change that `changer` acknowledged at `ackedMs`. */
  mayBeStale(reader: ProcessLife, changer: ProcessLife, ackedMs: number, atMs: number): boolean {
    if (reader.process === changer.process && reader.life === changer.life) return false;
    if (atMs - ackedMs <= usualBoundMs) return true;
    const together = this.#together(reader, changer);
    const proofs = [...ofLife(this.#store, reader), ...together];
    // The process could learn of the change for long enough, from either source.
    if (proofs.some(({ fromMs, toMs }) => Math.min(toMs, atMs) - Math.max(fromMs, ackedMs) > usualBoundMs))
      return false;
    const areAcquainted = together.some(
      ({ fromMs, toMs }) => Math.min(toMs, ackedMs) - fromMs >= acquaintedMs && toMs >= ackedMs - silentMaxMs,
    );
    // The gap of ADR 21: a process that was never seen on the channel.
    return !areAcquainted || atMs - ackedMs <= isolatedMs + usualBoundMs;
  }

  /** When both were on the channel. */
  #together(one: ProcessLife, other: ProcessLife): Span[] {
    return ofLife(this.#channel, one).flatMap(({ life, fromMs, toMs }) =>
      ofLife(this.#channel, other)
        .map(span => ({ life, fromMs: Math.max(fromMs, span.fromMs), toMs: Math.min(toMs, span.toMs) }))
        .filter(span => span.fromMs < span.toMs),
    );
  }
}

const ofLife = (spans: readonly Span[][], { process, life }: ProcessLife): Span[] =>
  spans[process]!.filter(span => span.life === life);

function extend(spans: Span[], life: number, nowMs: number, isWell: boolean): void {
  const last = spans.at(-1);
  const isOpen = last?.toMs === Number.POSITIVE_INFINITY;
  if (isOpen && isWell && last.life === life) return;
  if (isOpen) last.toMs = nowMs;
  if (isWell) spans.push({ life, fromMs: nowMs, toMs: Number.POSITIVE_INFINITY });
}
