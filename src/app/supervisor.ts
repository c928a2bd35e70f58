/**
 * Several processes on one port, and somebody who sees to them: a worker that dies is replaced, one that hangs is
 * ended first, and SIGHUP replaces all of them one after the other without a request being lost. The supervisor
 * itself serves nobody and holds nothing but the sockets, so there is little that could bring it down.
 *
 * Each worker has a place with a socket of its own. Clients of a place come to it whether or not anybody is there, so
 * while its worker is away or silent, another one serves its socket too.
 *
 * Invariants: a place has at most one worker that serves it and one that is about to; nothing is started once a
 * stop was wished; a stop ends only when every process that was started has ended.
 */
import type { Clock } from '../base/clock.ts';
import type { Log, LogLevel } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import { byLabel, oneValue } from './metric-table.ts';
import { MetricsRounds } from './metrics-rounds.ts';
import { RunningWorker, type StartWorker } from './running-worker.ts';
import type { WorkerMessage } from './supervision.ts';

export interface SupervisorOptions {
  readonly count: number;
  /** Starts a worker for one of the places, which are numbered from 0. */
  readonly start: StartWorker;
  readonly clock: Clock;
  readonly log: Log;
}

interface Place {
  current: RunningWorker | undefined;
  /** Starts, and follows `current` as soon as it is ready. */
  next: RunningWorker | undefined;
  /** Failures in a row, which decide how long the next start waits. */
  failures: number;
  cancelStart: (() => void) | undefined;
}

type RestartReason = 'died' | 'hung' | 'left' | 'replaced';

