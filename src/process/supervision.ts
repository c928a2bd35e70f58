/**
 * The messages between a supervisor and its workers. A worker serves a socket that its supervisor opened, reports when
 * it is ready and that it is alive, and leaves on request or when its supervisor has ended.
 *
 * After an upgrade, workers of the new version have a supervisor of the old one until that is restarted, so
 * either side ignores messages that it does not know.
 */
import type { LogLevel } from '../telemetry/log.ts';
import type { Metric } from '../telemetry/metrics.ts';

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
