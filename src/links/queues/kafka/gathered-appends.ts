/**
 * One write at a time, and what is appended meanwhile goes together into the next: at 2,000 links a second a broker is
 * asked a hundred times, not 2,000 times. What is too much for one write goes on behind those who came meanwhile, so a
 * small call does not wait for the whole of a large one, and the large one gets its turn among the others.
 * Invariant: a call hears of its own messages only. It is done when the last of them is written, whatever becomes of the
 * others, and fails with the write that one of them was in.
 */
import type { Clock } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';

export interface GatheredAppendsOptions {
  /** Writes all or fails; called again only after it has ended. */
  readonly write: (messages: readonly string[]) => Promise<void>;
  readonly clock: Clock;
  /** A call that has waited longer than this for its first turn is refused. */
  readonly turnMaxMs: number;
  /** Brokers refuse larger writes. */
  readonly charactersMax: number;
}

interface Call {
  readonly messages: readonly string[];
  /** How many of the messages are written, from the first on. */
  written: number;
  /** Since when it waits for its turn. */
  sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What one call has in one write. */
interface Share {
  readonly call: Call;
  readonly messages: readonly string[];
}

export class GatheredAppends {
  readonly #options: GatheredAppendsOptions;
  readonly #waiting: Call[] = [];
  #writing: Promise<void> | undefined;
  /** Why the last write failed, if it did. */
  #failure: unknown;

  constructor(options: GatheredAppendsOptions) {
    this.#options = options;
  }

  /** Whoever calls bounds the number of calls. */
  append(messages: readonly string[]): Promise<void> {
    if (messages.length === 0) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sinceMs = this.#options.clock.monotonicMs();
    this.#waiting.push({ messages, written: 0, sinceMs, resolve, reject });
    this.#writing ??= this.#writeAll();
    return promise;
  }

  /** Resolves when nothing is on its way. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#write(this.#takeShares());
    this.#writing = undefined;
  }

  async #write(shares: readonly Share[]): Promise<void> {
    if (shares.length === 0) return;
    try {
      await this.#options.write(shares.flatMap(({ messages }) => messages));
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
      for (const { call } of shares) call.reject(error);
      return;
    }
    for (const { call, messages } of shares) {
      call.written += messages.length;
      call.sinceMs = this.#options.clock.monotonicMs();
      if (call.written === call.messages.length) call.resolve();
      else this.#waiting.push(call);
    }
  }

  /** As much as one write holds, from those at the front; where the next message of one does not fit, those behind it may. */
  #takeShares(): Share[] {
    const shares: Share[] = [];
    let room = this.#options.charactersMax;
    for (let call = this.#waiting[0]; call !== undefined; call = this.#waiting[0]) {
      if (!this.#isRefused(call)) {
        const messages = fittingMessages(call, room, shares.length === 0);
        if (messages.length === 0) break;
        room -= messages.reduce((sum, { length }) => sum + length, 0);
        shares.push({ call, messages });
      }
      this.#waiting.shift();
    }
    return shares;
  }

  /** Of a call that has begun a part would stay behind, so it is given up only when it is not the others that hold it up. */
  #isRefused({ written, sinceMs, reject }: Call): boolean {
    const { clock, turnMaxMs } = this.#options;
    if (clock.monotonicMs() - sinceMs <= turnMaxMs) return false;
    if (written > 0 && this.#failure === undefined) return false;
    reject(this.#failure ?? tooBusy());
    return true;
  }
}

/** A message is never cut; one that is too large by itself is written alone, and is the broker's to refuse. */
function fittingMessages({ messages, written }: Call, room: number, isFirst: boolean): readonly string[] {
  let end = isFirst ? written + 1 : written;
  let characters = isFirst ? messages[written]!.length : 0;
  while (end < messages.length && characters + messages[end]!.length <= room) {
    characters += messages[end]!.length;
    end += 1;
  }
  return messages.slice(written, end);
}

function tooBusy(): Problem {
  return new Problem('overloaded', {
    detail: 'The new links before these took too long to be queued.',
    headers: { 'Retry-After': '1' },
  });
}
