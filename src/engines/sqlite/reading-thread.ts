/**
 * Sends questions to a thread that reads for us, so that a slow disk blocks only that thread. Questions that come while
 * some are being answered go together with the next message: a message costs ten times what a read does.
 *
 * The thread is started by the first question; most processes never have one.
 */

import type { Database } from 'bun:sqlite';
import { type Clock, systemClock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { openForReading } from './database.ts';

export interface ReadingThreadOptions {
  /** Starts the thread; it must call `runReadingLoop`. */
  readonly startThread: () => Worker;
  readonly path: string;
  /** Called after each round with how long its longest read took. */
  readonly onRound: (longestMs: number) => void;
}

/** What a thread sends: an answer for each question in their order, or why there is none. */
type ReadingReply =
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
      if (this.#isClosed) throw new Problem('store_unavailable', { outcome: 'none' });
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
    for (const { reject } of asked)
      reject(new Problem('store_unavailable', { cause: new Error(reason), outcome: 'none' }));
  }
}

/**
 * Whether reads come from memory, where they take microseconds, or from a disk that may be slow: a process that serves
 * visitors reads by itself in the first case, and through a thread in the second.
 *
 * A read that takes long has not always waited for the disk: a busy machine makes everything take long, and handing
 * reads over would give it more to do. Only when the process has read from the disk meanwhile does it count.
 */
export interface DiskWatchOptions {
  readonly clock: Clock;
  /** Grows with each read of the process from a disk. */
  readonly diskReads: () => number;
}

const slowMs = 1;
/** One read that waits blocks every request, so reads must have been fast for a good while. */
const calmAfterMs = 60_000;

export class DiskWatch {
  readonly #options: DiskWatchOptions;
  #slowAtMs = Number.NEGATIVE_INFINITY;
  #diskReads: number;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#diskReads = options.diskReads();
  }

  /** Whether a read may well have to wait for the disk. */
  get isSlow(): boolean {
    return this.#options.clock.monotonicMs() - this.#slowAtMs < calmAfterMs;
  }

  note(tookMs: number): void {
    if (tookMs < slowMs) return;
    const before = this.#diskReads;
    this.#diskReads = this.#options.diskReads();
    if (this.#diskReads > before) this.#slowAtMs = this.#options.clock.monotonicMs();
  }
}

/** The other side of `ReadingThread`: opens the file named in its first message, then answers lists of questions. */
declare const self: Worker;

export function runReadingLoop(prepareAnswer: (database: Database) => (question: string) => unknown): void {
  // As text, which crosses between threads for less than objects do.
  const reply = (message: ReadingReply): void => self.postMessage(JSON.stringify(message));
  let answer: ((question: string) => unknown) | undefined;
  self.onmessage = ({ data }: MessageEvent<string>) => {
    try {
      if (answer === undefined) answer = prepareAnswer(openForReading(data));
      else reply(answersTo(JSON.parse(data) as string[], answer));
    } catch (error) {
      reply({ fault: error instanceof Error ? error.message : String(error) });
    }
  };
}

function answersTo(questions: readonly string[], answer: (question: string) => unknown): ReadingReply {
  let longestMs = 0;
  const answers = questions.map(question => {
    const startedMs = systemClock.monotonicMs();
    const found = answer(question);
    longestMs = Math.max(longestMs, systemClock.monotonicMs() - startedMs);
    // What is undefined would not be there in the text, and in a list it would be null.
    return found ?? null;
  });
  return { answers, longestMs };
}
