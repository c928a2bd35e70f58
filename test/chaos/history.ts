/**
 * The history of a chaos run, one JSON object per line: every operation of every client with its outcome, every fault,
 * and the reads at the end. The checker has no other input. Times are milliseconds since the run began, by the
 * monotonic clock of the one process that has all clients, so they are comparable.
 */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * `ok`: the server did it. `failed`: it certainly did not (4xx, or a 503 that says so). `unknown`: it may have done it, or
 * may still do it (no answer, or a 503 that says so).
 */
export type Outcome = 'ok' | 'failed' | 'unknown';

interface Attempt {
  readonly type: 'operation';
  /** The Terse process that was asked. */
  readonly process: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
  /** The status of the answer; undefined without one. */
  readonly status?: number | undefined;
  /** The maximum lag of the client's own event loop during the operation. */
  readonly lagMs: number;
}

export interface Create extends Attempt {
  readonly kind: 'create' | 'alias' | 'bulk';
  readonly owner: string;
  readonly longUrl: string;
  readonly alias?: string | undefined;
  /** By the wall clock. */
  readonly expiresAtMs?: number | undefined;
  readonly maxClicks?: number | undefined;
  /** From the answer. */
  readonly code?: string | undefined;
}

export interface Change extends Attempt {
  readonly kind: 'edit' | 'disable' | 'enable' | 'delete';
  readonly code: string;
  /** The new destination of an edit. */
  readonly longUrl?: string | undefined;
}

export interface Visit extends Attempt {
  readonly kind: 'hot' | 'cold' | 'killed' | 'expiring' | 'limited' | 'never-issued' | 'final';
  readonly code: string;
  readonly location?: string | undefined;
  /** The problem code of a 404 or 410. */
  readonly reason?: string | undefined;
}

/** Clicks of a link in the statistics; `final-stats` once everything is counted. */
export interface StatsRead extends Attempt {
  readonly kind: 'stats' | 'final-stats';
  readonly code: string;
  readonly clicks?: number | undefined;
}

export interface KeyOperation extends Attempt {
  readonly kind: 'create-key' | 'revoke-key' | 'use-key';
  /** Undefined when its creation was not answered. */
  readonly keyId?: string | undefined;
}

export type Operation = Create | Change | Visit | StatsRead | KeyOperation;

/** The part that a fault takes from one or all processes. `clients`: the connections of its clients. */
export interface Effect {
  readonly part: 'store' | 'redis' | 'stream' | 'stats' | 'process' | 'clients' | 'clock';
  /** All processes when undefined. */
  readonly process?: number | undefined;
  /** How far the clock of the process is set forward. */
  readonly skewMs?: number | undefined;
  /** For a process that was killed, not paused or stopped: the times before and after the kill. */
  readonly killMs?: readonly [number, number] | undefined;
}

export interface Fault {
  readonly type: 'fault';
  readonly name: string;
  readonly startMs: number;
  /** When everything that was broken was available again. */
  readonly healedMs: number;
  readonly effects: readonly Effect[];
}

/** Terse's account at the end: how many clicks it counted and lost. */
export interface ClickAccount {
  readonly type: 'clicks';
  readonly lost: number;
  readonly counted: number;
}

export interface Run {
  readonly type: 'run';
  readonly seed: number;
  readonly engines: string;
  readonly processes: number;
  /** The wall clock when the run began. */
  readonly wallMs: number;
  /** As in TERSE_STALE_IF_ISOLATED_S. */
  readonly isolatedMs: number;
}

export type HistoryEvent = Run | Operation | Fault | ClickAccount;

const writeEveryLines = 500;
const lagEveryMs = 100;
/** Timers are this late on an idle machine, too. */
const lagMinMs = 20;

/** Writes the history during the run; if the process dies, fewer than `writeEveryLines` lines are lost. */
export class Recorder {
  readonly path: string;
  readonly #startedMs = performance.now();
  readonly #lags: { readonly atMs: number; readonly lagMs: number }[] = [];
  readonly #timer: ReturnType<typeof setInterval>;
  #lines: string[] = [];

  constructor(path: string) {
    this.path = path;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '');
    let dueMs = this.nowMs + lagEveryMs;
    this.#timer = setInterval(() => {
      const lagMs = this.nowMs - dueMs;
      if (lagMs > lagMinMs) this.#lags.push({ atMs: this.nowMs, lagMs });
      dueMs = this.nowMs + lagEveryMs;
    }, lagEveryMs);
  }

  get nowMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** The maximum lag of the event loop since then. */
  lagSince(startMs: number): number {
    let worstMs = 0;
    for (let at = this.#lags.length - 1; at >= 0 && this.#lags[at]!.atMs >= startMs; at -= 1)
      worstMs = Math.max(worstMs, this.#lags[at]!.lagMs);
    return Math.round(worstMs);
  }

  add(event: HistoryEvent): void {
    this.#lines.push(`${JSON.stringify(event, rounded)}\n`);
    if (this.#lines.length >= writeEveryLines) this.#write();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#write();
  }

  #write(): void {
    appendFileSync(this.path, this.#lines.join(''));
    this.#lines = [];
  }
}

/** Rounds to a tenth of a millisecond, to keep the file short. */
const rounded = (_name: string, value: unknown): unknown =>
  typeof value === 'number' ? Math.round(value * 10) / 10 : value;

export function readHistory(path: string): HistoryEvent[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter(line => line !== '').map(line => JSON.parse(line) as HistoryEvent);
}
