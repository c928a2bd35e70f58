/**
 * Questions to a thread that reads for us, so that a disk which keeps it waiting keeps nobody else waiting. Questions that
 * come while some are being answered go together with the next message: a message costs ten times what a read does.
 *
 * The thread is started by the first question; most processes never have one.
 */
import { Problem } from '../../base/errors.ts';

export interface ReadingThreadOptions {
  /** Starts the thread; it must call `runReadingLoop`. */
  readonly startThread: () => Worker;
  readonly path: string;
  /** Told after each round how long its longest read took. */
  readonly onRound: (longestMs: number) => void;
}

/** What a thread sends: an answer for each question in their order, or why there is none. */
export type ReadingReply =
  | { readonly answers: readonly unknown[]; readonly longestMs: number }
  | { readonly fault: string };

interface Asked {
  readonly question: string;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const waitingMax = 20_000;

export class ReadingThread<Answer> {
  readonly #options: ReadingThreadOptions;
  #worker: Worker | undefined;
  #waiting: Asked[] = [];
  #underWay: Asked[] = [];
  #isClosed = false;

  constructor(options: ReadingThreadOptions) {
    this.#options = options;
  }

  ask(question: string): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#isClosed) throw new Problem('store_unavailable');
      if (this.#waiting.length >= waitingMax)
        throw new Problem('overloaded', { headers: { 'Retry-After': '1' } });
      this.#waiting.push({ question, resolve: resolve as Asked['resolve'], reject });
      if (this.#underWay.length === 0) this.#send();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#end('closed');
  }

  #send(): void {
    if (this.#waiting.length === 0) return;
    this.#worker ??= this.#start();
    this.#underWay = this.#waiting;
    this.#waiting = [];
    this.#worker.postMessage(JSON.stringify(this.#underWay.map(({ question }) => question)));
  }

  #start(): Worker {
    const worker = this.#options.startThread();
    worker.onmessage = ({ data }: MessageEvent<string>) => this.#settle(JSON.parse(data) as ReadingReply);
    // The next question starts another.
    const ended = (reason: string): void => {
      if (worker === this.#worker) this.#end(reason);
    };
    worker.onerror = event => ended(event.message);
    worker.addEventListener('close', () => ended('the thread has ended'));
    worker.postMessage(this.#options.path);
    return worker;
  }

  #settle(reply: ReadingReply): void {
    if ('fault' in reply) {
      this.#end(reply.fault);
      return;
    }
    const asked = this.#underWay;
    this.#underWay = [];
    this.#options.onRound(reply.longestMs);
    asked.forEach(({ resolve }, index) => {
      resolve(reply.answers[index]);
    });
    this.#send();
  }

  #end(reason: string): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    const asked = [...this.#underWay, ...this.#waiting];
    this.#underWay = [];
    this.#waiting = [];
    for (const { reject } of asked) reject(new Problem('store_unavailable', { cause: new Error(reason) }));
  }
}
