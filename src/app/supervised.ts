/**
 * A worker's end of the channel to its supervisor: it says that it is there, does what it is told, and asks for the
 * numbers of all workers when somebody wants to see them.
 *
 * Invariant: a worker does not outlive its supervisor, because nobody would replace it and nobody could stop it; and
 * nothing here waits for the supervisor longer than `answerMaxMs`.
 */
import { type Clock, sleep } from '../base/clock.ts';
import type { LogLevel } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import { oneValue } from './metric-table.ts';
import { beatMs, type SupervisorMessage, type WorkerMessage, type WorkerPlace } from './supervision.ts';

export interface Channel {
  readonly isOpen: boolean;
  /** Resolves when the message is on its way, or cannot be. */
  send(message: WorkerMessage): Promise<void>;
  onMessage(take: (message: SupervisorMessage) => void): void;
  onClosed(tell: () => void): void;
}

/** What a supervisor has to say about it; see `SupervisorMessage`. */
export interface SupervisedServer {
  retire(): void;
  attend(places: readonly number[]): void;
  setLogLevel(level: LogLevel): void;
  metrics(): readonly Metric[];
}

/** A scrape that takes longer is likely to be given up. */
const answerMaxMs = 500;

export class Supervised {
  readonly #channel: Channel;
  readonly #place: WorkerPlace;
  readonly #clock: Clock;
  readonly #questions = new Map<number, (metrics: readonly Metric[]) => void>();
  #asked = 0;
  #server: SupervisedServer | undefined;

  /** `onOrphaned` is called once, also when the supervisor is gone already. */
  constructor(channel: Channel, place: WorkerPlace, clock: Clock, onOrphaned: () => void) {
    this.#channel = channel;
    this.#place = place;
    this.#clock = clock;
    channel.onMessage(message => this.#take(message));
    channel.onClosed(onOrphaned);
    if (!channel.isOpen) onOrphaned();
  }

  /** To be called once it can be told what to do. */
  ready(server: SupervisedServer): void {
    this.#server = server;
    this.#channel.send({ kind: 'ready' });
    this.#clock.every(beatMs, () => this.#channel.send({ kind: 'beat' }));
  }

  leaving(): void {
    this.#channel.send({ kind: 'leaving' });
  }

  /** What it has done stays counted; but no worker stays only to say it. */
  async lastWords(metrics: readonly Metric[]): Promise<void> {
    const said = this.#channel.send({ kind: 'metrics', round: undefined, metrics });
    await Promise.race([said, sleep(this.#clock, answerMaxMs)]);
  }

  /** The numbers of all workers; `own` alone, and that it is so, when the supervisor does not answer. */
  metricsOfAll(own: () => readonly Metric[]): Promise<readonly Metric[]> {
    this.#asked += 1;
    const question = this.#asked;
    return new Promise(resolve => {
      const settle = (metrics: readonly Metric[]): void => {
        cancel();
        this.#questions.delete(question);
        resolve(metrics);
      };
      const cancel = this.#clock.after(answerMaxMs, () => settle([...own(), ...this.#alone()]));
      this.#questions.set(question, settle);
      this.#channel.send({ kind: 'askMetrics', question });
    });
  }

  #take(message: SupervisorMessage): void {
    if (message.kind === 'allMetrics') this.#questions.get(message.question)?.(message.metrics);
    const server = this.#server;
    if (server === undefined) return;
    if (message.kind === 'retire') server.retire();
    else if (message.kind === 'attend') server.attend(message.places);
    else if (message.kind === 'setLogLevel') server.setLogLevel(message.level);
    else if (message.kind === 'giveMetrics') {
      this.#channel.send({ kind: 'metrics', round: message.round, metrics: server.metrics() });
    }
  }

  #alone(): Metric[] {
    return [oneValue('terse_workers', this.#place.count), oneValue('terse_workers_heard', 1)];
  }
}

/** The channel that the supervisor made with the process. */
export function channelOfProcess(): Channel {
  return {
    get isOpen() {
      return process.connected;
    },
    send: message =>
      new Promise(resolve => {
        // A supervisor that is gone is told about by `onClosed`.
        if (!process.connected) resolve();
        else process.send?.(message, undefined, undefined, () => resolve());
      }),
    onMessage: take => void process.on('message', take),
    onClosed: tell => void process.on('disconnect', tell),
  };
}
