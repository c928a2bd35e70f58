/** What a load client is told to do, and what it tells afterwards; own-client.ts and paced-client.c both keep to it. */
import type { Moment, VisitReport } from './visit-record.ts';

export interface ClientPlan {
  readonly url: string;
  /** Raw requests one after the other, NUL between; they are sent in turn over and over. */
  readonly requestsFile: string;
  /** Null for a closed loop. */
  readonly perSecond: number | null;
  readonly durationS: number;
  /** Comes before the duration and is not noted. */
  readonly warmUpS: number;
  readonly momentS: number;
  /** Connections that are open before the first visit. */
  readonly connections: number;
  readonly connectionsMax: number;
  /** A visitor leaves without an answer after so long. */
  readonly patienceMs: number;
  /** A visitor leaves without having had a connection after so long. */
  readonly unsentMaxMs: number;
  /** Otherwise every visit has a connection of its own. */
  readonly isKeptAlive: boolean;
  /** Whether to look at the clock all the time, which takes a core and is exact, or every millisecond. */
  readonly isSpinning: boolean;
  /** Whether machine code may make the load where it can be compiled; it cannot make a closed loop. */
  readonly mayBeCompiled: boolean;
}

export interface ClientReport extends VisitReport {
  readonly client: 'compiled' | 'own';
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

/** Told of each stretch of time when it is over. */
export type OnMoment = (moment: Moment) => void;
