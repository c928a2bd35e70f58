/**
 * What a supervisor and its workers say to one another. A worker serves a socket that its supervisor opened, says
 * when it is ready and that it is still there, and leaves when it is told to or when nobody supervises it any more.
 *
 * After an upgrade, workers of the new version have a supervisor of the old one until that is started anew, so
 * either side passes over messages that it does not know.
 */
import type { LogLevel } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';

/** The environment variable that makes a process a worker. */
export const supervisedVariable = 'TERSE_SUPERVISED';

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
  /** It takes no more connections, for a reason of its own. */
  | { readonly kind: 'leaving' }
  /** What `giveMetrics` asked for; without a round, the last words of a worker that ends. */
  | { readonly kind: 'metrics'; readonly round: number | undefined; readonly metrics: readonly Metric[] }
  | { readonly kind: 'askMetrics'; readonly question: number };

export type SupervisorMessage =
  /** To leave while others go on serving: idle clients get the time to ask once more and to be told to reconnect. */
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
