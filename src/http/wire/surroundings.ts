/** What all connections of a listener share: who answers, what time it is, how much is going on. */
import type { Problem } from '../../base/errors.ts';
import type { Answer } from './answer.ts';
import type { Connection } from './connection.ts';
import type { WireRequest } from './wire-request.ts';

export interface Surroundings {
  readonly handle: (request: WireRequest) => Answer | Promise<Answer | Response>;
  /** The answer to what cannot be understood, or did not come in time. */
  readonly refuse: (problem: Problem) => Answer;
  readonly onFault: (error: unknown) => void;
  /** Whether a request is answered also on a connection beyond the cap. */
  readonly isVital: (request: WireRequest) => boolean;
  /** Told when the body of a request is still to come, and when that is over. */
  readonly bodies: {
    begin(connection: Connection, request: WireRequest): void;
    end(connection: Connection): void;
  };
  readonly isEncrypted: boolean;
  readonly isDraining: boolean;
  /** Seconds since the listener began; connections measure time in these. */
  readonly tick: number;
  readonly tails: Tails;
  /** How long a client may stay between two requests. */
  readonly idleMaxTicks: number;
  /** Requests that are being worked on. */
  inFlight: number;
}

/** Ends of a head: what every answer carries, what belongs to the connection, and the empty line. */
export interface Tails {
  readonly keep: string;
  readonly keepOld: string;
  readonly close: string;
}

/**
 * Made once a second, because the date is the same for all answers of it. The security headers of every answer are here
 * too: no handler can forget them and they cost nothing per request. `hstsMaxAgeS` is only given for TLS.
 */
export function tailsAt(timeMs: number, hstsMaxAgeS?: number): Tails {
  const hsts = hstsMaxAgeS === undefined ? '' : `Strict-Transport-Security: max-age=${hstsMaxAgeS}\r\n`;
  const always = `X-Content-Type-Options: nosniff\r\n${hsts}Date: ${new Date(timeMs).toUTCString()}\r\n`;
  return {
    keep: `${always}\r\n`,
    keepOld: `${always}Connection: keep-alive\r\n\r\n`,
    close: `${always}Connection: close\r\n\r\n`,
  };
}