/** A worker that served this long has not failed to start. */
const settledMs = 10_000;
const pauseMsFirst = 100;
const pauseMsMax = 5_000;
const watchMs = 1_000;
/** Silence after which another serves the socket too, and after which a worker counts as hung. */
const quietMaxMs = 3_000;
const silenceMaxMs = 10_000;
/** A worker that starts has a database to bring up to date and lists to read. */
const startMaxMs = 120_000;
/** A supervisor that was itself stopped or starved for this long knows nothing of anyone's silence. */
const lateMaxMs = 3_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #places: readonly Place[];
  readonly #workers = new Set<RunningWorker>();
  readonly #rounds: MetricsRounds<RunningWorker>;
  readonly #restarts: Record<RestartReason, number> = { died: 0, hung: 0, left: 0, replaced: 0 };
  #hasServed = false;
  #isStopping = false;
  readonly #started = Promise.withResolvers<void>();
  #round: Promise<void> = this.#started.promise;
  #nextRound: Promise<void> | undefined;
  #watchedMs: number;
  #stopWatching: () => void = () => {};
  /** Undefined while workers log as much as the settings say. */
  #logLevel: LogLevel | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#rounds = new MetricsRounds(options.clock);
    this.#watchedMs = options.clock.monotonicMs();
    this.#places = Array.from({ length: options.count }, () => ({
      current: undefined,
      next: undefined,
      failures: 0,
      cancelStart: undefined,
    }));
  }

  /** Starts them all. The first goes ahead, because it may have a database to make; if it cannot start, nobody can. */
  async start(): Promise<void> {
    this.#watchedMs = this.#options.clock.monotonicMs();
    this.#stopWatching = this.#options.clock.every(watchMs, () => this.#watch());
    const [first, ...others] = this.#places;
    const leader = this.#launch(first!);
    if (!(await leader.settled) && !this.#isStopping) {
      this.#stopWatching();
      throw new WorkerFailed(await leader.ended);
    }
    if (this.#isStopping) return;
    // One that fails now is tried again like any that fails later.
    await Promise.all(others.map(place => this.#launch(place).settled));
    this.#started.resolve();
  }

  /**
   * Replaces every worker, one after the other; each leaves only when its successor serves. Whoever wishes it while
   * that goes on gets one more round after it, together with all others who do.
   */
  replaceAll(): Promise<void> {
    this.#nextRound ??= this.#round.then(() => {
      this.#nextRound = undefined;
      this.#round = this.#replaceEach();
      return this.#round;
    });
    return this.#nextRound;
  }

  /** How much all workers log from now on, also those that come later. */
  setLogLevel(level: LogLevel): void {
    this.#logLevel = level;
    for (const worker of this.#workers) worker.send({ kind: 'setLogLevel', level });
  }

  /** The metrics of all workers that respond in time, and the supervisor's own. */
  async metricsOfAll(): Promise<readonly Metric[]> {
    const asked = [...this.#workers].filter(({ servingSinceMs }) => servingSinceMs !== undefined);
    const { metrics, heard } = await this.#rounds.gather(asked);
    return [...metrics, ...this.#metrics(heard)];
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopWatching();
    for (const place of this.#places) place.cancelStart?.();
    const workers = [...this.#workers];
    for (const worker of workers) worker.stop();
    await Promise.all(workers.map(({ ended }) => ended));
  }

  /** Ends every worker at once, whatever it is doing. */
  abandon(): void {
    this.#isStopping = true;
    for (const worker of this.#workers) worker.kill();
  }

  #launch(place: Place): RunningWorker {
    place.cancelStart?.();
    place.cancelStart = undefined;
    const { start, clock } = this.#options;
    const worker = new RunningWorker(this.#places.indexOf(place), start, clock, {
      onServing: () => this.#serves(place, worker),
      onLeaving: () => this.#leaves(place, worker),
      onEnded: (_, how) => this.#ended(place, worker, how),
      onMessage: (_, message) => this.#take(worker, message),
    });
    place.next = worker;
    this.#workers.add(worker);
    return worker;
  }

  #serves(place: Place, worker: RunningWorker): void {
    const before = place.current;
    place.current = worker;
    place.next = undefined;
    this.#hasServed = true;
    if (this.#logLevel !== undefined) worker.send({ kind: 'setLogLevel', level: this.#logLevel });
    this.#shareSockets();
    if (before === undefined) return;
    this.#restarts.replaced += 1;
    before.retire();
  }

  /** Somebody told it to end, and it was not us: its successor need not wait until it has. */
  #leaves(place: Place, worker: RunningWorker): void {
    if (this.#isStopping || place.current !== worker) return;
    this.#options.log.warn('a worker leaves and is replaced', this.#words(worker));
    this.#restarts.left += 1;
    place.current = undefined;
    if (place.next === undefined) this.#launch(place);
    this.#shareSockets();
  }

  #ended(place: Place, worker: RunningWorker, how: number | string): void {
    const { phase } = worker;
    this.#workers.delete(worker);
    this.#rounds.forget(worker);
    if (place.current === worker) place.current = undefined;
    if (place.next === worker) place.next = undefined;
    if (phase === 'leaving' && how !== 0 && !this.#isStopping) {
      this.#options.log.warn('a worker did not end well', { ...this.#words(worker), how });
    }
    // Whoever serves the place, is about to, or waits to be started, is successor enough.
    const isNeeded = (place.current ?? place.next ?? place.cancelStart) === undefined;
    if (this.#isStopping || !this.#hasServed || (phase === 'leaving' && !isNeeded)) return;
    const { clock, log } = this.#options;
    this.#restarts[worker.isHung ? 'hung' : 'died'] += 1;
    const startsAgainInMs = isNeeded ? this.#pauseAfter(place, worker) : undefined;
    log.error('a worker ended', { ...this.#words(worker), how, startsAgainInMs });
    if (startsAgainInMs !== undefined) {
      place.cancelStart = clock.after(startsAgainInMs, () => void this.#launch(place));
    }
    this.#shareSockets();
  }

  #pauseAfter(place: Place, { servingSinceMs }: RunningWorker): number {
    const nowMs = this.#options.clock.monotonicMs();
    const isSettled = servingSinceMs !== undefined && nowMs - servingSinceMs >= settledMs;
    place.failures = isSettled ? 0 : place.failures + 1;
    return place.failures < 2 ? 0 : Math.min(pauseMsMax, pauseMsFirst * 2 ** (place.failures - 2));
  }

  async #replaceEach(): Promise<void> {
    const { log } = this.#options;
    for (const [index, place] of this.#places.entries()) {
      if (await this.#replace(place)) continue;
      // The next would fare no better, and those there are serve well enough.
      if (!this.#isStopping)
        log.error('a worker could not be replaced: the others stay', { worker: index + 1 });
      return;
    }
    log.info('the workers are replaced');
  }

  async #replace(place: Place): Promise<boolean> {
    // Whoever is just starting cannot be told to leave without losing the clients it may have by then.
    await place.next?.settled;
    if (this.#isStopping) return false;
    const before = place.current;
    const isServing = await this.#launch(place).settled;
    if (isServing) await before?.ended;
    return isServing;
  }

  #watch(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const isLate = nowMs - this.#watchedMs > watchMs + lateMaxMs;
    this.#watchedMs = nowMs;
    for (const worker of this.#workers) {
      if (isLate) worker.heardMs = nowMs;
      else if (isHung(worker, nowMs)) this.#endHung(worker);
    }
    this.#shareSockets();
  }

  #endHung(worker: RunningWorker): void {
    if (!worker.isHung) this.#options.log.error('a worker hangs and is ended', this.#words(worker));
    worker.isHung = true;
    worker.kill();
  }

  /** Gives the sockets that nobody serves to those who do serve theirs. */
  #shareSockets(): void {
    if (this.#isStopping) return;
    const nowMs = this.#options.clock.monotonicMs();
    const present: RunningWorker[] = [];
    const deserted: number[] = [];
    for (const [index, { current }] of this.#places.entries()) {
      if (current !== undefined && current.silentMs(nowMs) < quietMaxMs) present.push(current);
      else deserted.push(index);
    }
    for (const [order, worker] of present.entries()) {
      worker.attend(deserted.filter((_, turn) => turn % present.length === order));
    }
  }

  #take(worker: RunningWorker, message: WorkerMessage): void {
    if (message.kind === 'metrics') this.#rounds.take(worker, message.round, message.metrics);
    if (message.kind !== 'askMetrics') return;
    const { question } = message;
    this.metricsOfAll().then(metrics => worker.send({ kind: 'allMetrics', question, metrics }));
  }

  #metrics(heard: ReadonlySet<RunningWorker>): Metric[] {
    const serving = this.#places.flatMap(({ current }) => current ?? []);
    return [
      oneValue('terse_workers', this.#places.length),
      oneValue('terse_workers_serving', serving.length),
      oneValue('terse_workers_heard', serving.filter(worker => heard.has(worker)).length),
      byLabel('terse_worker_restarts_total', this.#restarts),
    ];
  }

  #words({ place, pid }: RunningWorker): { worker: number; pid: number } {
    return { worker: place + 1, pid };
  }
}

function isHung(worker: RunningWorker, nowMs: number): boolean {
  if (worker.phase === 'starting') return worker.silentMs(nowMs) >= startMaxMs;
  return worker.phase === 'serving' && worker.silentMs(nowMs) >= silenceMaxMs;
}

/** The first worker came to nothing. When it ended by itself, it has said why. */
export class WorkerFailed extends Error {
  readonly exitCode: number;
  readonly hasSpoken: boolean;

  constructor(how: number | string) {
    super(`the first worker came to nothing (${how})`);
    this.hasSpoken = typeof how === 'number';
    this.exitCode = typeof how === 'number' && how !== 0 ? how : 1;
  }
}
