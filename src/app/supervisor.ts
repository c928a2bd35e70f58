/**
 * Several processes on one port, and somebody who sees to them: a worker that dies is replaced, one that hangs is
 * ended first, and SIGHUP replaces all of them one after the other without a request being lost. The supervisor
 * itself serves nobody and holds nothing but the socket, so there is little that could bring it down.
 */
import type { Clock } from '../base/clock.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { WorkerMessage } from './supervision.ts';

/** A process that serves, as the supervisor sees it. */
export interface Worker {
  readonly pid: number;
  /** The exit code, or what it was killed by. */
  readonly exited: Promise<number | string>;
  /** Tells it to leave while others go on. */
  retire(): void;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export interface SupervisorOptions {
  readonly count: number;
  /** Starts a worker for one of the places, which are numbered from 0. */
  readonly start: (place: number, onMessage: (message: WorkerMessage) => void) => Worker;
  readonly clock: Clock;
  readonly log: Log;
}

interface Slot {
  readonly number: number;
  current: Running | undefined;
  /** Failures in a row, which decide how long the next start waits. */
  failures: number;
  stopWaiting: (() => void) | undefined;
}

interface Running {
  readonly worker: Worker;
  readonly ready: Promise<void>;
  heardMs: number;
  readyMs: number | undefined;
  /** True once its end is wanted, or nobody's concern but the one's who started it. */
  isLeaving: boolean;
  hasEnded: boolean;
}

/** A worker that lived this long has not failed to start. */
const settledMs = 10_000;
const pauseMsMax = 5_000;
const pauseMsFirst = 100;
/** Silence after which a worker counts as hung. */
const silenceMaxMs = 30_000;
const watchMs = 5_000;
/** More than a worker gives its clients and its clicks. */
const leaveMaxMs = 30_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #slots: Slot[];
  #isStopping = false;
  #replacing: Promise<void> = Promise.resolve();
  #stopWatching: () => void = () => {};

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.count }, (_, index) => ({
      number: index + 1,
      current: undefined,
      failures: 0,
      stopWaiting: undefined,
    }));
  }

  get pids(): number[] {
    return this.#slots.flatMap(({ current }) => (current === undefined ? [] : [current.worker.pid]));
  }

  /** Starts them all. The first goes ahead, because it may have a database to make; if it cannot start, nobody can. */
  async start(): Promise<void> {
    const [first, ...others] = this.#slots;
    const leader = this.#run(first!);
    leader.isLeaving = true;
    await leader.ready;
    leader.isLeaving = false;
    // One that fails now is tried again like any that fails later.
    await Promise.allSettled(others.map(slot => this.#run(slot).ready));
    this.#stopWatching = this.#options.clock.every(watchMs, () => this.#endHung());
  }

  /** Replaces every worker, one after the other; each leaves only when its successor serves. */
  replaceAll(): Promise<void> {
    this.#replacing = this.#replacing.then(async () => {
      for (const slot of this.#slots) {
        if (this.#isStopping) return;
        await this.#replace(slot);
      }
    });
    return this.#replacing;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopWatching();
    const { clock } = this.#options;
    await Promise.all(
      this.#slots.map(async slot => {
        slot.stopWaiting?.();
        const { current } = slot;
        if (current === undefined) return;
        current.isLeaving = true;
        current.worker.kill('SIGTERM');
        const cancel = clock.after(leaveMaxMs, () => current.worker.kill('SIGKILL'));
        await current.worker.exited;
        cancel();
      }),
    );
  }

  #run(slot: Slot): Running {
    const { clock, log } = this.#options;
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
    const worker = this.#options.start(slot.number - 1, message => {
      running.heardMs = clock.monotonicMs();
      if (message.kind !== 'ready') return;
      running.readyMs = running.heardMs;
      resolve();
    });
    const running: Running = {
      worker,
      ready,
      heardMs: clock.monotonicMs(),
      readyMs: undefined,
      isLeaving: false,
      hasEnded: false,
    };
    // Whoever waits for it hears of a failure; the rest is the concern of `#ended`.
    ready.catch(() => undefined);
    slot.current = running;
    worker.exited.then(how => {
      running.hasEnded = true;
      if (running.readyMs === undefined) reject(new WorkerFailed(how));
      if (!running.isLeaving) log.error('a worker ended', { worker: slot.number, pid: worker.pid, how });
      this.#ended(slot, running);
    });
    return running;
  }

  #ended(slot: Slot, running: Running): void {
    if (slot.current !== running) return;
    slot.current = undefined;
    if (this.#isStopping || running.isLeaving) return;
    const { clock } = this.#options;
    const isSettled = running.readyMs !== undefined && clock.monotonicMs() - running.readyMs >= settledMs;
    slot.failures = isSettled ? 0 : slot.failures + 1;
    const pauseMs = slot.failures < 2 ? 0 : Math.min(pauseMsMax, pauseMsFirst * 2 ** (slot.failures - 2));
    slot.stopWaiting = clock.after(pauseMs, () => {
      if (!this.#isStopping) this.#run(slot);
    });
  }

  async #replace(slot: Slot): Promise<void> {
    const { log, clock } = this.#options;
    const old = slot.current;
    const next = this.#run(slot);
    next.isLeaving = true;
    try {
      await next.ready;
      next.isLeaving = false;
    } catch (error) {
      log.error('a worker could not be replaced', { worker: slot.number, failure: describeFailure(error) });
      if (old === undefined || old.hasEnded) this.#run(slot);
      else slot.current = old;
      return;
    }
    if (old === undefined || old.hasEnded) return;
    old.isLeaving = true;
    old.worker.retire();
    const cancel = clock.after(leaveMaxMs, () => old.worker.kill('SIGKILL'));
    await old.worker.exited;
    cancel();
  }

  #endHung(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const { number, current } of this.#slots) {
      if (current === undefined || nowMs - current.heardMs < silenceMaxMs) continue;
      this.#options.log.error('a worker hangs and is ended', { worker: number, pid: current.worker.pid });
      current.worker.kill('SIGKILL');
    }
  }
}

/** The worker has said why itself. */
export class WorkerFailed extends Error {
  readonly exitCode: number;

  constructor(how: number | string) {
    super(`a worker could not start (${how})`);
    this.exitCode = typeof how === 'number' && how !== 0 ? how : 1;
  }
}
