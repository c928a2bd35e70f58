/**
 * One worker from its start to its end, as its supervisor sees it. It is `starting` until it says that it is ready,
 * then `serving`, and `leaving` once its end is wanted or announced. Invariant: it never goes back, and every
 * promise here is kept, also for a process that could not even be started.
 */
import type { Clock } from '../base/clock.ts';
import type { SupervisorMessage, WorkerMessage } from './supervision.ts';

/** A process that serves. */
export interface Worker {
  readonly pid: number;
  /** The exit code, or what it was killed by. */
  readonly exited: Promise<number | string>;
  send(message: SupervisorMessage): void;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export type StartWorker = (place: number, onMessage: (message: WorkerMessage) => void) => Worker;

export interface WorkerEvents {
  onServing(worker: RunningWorker): void;
  onLeaving(worker: RunningWorker): void;
  onEnded(worker: RunningWorker, how: number | string): void;
  onMessage(worker: RunningWorker, message: WorkerMessage): void;
}

/** More than a worker gives its clients and its clicks. */
export const leaveMaxMs = 60_000;

export class RunningWorker {
  readonly place: number;
  /** Whether it came to serve, as soon as that is known. */
  readonly settled: Promise<boolean>;
  readonly ended: Promise<number | string>;
  phase: 'starting' | 'serving' | 'leaving' | 'ended' = 'starting';
  /** When it was started or last said anything. */
  heardMs: number;
  servingSinceMs: number | undefined;
  isHung = false;
  readonly #worker: Worker;
  readonly #clock: Clock;
  #attended: readonly number[] = [];
  #cancelKill: (() => void) | undefined;

  constructor(place: number, start: StartWorker, clock: Clock, events: WorkerEvents) {
    this.place = place;
    this.#clock = clock;
    this.heardMs = clock.monotonicMs();
    const { promise: settled, resolve: settle } = Promise.withResolvers<boolean>();
    this.settled = settled;
    this.#worker = startOr(start, place, message => {
      if (this.phase === 'ended') return;
      this.heardMs = clock.monotonicMs();
      if (message.kind === 'ready' && this.phase === 'starting') {
        this.phase = 'serving';
        this.servingSinceMs = this.heardMs;
        events.onServing(this);
        settle(true);
      } else if (message.kind === 'leaving' && this.phase !== 'leaving') {
        this.#leave();
        events.onLeaving(this);
      } else events.onMessage(this, message);
    });
    this.ended = this.#worker.exited.then(how => {
      this.#cancelKill?.();
      events.onEnded(this, how);
      this.phase = 'ended';
      settle(false);
      return how;
    });
  }

  get pid(): number {
    return this.#worker.pid;
  }

  silentMs(nowMs: number): number {
    return nowMs - this.heardMs;
  }

  /** Asks it to leave while others go on. */
  retire(): void {
    this.#leave();
    this.send({ kind: 'retire' });
  }

  /** Asks it to end, also when it is leaving already. */
  stop(): void {
    this.#leave();
    this.#worker.kill('SIGTERM');
  }

  kill(): void {
    this.#worker.kill('SIGKILL');
  }

  /** Tells it whose sockets to serve beside its own, if that is news. */
  attend(places: readonly number[]): void {
    if (places.join() === this.#attended.join()) return;
    this.#attended = places;
    this.send({ kind: 'attend', places });
  }

  /** A worker that cannot be told anything is about to end, or is ended for its silence. */
  send(message: SupervisorMessage): void {
    try {
      this.#worker.send(message);
    } catch {}
  }

  #leave(): void {
    if (this.phase === 'ended') return;
    this.phase = 'leaving';
    this.#cancelKill ??= this.#clock.after(leaveMaxMs, () => this.kill());
  }
}

function startOr(start: StartWorker, place: number, onMessage: (message: WorkerMessage) => void): Worker {
  try {
    return start(place, onMessage);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { pid: 0, exited: Promise.resolve(reason), send() {}, kill() {} };
  }
}
