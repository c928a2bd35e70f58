/** Workers that a test controls, and what their supervisor sent them. */

import { yieldToEventLoop } from '../base/clock.ts';
import type { StartWorker } from './running-worker.ts';
import type { SupervisorMessage, WorkerMessage } from './supervised.ts';

export class FakeWorker {
  readonly place: number;
  readonly pid: number;
  /** What the supervisor sent it, in words. */
  readonly received: string[] = [];
  readonly messages: SupervisorMessage[] = [];
  readonly exited: Promise<number | string>;
  hasEnded = false;
  readonly #say: (message: WorkerMessage) => void;
  readonly #end: (how: number | string) => void;

  constructor(place: number, pid: number, say: (message: WorkerMessage) => void) {
    this.place = place;
    this.pid = pid;
    this.#say = say;
    const { promise, resolve } = Promise.withResolvers<number | string>();
    this.exited = promise;
    this.#end = resolve;
  }

  /** Lets code that waits for it run first. */
  async says(message: WorkerMessage): Promise<void> {
    this.#say(message);
    await settle();
  }

  async ends(how: number | string): Promise<void> {
    this.hasEnded = true;
    this.#end(how);
    await settle();
  }

  readonly send = (message: SupervisorMessage): void => {
    if (this.hasEnded) throw new Error('the channel is closed');
    this.messages.push(message);
    if (message.kind === 'attend') this.received.push(`attend ${message.places.join()}`.trim());
    else if (message.kind === 'retire') this.received.push('retire');
  };

  readonly kill = (signal: 'SIGTERM' | 'SIGKILL'): void => {
    this.received.push(signal);
    if (signal === 'SIGKILL') void this.ends('SIGKILL');
  };
}

/** Resolves every promise that can be resolved now. */
export const settle = (): Promise<void> => yieldToEventLoop();

export class FakeWorkers {
  /** All that were ever started, in order. */
  readonly all: FakeWorker[] = [];
  /** Set to make the next starts fail. */
  startFault: string | undefined;

  readonly start: StartWorker = (place, onMessage) => {
    if (this.startFault !== undefined) throw new Error(this.startFault);
    const worker = new FakeWorker(place, 100 + this.all.length, onMessage);
    this.all.push(worker);
    return worker;
  };

  get latest(): FakeWorker {
    return this.all.at(-1)!;
  }

  get alive(): FakeWorker[] {
    return this.all.filter(({ hasEnded }) => !hasEnded);
  }
}
