/**
 * Time, injected. Everything that needs "now" or "later" takes a Clock, so that a test can hold time still,
 * move it by an exact amount, and replay a failure. Nothing outside this file reads the wall clock.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch; may jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes backwards. For measuring durations. */
  monotonicMs(): number;
  /** Runs `task` once after `delayMs`; the returned function cancels it. Does not keep the process alive. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` every `periodMs` until the returned function is called. Does not keep the process alive. */
  every(periodMs: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs);
    timer.unref();
    return () => clearInterval(timer);
  },
};

/** Time in a browser, where timers are numbers and nothing needs to be kept alive. For the dashboard only. */
export const browserClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs);
    return () => clearInterval(timer);
  },
};

const longMs = 2 ** 30;

/** Keeps the process from exiting when it has no other work, until the returned function is called. */
export function stayAlive(): () => void {
  const timer = setInterval(() => {}, longMs);
  return () => clearInterval(timer);
}

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise(resolve => clock.after(delayMs, resolve));
}

interface PendingTask {
  dueMs: number;
  periodMs: number | undefined;
  task: () => void;
}

/** A clock that moves only when a test moves it. Due tasks run in time order, each seeing the time it was due. */
export class ManualClock implements Clock {
  #nowMs: number;
  #pending = new Set<PendingTask>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, task: () => void): () => void {
    return this.#schedule({ dueMs: this.#nowMs + delayMs, periodMs: undefined, task });
  }

  every(periodMs: number, task: () => void): () => void {
    return this.#schedule({ dueMs: this.#nowMs + periodMs, periodMs, task });
  }

  advance(byMs: number): void {
    const endMs = this.#nowMs + byMs;
    for (;;) {
      let next: PendingTask | undefined;
      for (const pending of this.#pending) {
        if (pending.dueMs <= endMs && (next === undefined || pending.dueMs < next.dueMs)) next = pending;
      }
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      if (next.periodMs === undefined) this.#pending.delete(next);
      else next.dueMs += next.periodMs;
      next.task();
    }
    this.#nowMs = endMs;
  }

  /** Sets the wall clock, also backwards, without running anything. */
  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  #schedule(pending: PendingTask): () => void {
    this.#pending.add(pending);
    return () => this.#pending.delete(pending);
  }
}

/** Lets pending requests run before long work continues. Not a delay, so it does not depend on a clock. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

/** Runs `task` when this turn of the event loop ends, after everything that arrived in it was begun. */
export function atEndOfTurn(task: () => void): void {
  setImmediate(task);
}

/** How long work runs before it yields to other tasks. */
const turnMs = 4;

/**
 * Splits long work into slices: called before each item, it yields once the slice has lasted long enough or has had
 * enough items. Some items take a hundred times as long as others, and an attacker knows which.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #itemsMax: number;
  #items = 0;
  #endsMs: number;

  constructor(clock: Clock, itemsMax: number) {
    this.#clock = clock;
    this.#itemsMax = itemsMax;
    this.#endsMs = clock.monotonicMs() + turnMs;
  }

  /** Counts an item; false when the item must wait for the next slice. */
  hasRoom(): boolean {
    this.#items += 1;
    return this.#items <= this.#itemsMax && this.#clock.monotonicMs() < this.#endsMs;
  }

  /** Yields, then begins the next slice with the item that did not fit into the last. */
  async next(): Promise<void> {
    await yieldToEventLoop();
    this.#items = 1;
    this.#endsMs = this.#clock.monotonicMs() + turnMs;
  }
}
