/**
 * A bounded queue for work that any client can request and that occupies a core, such as hashing a password. Its
 * order keeps a flood from delaying all other clients. Clients with the same `lane` count as one. Preferred turns go
 * first; then those whose lane has asked least often recently; of equals the newest, because in a flood the oldest are
 * the ones whose clients are about to time out. A turn that finds the queue full takes the place of the last one in
 * that order, so a flood cannot keep a quiet client out by filling the queue first.
 * Invariants: at most `concurrency` run and `waitingMax` wait, `waitingPerLaneMax` of one lane; a waiting turn is
 * started or rejected within `waitMaxMs` plus the duration of one task; memory does not grow with the number of lanes.
 */
import type { Clock } from './clock.ts';

export interface Turn {
  /** The client that the work is for, such as a network address. */
  readonly lane: string;
  /** Goes before all turns that are not preferred. */
  readonly isPreferred: boolean;
  /** Whether the client no longer waits for the result; checked again before the work starts. */
  readonly isAbandoned: () => boolean;
  /** Runs when the turn has come; if it fails, the work is not started. */
  readonly onBegin?: () => Promise<void>;
}

export interface FairQueueOptions {
  readonly concurrency: number;
  readonly waitingMax: number;
  readonly waitingPerLaneMax: number;
  readonly waitMaxMs: number;
  readonly clock: Clock;
  /** The error of a turn that is not started. */
  readonly refusal: () => Error;
}

interface Waiting {
  readonly turn: Turn;
  readonly level: number;
  readonly sinceMs: number;
  readonly begin: () => void;
  readonly refuse: (error: Error) => void;
}

/** The half-life of a request in the count of its lane. */
const halfLifeMs = 60_000;
const lanesMax = 10_000;

export class FairQueue {
  readonly #options: FairQueueOptions;
  /** In order of arrival. */
  #waiting: Waiting[] = [];
  /** How often each lane has asked, least recently active first. */
  readonly #asked = new Map<string, { readonly count: number; readonly atMs: number }>();
  #running = 0;
  #refused = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get refused(): number {
    return this.#refused;
  }

  async run<Result>(turn: Turn, work: () => Promise<Result>): Promise<Result> {
    await this.#admit(turn);
    try {
      await turn.onBegin?.();
      return await work();
    } finally {
      this.#running -= 1;
      this.#beginNext();
    }
  }

  #admit(turn: Turn): Promise<void> {
    const level = this.#noteAsked(turn.lane);
    if (this.#running < this.#options.concurrency) {
      this.#running += 1;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sinceMs = this.#options.clock.monotonicMs();
    this.#waiting.push({ turn, level, sinceMs, begin: resolve, refuse: reject });
    this.#refuseStale();
    const ofLane = this.#waiting.filter(each => each.turn.lane === turn.lane);
    if (ofLane.length > this.#options.waitingPerLaneMax) this.#refuse(lastOf(ofLane));
    if (this.#waiting.length > this.#options.waitingMax) this.#refuse(lastOf(this.#waiting));
    return promise;
  }

  #beginNext(): void {
    this.#refuseStale();
    if (this.#waiting.length === 0) return;
    const next = this.#waiting.reduce((first, each) => (comesBefore(first, each) ? first : each));
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#running += 1;
    next.begin();
  }

  #refuseStale(): void {
    const { clock, waitMaxMs } = this.#options;
    const oldestMs = clock.monotonicMs() - waitMaxMs;
    for (const each of this.#waiting.filter(({ turn, sinceMs }) => sinceMs <= oldestMs || turn.isAbandoned()))
      this.#refuse(each);
  }

  #refuse(waiting: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    this.#refused += 1;
    waiting.refuse(this.#options.refusal());
  }

  /** How often the lane has asked recently, this time included. */
  #noteAsked(lane: string): number {
    const atMs = this.#options.clock.monotonicMs();
    const before = this.#asked.get(lane) ?? { count: 0, atMs };
    const count = before.count * 0.5 ** ((atMs - before.atMs) / halfLifeMs) + 1;
    this.#asked.delete(lane);
    this.#asked.set(lane, { count, atMs });
    if (this.#asked.size > lanesMax) this.#asked.delete(this.#asked.keys().next().value!);
    // Rounded, so that a client that asked a while ago does not rank behind clients that never did.
    return Math.floor(count);
  }
}

/** Whether `older`, which came first, is served before `newer`. */
function comesBefore(older: Waiting, newer: Waiting): boolean {
  if (older.turn.isPreferred !== newer.turn.isPreferred) return older.turn.isPreferred;
  return older.level < newer.level;
}

/** Of turns in order of arrival. */
const lastOf = (waiting: readonly Waiting[]): Waiting =>
  waiting.reduce((last, each) => (comesBefore(last, each) ? each : last));
