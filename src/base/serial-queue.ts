/** Tasks that must not overlap, one after the other in the order of arrival: all of them, or those of one name. */
import { Problem, withOutcome } from './errors.ts';

export class SerialQueue {
  readonly #onProblem: (what: string, error: unknown) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(onProblem: (what: string, error: unknown) => void) {
    this.#onProblem = onProblem;
  }

  do<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** For work that no caller waits for: a failure is reported here, and its source retries later. */
  inBackground(what: string, task: () => Promise<void>): Promise<void> {
    return this.do(task).catch(error => this.#onProblem(what, error));
  }

  /** Starts the task periodically, unless the last one is still queued or running; the returned function stops that. */
  every(
    clock: { every(periodMs: number, task: () => void): () => void },
    periodMs: number,
    what: string,
    task: () => Promise<void>,
  ): () => void {
    let isWaiting = false;
    return clock.every(periodMs, () => {
      if (isWaiting) return;
      isWaiting = true;
      void this.inBackground(what, task).finally(() => {
        isWaiting = false;
      });
    });
  }
}

const waitingMax = 10_000;

/**
 * One at a time for each name, in the order of arrival. Concurrent writes of one account, or of one review, would break
 * each other's conditions and be retried again and again; between processes that is rare. If the store does not answer
 * one call, those that wait behind it fail with the same error at once.
 */
export interface KeyedSerialQueue {
  run<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
}

export function createKeyedSerialQueue(): KeyedSerialQueue {
  const last = new Map<string, Promise<unknown>>();
  let waiting = 0;
  return {
    async run(name, work) {
      if (waiting >= waitingMax) throw new Problem('overloaded', { detail: 'Too many writes are waiting.' });
      waiting += 1;
      const turn = (last.get(name) ?? Promise.resolve()).then(work);
      const end = turn.catch(error => {
        // Nothing was done for the callers behind this one.
        if (isDown(error)) throw withOutcome(error, 'none');
      });
      // The caller gets the error itself; this only prevents an unhandled rejection when nobody waits behind it.
      end.catch(() => {});
      last.set(name, end);
      try {
        return await turn;
      } finally {
        waiting -= 1;
        if (last.get(name) === end) last.delete(name);
      }
    },
  };
}

const isDown = (error: unknown): boolean => error instanceof Problem && error.code === 'store_unavailable';
