/**
 * One write at a time; appends in the meantime go together into the next: at 2,000 links a second a broker gets a
 * hundred requests, not 2,000. The rest of a call that is too large for one write queues behind calls that arrived in
 * the meantime, so a small call does not wait for the whole of a large one, and the large one gets its turn among the
 * others.
 * Invariant: a call's outcome depends on its own messages only. It resolves when the last of them is written, whatever
 * happens to the others, and fails with the write that one of them was in.
 */
import type { Clock } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';

export interface GatheredAppendsOptions {
  /** Writes all or fails; called again only after it has ended. */
  readonly write: (messages: readonly string[]) => Promise<void>;
  readonly clock: Clock;
  /** A call that has waited longer than this for its first turn is rejected. */
  readonly turnMaxMs: number;
  /** Brokers reject larger writes. */
  readonly charactersMax: number;
}

interface Call {
  readonly messages: readonly string[];
  /** How many of the messages are written, from the first on. */
  written: number;
  /** Since when it has been waiting for its turn. */
  sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The part of one call in one write. */
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

  /** The caller bounds the number of calls. */
  append(messages: readonly string[]): Promise<void> {
    if (messages.length === 0) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sinceMs = this.#options.clock.monotonicMs();
    this.#waiting.push({ messages, written: 0, sinceMs, resolve, reject });
    this.#writing ??= this.#writeAll();
    return promise;
  }

  /** Resolves when nothing is in flight. */
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
      // A call that is partly written has stored more than this write knows of.
      for (const { call } of shares) call.reject(call.written === 0 ? error : partly(error));
      return;
    }
    for (const { call, messages } of shares) {
      call.written += messages.length;
      call.sinceMs = this.#options.clock.monotonicMs();
      if (call.written === call.messages.length) call.resolve();
      else this.#waiting.push(call);
    }
  }

  /**
   * As much as one write holds, from the front; where the next message of one call does not fit, those behind it may.
   */
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

  /**
   * Giving up a call that is partly written would leave that part behind, so it is rejected only after a failure, not
   * for waiting.
   */
  #isRefused({ written, sinceMs, reject }: Call): boolean {
    const { clock, turnMaxMs } = this.#options;
    if (clock.monotonicMs() - sinceMs <= turnMaxMs) return false;
    if (written > 0 && this.#failure === undefined) return false;
    if (this.#failure === undefined) reject(tooBusy());
    else reject(written === 0 ? untried(this.#failure) : partly(this.#failure));
    return true;
  }
}

/** A message is never cut; one that is too large on its own is written alone, and left to the broker to reject. */
function fittingMessages({ messages, written }: Call, room: number, isFirst: boolean): readonly string[] {
  let end = isFirst ? written + 1 : written;
  let characters = isFirst ? messages[written]!.length : 0;
  while (end < messages.length && characters + messages[end]!.length <= room) {
    characters += messages[end]!.length;
    end += 1;
  }
  return messages.slice(written, end);
}

/** A failure of a write that contained no message of the call. */
const untried = (cause: unknown): Error => Object.assign(partly(cause), { outcome: 'none' });

const partly = (cause: unknown): Error =>
  new Error(cause instanceof Error ? cause.message : String(cause), { cause });

function tooBusy(): Problem {
  return new Problem('overloaded', {
    detail: 'The new links before these took too long to be queued.',
    headers: { 'Retry-After': '1' },
  });
}

/** A message is never cut; one that is too large on its own is alone in its piece. */
export function* piecesOf<Message extends { readonly length: number }>(
  messages: readonly Message[],
  lengthMax: number,
): Generator<readonly Message[]> {
  let piece: Message[] = [];
  let length = 0;
  for (const message of messages) {
    if (piece.length > 0 && length + message.length > lengthMax) {
      yield piece;
      [piece, length] = [[], 0];
    }
    piece.push(message);
    length += message.length;
  }
  if (piece.length > 0) yield piece;
}
