/**
 * Whether the queue may be given more: refused before anything is stored, and before anyone waits, when it is too long,
 * when it did not answer lately, or when too many calls wait for it. It is asked for its length every second, and
 * whether it answers that question tells whether it is back: no visitor has to find out.
 * Invariant: a call is let in, ends, and is counted out again, or it is refused with a Problem that says for how long.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { LinkQueue } from './queue.ts';

export interface QueueGateOptions {
  readonly queue: Pick<LinkQueue, 'behind'>;
  readonly clock: Clock;
  /** More links than this must not wait to be stored. */
  readonly behindMax: number;
  /** Links stored per second, for saying how long to wait. */
  readonly drainPerS: number;
  /** It takes nothing, and from when on it does again. */
  readonly onAway: (error: unknown) => void;
  readonly onReturn: () => void;
}

const askEveryMs = 1_000;
/** Each may bring thousands of links; what they hold is bounded by the bodies of requests. */
const callsMax = 1_000;
const retryMaxS = 60;

export class QueueGate {
  readonly #options: QueueGateOptions;
  #stopAsking: (() => void) | undefined;
  #isAsking = false;
  #calls = 0;
  /** Failures so far, by which an answer is told that was asked for before the last of them. */
  #failures = 0;
  #behind = 0;
  /** Appended by this process since it last heard how many are waiting. */
  #appendedSince = 0;
  isAway = false;
  refusedFull = 0;
  refusedAway = 0;
  refusedBusy = 0;

  constructor(options: QueueGateOptions) {
    this.#options = options;
  }

  /** How many links wait to be stored, as far as this process knows. */
  get behind(): number {
    return this.#behind + this.#appendedSince;
  }

  start(): void {
    this.#stopAsking = this.#options.clock.every(askEveryMs, () => void this.ask());
    void this.ask();
  }

  stop(): void {
    this.#stopAsking?.();
  }

  /**
   * Runs `append`, which says whether it brought `count` links into the queue, or refuses to. A failure closes the gate; a
   * queue that was too busy with the links of others is not taken for one that failed.
   */
  async through(count: number, append: () => Promise<boolean>): Promise<boolean> {
    this.#admit(count);
    this.#calls += 1;
    try {
      const isAppended = await append();
      if (isAppended) this.#appendedSince += count;
      return isAppended;
    } catch (error) {
      if (error instanceof Problem && error.code === 'overloaded') {
        this.refusedBusy += 1;
        throw error;
      }
      this.#failures += 1;
      if (!this.isAway) this.#options.onAway(error);
      this.isAway = true;
      throw away(error);
    } finally {
      this.#calls -= 1;
    }
  }

  async ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const [appended, failures] = [this.#appendedSince, this.#failures];
    try {
      this.#behind = await this.#options.queue.behind();
      this.#appendedSince -= appended;
      if (this.isAway && failures === this.#failures) {
        this.isAway = false;
        this.#options.onReturn();
      }
    } catch {
      // Whether it takes links is found out by those who bring some.
    } finally {
      this.#isAsking = false;
    }
  }

  #admit(count: number): void {
    const { behindMax, drainPerS } = this.#options;
    if (this.isAway) {
      this.refusedAway += 1;
      throw away(undefined);
    }
    if (this.#calls >= callsMax) {
      this.refusedBusy += 1;
      throw new Problem('overloaded', {
        detail: 'Too many new links are on their way into the queue.',
        headers: { 'Retry-After': '1' },
      });
    }
    const tooMany = this.behind + count - behindMax;
    if (tooMany <= 0) return;
    this.refusedFull += 1;
    const retryS = Math.min(retryMaxS, Math.max(1, Math.ceil(tooMany / drainPerS)));
    throw new Problem('overloaded', {
      detail: 'Too many new links wait to be stored.',
      headers: { 'Retry-After': String(retryS) },
    });
  }
}

function away(cause: unknown): Problem {
  const detail = 'The queue of new links does not take any for now.';
  return new Problem('store_unavailable', { detail, headers: { 'Retry-After': '1' }, cause });
}
