/**
 * Several processes on one port, and their supervisor: a worker that dies is replaced, one that hangs is killed first,
 * and SIGHUP replaces all of them one after the other without losing a request. The supervisor itself serves no
 * clients and holds nothing but the sockets, so little can crash it.
 *
 * Each worker has a place with its own socket. Clients reach a place's socket whether or not its worker is there, so
 * while its worker is down or unresponsive, another one serves its socket too.
 *
 * Invariants: a place has at most one worker that serves it and one that is about to; nothing is started once a
 * stop was requested; a stop ends only when every process that was started has ended.
 */
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log, LogLevel } from '../telemetry/log.ts';
import { byLabel, oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import { MetricsRounds } from './metrics-rounds.ts';
import { RunningWorker, type StartWorker } from './running-worker.ts';
import type { WorkerMessage } from './supervised.ts';

export interface SupervisorOptions {
  readonly count: number;
  /** Starts a worker for one of the places, which are numbered from 0. */
  readonly start: StartWorker;
  readonly clock: Clock;
  readonly log: Log;
}

interface Place {
  current: RunningWorker | undefined;
  /** Starts, and replaces `current` as soon as it is ready. */
  next: RunningWorker | undefined;
  /** Failures in a row, which decide how long the next start waits. */
  failures: number;
  cancelStart: (() => void) | undefined;
}

type RestartReason = 'died' | 'hung' | 'left' | 'replaced';

/** A worker that served this long has not failed to start. */
const settledMs = 10_000;
const restartPause = { minMs: 100, maxMs: 5_000 };
const watchMs = 1_000;
/** Silence after which another worker serves the socket too, and after which a worker counts as hung. */
const quietMaxMs = 3_000;
const silenceMaxMs = 10_000;
/** A worker that starts may have to migrate a database and read lists. */
const startMaxMs = 120_000;
/** A supervisor that was itself stopped or starved for this long cannot judge any worker's silence. */
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

  /** Starts them all. The first goes ahead, because it may have to create a database; if it cannot start, none can. */
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
    // A failure now is retried like a later one.
    await Promise.all(others.map(place => this.#launch(place).settled));
    this.#started.resolve();
  }

  /**
   * Replaces every worker, one after the other; each leaves only when its successor serves. All requests that arrive
   * meanwhile share one more round after it.
   */
  replaceAll(): Promise<void> {
    this.#nextRound ??= this.#round.then(() => {
      this.#nextRound = undefined;
      this.#round = this.#replaceEach();
      return this.#round;
    });
    return this.#nextRound;
  }

  /** How much all workers log from now on, including later ones. */
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

  /** Kills every worker immediately, whatever it is doing. */
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

  /** Another process asked it to end: its successor need not wait until it has. */
  #leaves(place: Place, worker: RunningWorker): void {
    if (this.#isStopping || place.current !== worker) return;
    this.#options.log.warn('a worker is being replaced', this.#words(worker));
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
      this.#options.log.warn('a worker did not stop cleanly', { ...this.#words(worker), how });
    }
    // A worker that serves the place, is about to, or waits to be started, is successor enough.
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
    return place.failures < 2 ? 0 : backoffMs(place.failures - 1, restartPause);
  }

  async #replaceEach(): Promise<void> {
    const { log } = this.#options;
    for (const [index, place] of this.#places.entries()) {
      if (await this.#replace(place)) continue;
      // The next would fail too, and the existing workers serve well enough.
      if (!this.#isStopping)
        log.error('a worker could not be replaced: the others stay', { worker: index + 1 });
      return;
    }
    log.info('the workers are replaced');
  }

  async #replace(place: Place): Promise<boolean> {
    // A worker that is just starting cannot be asked to leave without losing the clients it may have by then.
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
      if (isLate) worker.lastHeartbeatMs = nowMs;
      else if (isHung(worker, nowMs)) this.#endHung(worker);
    }
    this.#shareSockets();
  }

  #endHung(worker: RunningWorker): void {
    if (!worker.isHung) this.#options.log.error('a worker hangs and is killed', this.#words(worker));
    worker.isHung = true;
    worker.kill();
  }

  /** Assigns the sockets without a serving worker to workers that serve. */
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
      oneValue('terse_workers_reporting', serving.filter(worker => heard.has(worker)).length),
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

/** The first worker failed. If it ended by itself, it has logged why. */
export class WorkerFailed extends Error {
  readonly exitCode: number;
  readonly hasSpoken: boolean;

  constructor(how: number | string) {
    super(`the first worker came to nothing (${how})`);
    this.hasSpoken = typeof how === 'number';
    this.exitCode = typeof how === 'number' && how !== 0 ? how : 1;
  }
}
