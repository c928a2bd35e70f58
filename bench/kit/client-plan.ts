/** The plan of the load client and its report afterwards. */
import type { Latencies } from './histogram.ts';

export interface ClientPlan {
  readonly url: string;
  /** Raw requests one after the other, NUL between; they are sent in turn over and over. */
  readonly requestsFile: string;
  readonly perSecond: number;
  readonly durationS: number;
  /** Comes before the duration and is not noted. */
  readonly warmUpS: number;
  readonly momentS: number;
  /** Connections that are open before the first visit. */
  readonly connections: number;
  readonly connectionsMax: number;
  /** A visitor leaves without an answer after so long. */
  readonly timeoutMs: number;
  /** A visitor leaves without having had a connection after so long. */
  readonly unsentMaxMs: number;
  /** Otherwise every visit has a connection of its own. */
  readonly isKeptAlive: boolean;
  /** Whether to look at the clock all the time, which takes a core and is exact, or every millisecond. */
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
  readonly toldWhen: number;
  /** How many got which status; `NaN` for what was no answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Visits whose connection broke, or could not be made. */
  readonly broken: number;
  /** Visits that went to another connection because theirs was closed before it took them. */
  readonly retried: number;
  /** Visitors who left because no answer came in time. */
  readonly gaveUp: number;
  /** Answers per second that were complete before the time was up. */
  readonly servedPerSecond: number;
  readonly moments: readonly Moment[];
  /** Visits that were sent; the others left before there was a connection for them. */
  readonly sent: number;
  /**
   * The client's own fault: how late it was in sending what was due though there was a connection for it, and for
   * how long at most an answer that was there waited to be read.
   */
  readonly lagP99Ms: number;
  readonly lagMaxMs: number;
  /** Visits that were on their way at the same time, at most. */
  readonly inFlightMax: number;
  readonly durationS: number;
  /** When the last visitor came, by the wall clock. */
  readonly endedAtMs: number;
}

/** Called at the end of each interval. */
export type OnMoment = (moment: Moment) => void;
