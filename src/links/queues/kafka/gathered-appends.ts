/**
 * One write at a time, and what is appended meanwhile goes together into the next: at 2,000 links a second a broker is
 * asked a hundred times, not 2,000 times. A call waits for one write that began before it and for its own.
 */
import type { Clock } from '../../../base/clock.ts';
import { piecesOf } from './pieces.ts';

export interface GatheredAppendsOptions {
  /** Writes all or fails; called again only after it has ended. */
  readonly write: (messages: readonly string[]) => Promise<void>;
  readonly clock: Clock;
  /** A call that has waited longer than this for its turn is refused. */
  readonly turnMaxMs: number;
  /** Brokers refuse larger writes. */
  readonly charactersMax: number;
}

interface Call {
  readonly messages: readonly string[];
  readonly sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class GatheredAppends {
  readonly #options: GatheredAppendsOptions;
  #waiting: Call[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: GatheredAppendsOptions) {
    this.#options = options;
  }

  /** Whoever calls bounds the number of calls. */
  append(messages: readonly string[]): Promise<void> {
    if (messages.length === 0) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ messages, sinceMs: this.#options.clock.monotonicMs(), resolve, reject });
    this.#writing ??= this.#writeAll();
    return promise;
  }

  /** Resolves when nothing is on its way. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const calls = this.#waiting;
      this.#waiting = [];
      await this.#writeTogether(calls.filter(call => !this.#isLate(call)));
    }
    this.#writing = undefined;
  }

  #isLate({ sinceMs, reject }: Call): boolean {
    const isLate = this.#options.clock.monotonicMs() - sinceMs > this.#options.turnMaxMs;
    if (isLate) reject(new Error('the writes before it took too long'));
    return isLate;
  }

  async #writeTogether(calls: readonly Call[]): Promise<void> {
    try {
      const messages = calls.flatMap(call => call.messages);
      for (const piece of piecesOf(messages, this.#options.charactersMax)) await this.#options.write(piece);
      for (const { resolve } of calls) resolve();
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}
