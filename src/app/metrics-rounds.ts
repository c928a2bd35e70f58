/**
 * The numbers of all workers, for whichever of them was asked. They are gathered in rounds: everyone is asked at once,
 * and whoever has not answered in time is left out with all but what it had counted when last heard.
 *
 * Invariant: a counter never falls. What a worker had counted is kept when it ends, or a restart would look like work
 * undone, and a rate over it like work that was never done.
 */
import type { Clock } from '../base/clock.ts';
import type { Metric } from '../ops/metrics.ts';
import { mergeMetrics, onlyCounters } from '../ops/metrics-merge.ts';
import type { SupervisorMessage } from './supervision.ts';

/** Less than a worker waits for all of it. */
const roundMaxMs = 400;

export interface Reporter {
  send(message: SupervisorMessage): void;
}

export interface Gathered<Asked> {
  readonly metrics: Metric[];
  readonly heard: ReadonlySet<Asked>;
}

interface Round<Asked> {
  readonly number: number;
  readonly missing: Set<Asked>;
  readonly heard: Set<Asked>;
  readonly gathered: Promise<Gathered<Asked>>;
  readonly end: () => void;
}

export class MetricsRounds<Asked extends Reporter = Reporter> {
  readonly #clock: Clock;
  readonly #latest = new Map<Asked, readonly Metric[]>();
  /** Counted by those who are gone. */
  #departed: readonly Metric[] = [];
  #round: Round<Asked> | undefined;
  #rounds = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those who ask while a round is on share it. */
  gather(reporters: readonly Asked[]): Promise<Gathered<Asked>> {
    this.#round ??= this.#begin(reporters);
    return this.#round.gathered;
  }

  take(reporter: Asked, round: number | undefined, metrics: readonly Metric[]): void {
    this.#latest.set(reporter, metrics);
    if (this.#round?.number !== round) return;
    this.#round?.heard.add(reporter);
    this.#passOver(reporter);
  }

  /** It has ended. */
  forget(reporter: Asked): void {
    const latest = this.#latest.get(reporter);
    this.#latest.delete(reporter);
    if (latest !== undefined) this.#departed = mergeMetrics([this.#departed, onlyCounters(latest)]);
    this.#passOver(reporter);
  }

  /** Nothing more is to be expected of it in this round. */
  #passOver(reporter: Asked): void {
    const round = this.#round;
    if (round?.missing.delete(reporter) && round.missing.size === 0) round.end();
  }

  #begin(reporters: readonly Asked[]): Round<Asked> {
    this.#rounds += 1;
    const { promise: gathered, resolve } = Promise.withResolvers<Gathered<Asked>>();
    const heard = new Set<Asked>();
    const end = (): void => {
      cancel();
      this.#round = undefined;
      resolve({ metrics: this.#merged(heard), heard });
    };
    const cancel = this.#clock.after(roundMaxMs, end);
    const round = { number: this.#rounds, missing: new Set(reporters), heard, gathered, end };
    for (const reporter of reporters) reporter.send({ kind: 'giveMetrics', round: round.number });
    return round;
  }

  #merged(heard: ReadonlySet<Asked>): Metric[] {
    const parts = [...this.#latest].map(([reporter, metrics]) =>
      heard.has(reporter) ? metrics : onlyCounters(metrics),
    );
    // The living first: they know today's words.
    return mergeMetrics([...parts, this.#departed]);
  }
}
