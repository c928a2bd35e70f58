/**
 * Calls of functions in another thread. Names and types come from one record of functions, so both sides agree. A
 * `Problem` arrives as a `Problem`. Messages that are neither calls nor answers are ignored.
 */

import { platform, setPriority } from 'node:os';
import { Problem } from './errors.ts';

// biome-ignore lint/suspicious/noExplicitAny: each function's own types are restored by `call`.
export type ThreadFunctions = Record<string, (...input: any[]) => unknown>;

interface CallMessage {
  readonly call: number;
  readonly name: string;
  readonly input: readonly unknown[];
}

type AnswerMessage =
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly problem: PlainProblem }
  | { readonly answer: number; readonly failure: string };

/** The part of a problem that a message can carry; its cause stays in the thread where it happened. */
type PlainProblem = Pick<Problem, 'code' | 'detail' | 'fields' | 'headers'>;

/** One end of the channel to a thread: a Worker from outside, `self` from inside. */
export interface ThreadEnd {
  postMessage(message: unknown): void;
}

/** Calls that may wait for an answer at once; past it a call is rejected. */
const waitingMax = 10_000;

export class ThreadCaller<Functions extends ThreadFunctions> {
  readonly #thread: ThreadEnd;
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  #calls = 0;

  constructor(thread: ThreadEnd) {
    this.#thread = thread;
  }

  call<Name extends keyof Functions & string>(
    name: Name,
    ...input: Parameters<Functions[Name]>
  ): Promise<Awaited<ReturnType<Functions[Name]>>> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= waitingMax)
        return reject(new Error(`too many calls are waiting for ${name}`));
      this.#calls += 1;
      this.#waiting.set(this.#calls, { resolve, reject });
      const message: CallMessage = { call: this.#calls, name, input };
      this.#thread.postMessage(message);
    });
  }

  /** True when the message was an answer. */
  take(message: unknown): boolean {
    if (!isAnswer(message)) return false;
    const waiting = this.#waiting.get(message.answer);
    this.#waiting.delete(message.answer);
    if ('failure' in message) waiting?.reject(new Error(message.failure));
    else if ('problem' in message) waiting?.reject(problemIn(message.problem));
    else waiting?.resolve(message.value as never);
    return true;
  }

  /** The thread has ended: rejects all waiting calls. */
  abandon(reason: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
  }
}

/** Answers a call with the function of its name; true when the message was a call. */
export function answerCall(message: unknown, functions: ThreadFunctions, thread: ThreadEnd): boolean {
  if (!isCall(message)) return false;
  const { call, name, input } = message;
  Promise.resolve()
    .then(() => functions[name]!(...input))
    .then(
      value => thread.postMessage({ answer: call, value } satisfies AnswerMessage),
      error => thread.postMessage({ answer: call, ...failureOf(error) } satisfies AnswerMessage),
    );
  return true;
}

/** For the entry of a thread: the first message has its settings, and every other one is a call. */
export function answerCalls<Settings>(
  thread: Worker,
  start: (settings: Settings) => ThreadFunctions | Promise<ThreadFunctions>,
): void {
  thread.onmessage = ({ data: settings }: MessageEvent<Settings>) => {
    const functions = start(settings);
    thread.onmessage = async ({ data }: MessageEvent<unknown>) =>
      void answerCall(data, await functions, thread);
  };
}

function failureOf(error: unknown): { failure: string } | { problem: PlainProblem } {
  if (!(error instanceof Problem)) return { failure: error instanceof Error ? error.message : String(error) };
  const { code, detail, fields, headers } = error;
  return { problem: { code, detail, fields, headers } };
}

const problemIn = ({ code, ...options }: PlainProblem): Problem => new Problem(code, options);

function isCall(message: unknown): message is CallMessage {
  return typeof message === 'object' && message !== null && 'call' in message;
}

function isAnswer(message: unknown): message is AnswerMessage {
  return typeof message === 'object' && message !== null && 'answer' in message;
}

/**
 * Lowers the priority of the calling thread below those that serve visitors: when there is not enough CPU for all,
 * counting waits before redirects do. Only Linux has priorities per thread; elsewhere it would affect the process.
 */
const niceness = 5;

export function giveWay(): void {
  if (platform() === 'linux') setPriority(niceness);
}
