/** The plan of the load client and its report afterwards. */
import type { Latencies } from './histogram.ts';

export interface ClientPlan {
  readonly url: string;
  /** Raw requests separated by NUL; they are sent in turn repeatedly. */
  readonly requestsFile: string;
  readonly perSecond: number;
  readonly durationS: number;
  /** Precedes the duration and is not recorded. */
  readonly warmUpS: number;
  readonly momentS: number;
  /** Connections that are open before the first visit. */
  readonly connections: number;
  readonly connectionsMax: number;
  /** A visitor leaves without an answer after so long. */
  readonly timeoutMs: number;
  /** A visitor leaves without having had a connection after so long. */
  readonly unsentMaxMs: number;
  /** If false, every visit has a new connection. */
  readonly isKeptAlive: boolean;
  /** Whether to busy-wait, which is exact but takes a core, or to check the clock every millisecond. */
  readonly isSpinning: boolean;
}

/** One interval of the load. */
export interface Moment {
  /** When it ended, counted from the end of the warm-up. */
  readonly atS: number;
  readonly served: number;
  readonly refused: number;
  readonly broken: number;
  readonly gaveUp: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface ClientReport {
  /** Answers other than 503; `statuses` says which. */
  readonly served: Latencies;
  /** Answers of 503. */
  readonly refused: Latencies;
  /** Of those, the ones with a Retry-After. */
  readonly withRetryAfter: number;
  /** How many answers had which status; `NaN` for invalid answers. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Visits whose connection broke, or could not be made. */
  readonly broken: number;
  /** Visits that were retried because their connection was closed before it accepted them. */
  readonly retried: number;
  /** Visitors who left because no answer came in time. */
  readonly gaveUp: number;
  /** Answers per second that were complete before the time was up. */
  readonly servedPerSecond: number;
  readonly moments: readonly Moment[];
  /** Visits that were sent; the others left before there was a connection for them. */
  readonly sent: number;
  /**
   * The client's own delay: how late it sent visits that were due and had a connection, and the maximum time that a
   * received answer waited to be read.
   */
  readonly lagP99Ms: number;
  readonly lagMaxMs: number;
  /** The maximum of concurrent visits. */
  readonly inFlightMax: number;
  readonly durationS: number;
  /** When the last visitor came, by the wall clock. */
  readonly endedAtMs: number;
}

/** Called at the end of each interval. */
export type OnMoment = (moment: Moment) => void;
