/**
 * One worker from its start to its end, as its supervisor sees it. It is `starting` until it reports ready, then
 * `serving`, and `leaving` once its end is requested or announced. Invariant: it never goes back, and every
 * promise here settles, also for a process that could not even be started.
 */
import type { Clock } from '../base/clock.ts';
import { supervisedVariable } from '../config/sources.ts';
import { placeText, type SupervisorMessage, type WorkerMessage } from './supervised.ts';

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
  /** Whether it reached `serving`, as soon as that is known. */
  readonly settled: Promise<boolean>;
  readonly ended: Promise<number | string>;
  phase: 'starting' | 'serving' | 'leaving' | 'ended' = 'starting';
  /** When it was started or last sent a message. */
  lastHeartbeatMs: number;
  servingSinceMs: number | undefined;
  isHung = false;
  readonly #worker: Worker;
  readonly #clock: Clock;
  #attended: readonly number[] = [];
  #cancelKill: (() => void) | undefined;

  constructor(place: number, start: StartWorker, clock: Clock, events: WorkerEvents) {
    this.place = place;
    this.#clock = clock;
    this.lastHeartbeatMs = clock.monotonicMs();
    const { promise: settled, resolve: settle } = Promise.withResolvers<boolean>();
    this.settled = settled;
    this.#worker = startOr(start, place, message => {
      if (this.phase === 'ended') return;
      this.lastHeartbeatMs = clock.monotonicMs();
      if (message.kind === 'ready' && this.phase === 'starting') {
        this.phase = 'serving';
        this.servingSinceMs = this.lastHeartbeatMs;
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
    return nowMs - this.lastHeartbeatMs;
  }

  /** Asks it to leave while others keep serving. */
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

  /** Sends it the places whose sockets to serve beside its own, if they changed. */
  attend(places: readonly number[]): void {
    if (places.join() === this.#attended.join()) return;
    this.#attended = places;
    this.send({ kind: 'attend', places });
  }

  /** A worker that cannot receive messages is about to end, or is killed as unresponsive. */
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

/** Starts a worker: the same program again, with the sockets of all places right after the standard streams. */
export interface WorkerProcessOptions {
  /** The file that this process was started with. */
  readonly script: string;
  /** This process's own flags and environment: a worker reads the same settings from them. */
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly port: number;
  readonly fds: readonly number[];
}

export function createWorkerProcesses(options: WorkerProcessOptions): StartWorker {
  const { script, flags, environment, port, fds } = options;
  // An executable is its own script.
  const program = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, script];
  return (index, onMessage) => {
    const child = Bun.spawn([...program, 'serve', ...flags], {
      stdio: ['ignore', 'inherit', 'inherit', ...fds],
      env: { ...environment, [supervisedVariable]: placeText({ index, count: fds.length, port }) },
      ipc: message => onMessage(message as WorkerMessage),
    });
    return {
      pid: child.pid,
      exited: child.exited.then(code => child.signalCode ?? code),
      send: message => child.send(message),
      kill: signal => child.kill(signal),
    };
  };
}
