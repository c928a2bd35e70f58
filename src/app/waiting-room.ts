/**
 * Where visitors wait while the store is away at a start. A server that did not listen until it had its store would look
 * dead to whoever watches over it, and be started again and again, each time later; one that listens says what it waits
 * for, and serves as soon as it can.
 *
 * Invariant: the port is free again before the server wants it, and a room that cannot be opened keeps nobody from
 * starting.
 */
import { type Clock, sleep } from '../base/clock.ts';
import { problemAnswer } from '../http/problem.ts';
import { answerWaiting } from '../http/waiting.ts';
import { Listener, type ListenerOptions } from '../http/wire/listener.ts';
import { describeFailure, type Log } from '../ops/log.ts';

export interface WaitingRoomOptions
  extends Pick<ListenerOptions, 'identity' | 'hstsMaxAgeS' | 'isIntroducing'> {
  /** Where visitors come to, at least one; the room closes what it is given. */
  readonly doors: () => readonly ListenerOptions['at'][];
  readonly clock: Clock;
  readonly log: Log;
}

const connectionsMax = 1_000;
const leaveMaxMs = 500;

export class WaitingRoom {
  readonly #options: WaitingRoomOptions;
  #listener: Listener | undefined;

  constructor(options: WaitingRoomOptions) {
    this.#options = options;
  }

  get port(): number | undefined {
    return this.#listener?.port;
  }

  /** May be called again; one room is enough. */
  open(): void {
    if (this.#listener !== undefined) return;
    const { doors, identity, hstsMaxAgeS, isIntroducing, clock, log } = this.#options;
    const onFault = (error: unknown): void =>
      log.error('request failed', { failure: describeFailure(error) });
    try {
      const [first, ...others] = doors();
      this.#listener = new Listener({
        at: first!,
        identity,
        hstsMaxAgeS,
        isIntroducing,
        connectionsMax,
        clock,
        refuse: problemAnswer,
        onFault,
        handle: answerWaiting,
      });
      for (const door of others) if ('fd' in door) this.#listener.serveAlso(door.fd);
    } catch (error) {
      log.warn('nobody can be told what the server waits for', { failure: describeFailure(error) });
    }
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    await Promise.race([listener.drain(), sleep(this.#options.clock, leaveMaxMs)]);
    listener.cutOff();
  }
}
