/**
 * A worker's end of the channel to its supervisor: it sends heartbeats, follows the supervisor's messages, and asks for
 * the metrics of all workers when a client requests them.
 *
 * Invariant: a worker does not outlive its supervisor, because nothing would replace it and nothing could stop it; and
 * nothing here waits for the supervisor longer than `answerMaxMs`.
 */
import type { Clock } from '../base/clock.ts';
import { endsWithin } from '../base/deadline.ts';
import type { LogLevel } from '../telemetry/log.ts';
import { oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';

export interface Channel {
  readonly isOpen: boolean;
  /** Resolves when the message is sent, or cannot be. */
  send(message: WorkerMessage): Promise<void>;
  onMessage(take: (message: SupervisorMessage) => void): void;
  onClosed(tell: () => void): void;
}

/** Handlers of the supervisor's messages; see `SupervisorMessage`. */
export interface SupervisedServer {
  retire(): void;
  attend(places: readonly number[]): void;
  setLogLevel(level: LogLevel): void;
  metrics(): readonly Metric[];
}

/** A longer scrape is likely to time out. */
const answerMaxMs = 500;

export class Supervised {
  readonly #channel: Channel;
  readonly #place: WorkerPlace;
  readonly #clock: Clock;
  readonly #questions = new Map<number, (metrics: readonly Metric[]) => void>();
  #asked = 0;
  #server: SupervisedServer | undefined;

  /** `onOrphaned` is called once, also when the supervisor has ended already. */
  constructor(channel: Channel, place: WorkerPlace, clock: Clock, onOrphaned: () => void) {
    this.#channel = channel;
    this.#place = place;
    this.#clock = clock;
    channel.onMessage(message => this.#take(message));
    channel.onClosed(onOrphaned);
    if (!channel.isOpen) onOrphaned();
  }

  /** To be called once it can handle messages. */
  ready(server: SupervisedServer): void {
    this.#server = server;
    this.#channel.send({ kind: 'ready' });
    this.#clock.every(beatMs, () => this.#channel.send({ kind: 'beat' }));
  }

  leaving(): void {
    this.#channel.send({ kind: 'leaving' });
  }

  /** Its counters are kept; but no worker stays alive only to send them. */
  async lastWords(metrics: readonly Metric[]): Promise<void> {
    const said = this.#channel.send({ kind: 'metrics', round: undefined, metrics });
    await endsWithin(this.#clock, answerMaxMs, said);
  }

  /** The metrics of all workers; when the supervisor does not respond, `own` alone, marked as such. */
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
    return [oneValue('terse_workers', this.#place.count), oneValue('terse_workers_reporting', 1)];
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
        // `onClosed` reports a supervisor that has ended.
        if (!process.connected) resolve();
        else process.send?.(message, undefined, undefined, () => resolve());
      }),
    onMessage: take => void process.on('message', take),
    onClosed: tell => void process.on('disconnect', tell),
  };
}

/**
 * The messages between a supervisor and its workers. A worker serves a socket that its supervisor opened, reports when
 * it is ready and that it is alive, and leaves on request or when its supervisor has ended.
 *
 * After an upgrade, workers of the new version have a supervisor of the old one until that is restarted, so
 * either side ignores messages that it does not know.
 */

/** Which of the sockets is a worker's own. It has all of them, to serve another's while that cannot. */
export interface WorkerPlace {
  /** From 0. */
  readonly index: number;
  readonly count: number;
  readonly port: number;
}

export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'beat' }
  /** It accepts no more connections, for a reason of its own. */
  | { readonly kind: 'leaving' }
  /** The answer to `giveMetrics`; without a round, the final metrics of a worker that ends. */
  | { readonly kind: 'metrics'; readonly round: number | undefined; readonly metrics: readonly Metric[] }
  | { readonly kind: 'askMetrics'; readonly question: number };

export type SupervisorMessage =
  /** To leave while others keep serving: idle clients have time to ask once more and be asked to reconnect. */
  | { readonly kind: 'retire' }
  /** To serve the sockets of these places beside its own, and those of no others. */
  | { readonly kind: 'attend'; readonly places: readonly number[] }
  | { readonly kind: 'giveMetrics'; readonly round: number }
  /** To log this much from now on. */
  | { readonly kind: 'setLogLevel'; readonly level: LogLevel }
  | { readonly kind: 'allMetrics'; readonly question: number; readonly metrics: readonly Metric[] };

export const beatMs = 1_000;

/** The socket of the first place among a worker's descriptors: right after the standard ones. */
const firstSocketFd = 3;

export const socketFdOf = (place: number): number => firstSocketFd + place;

const shape = /^(\d+):(\d+):(\d+)$/;

export const placeText = ({ index, count, port }: WorkerPlace): string => `${index}:${count}:${port}`;

export function placeOf(text: string | undefined): WorkerPlace | undefined {
  const [, index, count, port] = shape.exec(text ?? '') ?? [];
  if (index === undefined) return undefined;
  return { index: Number(index), count: Number(count), port: Number(port) };
}
