/** One thing after the other, in the order in which they came: for a thread whose tasks must not meet each other. */
export class WorkInTurn {
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

  /** For work that nobody waits for: its failure is reported here, and whoever asked for it tries again later. */
  inBackground(what: string, task: () => Promise<void>): Promise<void> {
    return this.do(task).catch(error => this.#onProblem(what, error));
  }

  /** Starts the task every so often, unless the last one is still waiting or at work; the returned function ends that. */
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
