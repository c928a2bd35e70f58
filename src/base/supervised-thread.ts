/** Threads that survive a failure: one is started again after a pause, the other by the next call. */
import type { Clock } from './clock.ts';
import { ThreadCaller, type ThreadFunctions } from './thread-call.ts';

/**
 * Starts a thread, whose first message has its settings. `smol` is for a thread that makes much garbage: its heap is
 * collected more often and stays small.
 */
export function startThread(entry: URL, settings: unknown, { smol = false } = {}): Worker {
  const worker = new Worker(entry, { smol });
  worker.postMessage(settings);
  return worker;
}

export interface SupervisedThreadOptions<Message> {
  readonly start: () => Worker;
  readonly onMessage: (message: Message) => void;
  /** Called before the pause; nothing of the thread is left then. */
  readonly onFailure: (detail: string) => void;
  readonly restartPauseMs: number;
  readonly clock: Clock;
}

/** A thread that is started again after a pause when it fails, until it is stopped. */
export class SupervisedThread<Message> {
  readonly #options: SupervisedThreadOptions<Message>;
  #worker: Worker;
  #cancelRestart = (): void => {};
  #isOver = false;

  constructor(options: SupervisedThreadOptions<Message>) {
    this.#options = options;
    this.#worker = this.#start();
  }

  /** Posts to the current thread; a message to one that has failed is lost. */
  postMessage(message: unknown): void {
    this.#worker.postMessage(message);
  }

  stop(): void {
    this.#isOver = true;
    this.#cancelRestart();
    this.#worker.terminate();
  }

  #start(): Worker {
    const { start, onMessage, onFailure, restartPauseMs, clock } = this.#options;
    const worker = start();
    worker.onmessage = ({ data }: MessageEvent<Message>) => onMessage(data);
    worker.onerror = event => {
      worker.terminate();
      onFailure(event.message);
      if (this.#isOver) return;
      this.#cancelRestart = clock.after(restartPauseMs, () => {
        this.#worker = this.#start();
      });
    };
    return worker;
  }
}

export interface LazyThread<Functions extends ThreadFunctions> {
  readonly caller: ThreadCaller<Functions>;
  readonly isRunning: boolean;
  terminate(): void;
}

/** A thread that answers calls. The first call starts it, and so does the first one after a failure or its end. */
export function lazyThread<Functions extends ThreadFunctions>(
  name: string,
  start: () => Worker,
  onFailure: (detail: string) => void = () => {},
): LazyThread<Functions> {
  let worker: Worker | undefined;
  const started = (): Worker => {
    const thread = start();
    thread.onmessage = ({ data }: MessageEvent<unknown>) => void caller.take(data);
    thread.onerror = event => {
      thread.terminate();
      if (worker === thread) worker = undefined;
      onFailure(event.message);
      caller.abandon(`${name} failed: ${event.message}`);
    };
    return thread;
  };
  const caller: ThreadCaller<Functions> = new ThreadCaller({
    postMessage(message) {
      worker ??= started();
      worker.postMessage(message);
    },
  });
  return {
    caller,
    get isRunning() {
      return worker !== undefined;
    },
    terminate() {
      worker?.terminate();
      worker = undefined;
    },
  };
}
