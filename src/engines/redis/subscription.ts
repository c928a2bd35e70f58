/**
 * A connection that only listens. Nothing else tells whether it still hears, so it is asked for a sign of life, and
 * replaced, at another server if there is one, when it breaks or stays silent.
 */
import type { Clock } from '../../base/clock.ts';
import type { RedisAddress, ServerAddress } from './address.ts';
import { type Client, openClient, withinDeadline } from './client.ts';

export interface SubscriptionOptions {
  readonly clock: Clock;
  readonly login: RedisAddress;
  readonly channel: string;
  readonly onMessage: (message: string) => void;
  /** Where to listen; asked anew each time. Undefined while there is no such place. */
  readonly server: () => ServerAddress | undefined;
}

const checkEveryMs = 1_000;
const reopenAfterMs = 200;
const answerMaxMs = 1_000;

export class Subscription {
  readonly #options: SubscriptionOptions;
  #client: Client | undefined;
  #cancelCheck: (() => void) | undefined;
  #isClosed = false;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    void this.#check();
  }

  get isSubscribed(): boolean {
    return this.#client !== undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelCheck?.();
    this.#drop();
  }

  async #check(): Promise<void> {
    this.#cancelCheck = undefined;
    try {
      if (this.#client === undefined) await this.#open();
      else await withinDeadline(this.#options.clock, answerMaxMs, this.#client.send(['PING']));
    } catch {
      this.#drop();
    }
    if (this.#isClosed) this.#drop();
    else this.#plan();
  }

  async #open(): Promise<void> {
    const { clock, login, channel, onMessage, server: choose } = this.#options;
    const server = choose();
    if (server === undefined) return;
    let opened: Client | undefined;
    const onLost = (): void => {
      if (opened === undefined || opened !== this.#client) return;
      this.#drop();
      this.#plan();
    };
    opened = await openClient({ clock, login, server, onLost });
    try {
      await withinDeadline(clock, answerMaxMs, opened.subscribe(channel, onMessage));
    } catch (error) {
      opened.destroy();
      throw error;
    }
    this.#client = opened;
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.destroy();
  }

  #plan(): void {
    if (this.#isClosed) return;
    this.#cancelCheck?.();
    const delayMs = this.#client === undefined ? reopenAfterMs : checkEveryMs;
    this.#cancelCheck = this.#options.clock.after(delayMs, () => void this.#check());
  }
}
