/**
 * Runs a limited number of tasks at once. Others wait in the order of their arrival, and beyond a bound they are
 * rejected. A slot passes directly to the task that has waited longest.
 */
export interface SemaphoreOptions {
  /** May change; work that has its slot keeps it. */
  readonly slots: () => number;
  readonly waitingMax: number;
  /** The error of work that finds the queue full. */
  readonly full: () => Error;
}

/** When work gives up waiting. */
export interface WaitBound {
  /** Calls `giveUp` when the wait is too long; the returned function prevents that. Called only by work that waits. */
  arm(giveUp: () => void): () => void;
  readonly late: () => Error;
}

/** Waits until the signal aborts. */
export const untilAborted = (signal: AbortSignal, late: () => Error): WaitBound => ({
  arm(giveUp) {
    signal.addEventListener('abort', giveUp, { once: true });
    return () => signal.removeEventListener('abort', giveUp);
  },
  late,
});

export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #waiting = new Set<() => void>();
  #inUse = 0;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** Whether work could start at once. */
  get isFree(): boolean {
    return this.#inUse < this.#options.slots();
  }

  get inUse(): number {
    return this.#inUse;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Without a bound, work waits for as long as it takes. */
  async run<Result>(work: () => Promise<Result>, bound?: WaitBound): Promise<Result> {
    if (this.isFree) this.#inUse += 1;
    else await this.#wait(bound);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #wait(bound: WaitBound | undefined): Promise<void> {
    if (this.#waiting.size >= this.#options.waitingMax) return Promise.reject(this.#options.full());
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        disarm?.();
        resolve();
      };
      this.#waiting.add(enter);
      const disarm = bound?.arm(() => {
        this.#waiting.delete(enter);
        reject(bound.late());
      });
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#inUse -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
