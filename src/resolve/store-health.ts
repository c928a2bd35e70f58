/**
 * Whether the store answers, judged by the reads that are made anyway. It counts as failing after two consecutive
 * failures, or while a read waits for several turns of the event loop and no read has been answered. Turns are counted
 * rather than milliseconds, because a process that was itself stopped for a minute has learned nothing about the store.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { LinkStore } from '../links/store.ts';

const turnMs = 100;
const waitingTurnsMax = 4;
const failuresMax = 2;

export class StoreHealth {
  readonly #clock: Clock;
  /** The turn in which each read began, in order. */
  readonly #waiting = new Set<{ readonly sinceTurn: number }>();
  #turn = 0;
  #answeredTurn = 0;
  #failures = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #stop: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#stop = this.#clock.every(turnMs, () => {
      this.#turn += 1;
    });
  }

  stop(): void {
    this.#stop?.();
  }

  get isFailing(): boolean {
    if (this.#failures >= failuresMax) return true;
    if (this.#turn - this.#answeredTurn < waitingTurnsMax) return false;
    const [oldest] = this.#waiting;
    return oldest !== undefined && this.#turn - oldest.sinceTurn >= waitingTurnsMax;
  }

  /** The same store with its reads monitored. A replica's answer says nothing about the store itself. */
  watched<Store extends Pick<LinkStore, 'find' | 'changes' | 'spans'>>(store: Store): Store {
    return {
      ...store,
      find: code => this.watch(() => store.find(code)),
      changes: (afterSeq, limit) => this.watch(() => store.changes(afterSeq, limit)),
      spans: length => this.watch(() => store.spans(length)),
    };
  }

  async watch<T>(read: () => Promise<T>): Promise<T> {
    const waiting = { sinceTurn: this.#turn };
    const startedMs = this.#clock.monotonicMs();
    this.#waiting.add(waiting);
    try {
      const value = await read();
      this.#failures = 0;
      this.#answeredTurn = this.#turn;
      return value;
    } catch (error) {
      // A read that was rejected because too many wait says nothing about the store.
      const isOurs = error instanceof Problem && error.code === 'overloaded';
      // Reads that waited at the same time fail together, and count as one failure.
      if (!isOurs && startedMs >= this.#failedAtMs) {
        this.#failures += 1;
        this.#failedAtMs = this.#clock.monotonicMs();
      }
      throw error;
    } finally {
      this.#waiting.delete(waiting);
    }
  }
}
