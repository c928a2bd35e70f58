/** The state that all connections of a listener share: the handler, the clock, the number of requests. */
import { Problem } from '../../base/errors.ts';
import type { Answer } from './answer.ts';
import type { Connection } from './connection.ts';
import type { Fields } from './fields.ts';
import type { Outgoing } from './outgoing.ts';
import type { Peer, WireRequest } from './wire-request.ts';

/**
 * Answers a GET without a query, whose path is in `bytes` between two positions, without its slash. Writes the head of an
 * answer without a body into `target` and returns its length; 0 when the request needs the handler.
 */
export type QuickAnswer = (
  bytes: Uint8Array,
  from: number,
  to: number,
  headers: Fields,
  peer: Peer,
  target: Uint8Array,
) => number;

export interface ConnectionContext {
  readonly handle: (request: WireRequest) => Answer | Promise<Answer | Response>;
  /** Tried first when all of a request but its path is known. */
  readonly quick: QuickAnswer;
  /** The answer to a request that is malformed or did not arrive in time. */
  readonly refuse: (problem: Problem) => Answer;
  readonly onFault: (error: unknown) => void;
  /** Whether a request is answered even on a connection beyond the cap. */
  readonly isVital: (request: WireRequest) => boolean;
  /** Called when the body of a request has not arrived yet, and when that ends. */
  readonly bodies: {
    begin(connection: Connection, request: WireRequest): void;
    end(connection: Connection): void;
  };
  readonly isEncrypted: boolean;
  readonly isDraining: boolean;
  /** Seconds since the listener began; the clock of connections. */
  readonly tick: number;
  readonly tails: Tails;
  /** How long a client may stay idle between two requests. */
  readonly idleMaxTicks: number;
  /** Requests in progress. */
  inFlight: number;
}

/** Ends of a head: the headers of every answer, those of the connection, and the empty line. */
export interface Tails {
  readonly keep: string;
  readonly keepBytes: Uint8Array;
  readonly keepOld: string;
  readonly close: string;
  readonly closeBytes: Uint8Array;
}

/**
 * Built once a second, because all answers within it have the same date. The security headers of every answer are here
 * too: no handler can forget them and they cost nothing per request. `hstsMaxAgeS` is only given for TLS.
 */
export function tailsAt(timeMs: number, hstsMaxAgeS?: number): Tails {
  const hsts = hstsMaxAgeS === undefined ? '' : `Strict-Transport-Security: max-age=${hstsMaxAgeS}\r\n`;
  const always = `X-Content-Type-Options: nosniff\r\n${hsts}Date: ${new Date(timeMs).toUTCString()}\r\n`;
  const keep = `${always}\r\n`;
  const close = `${always}Connection: close\r\n\r\n`;
  return {
    keep,
    keepBytes: Buffer.from(keep),
    keepOld: `${always}Connection: keep-alive\r\n\r\n`,
    close,
    closeBytes: Buffer.from(close),
  };
}

/**
 * The timeouts of clients, in ticks of a second. A wait that began between two ticks is up to one tick shorter than its
 * count, so a client may be cut off that much early, and a slow head or body is cut off within ten seconds.
 */
const headMaxTicks = 9;
/** A client that has closed its sending side is unlikely to wait longer for an answer. */
const answerMaxTicks = 75;
const lingerMaxTicks = 2;
/** How long an idle client's headers are kept for comparison. */
const rememberMaxTicks = 5;
/** After the first seconds a body must arrive at this rate. */
const bodyMinBytesPerTick = 8 * 1024;

export const timeouts = {
  isHeadLate: (waitedTicks: number): boolean => waitedTicks >= headMaxTicks,
  isBodyLate: (waitedTicks: number, receivedBytes: number): boolean =>
    waitedTicks >= headMaxTicks + receivedBytes / bodyMinBytesPerTick,
  isForgettable: (waitedTicks: number): boolean => waitedTicks === rememberMaxTicks,
  isAnswerTooLate: (waitedTicks: number): boolean => waitedTicks >= answerMaxTicks,
  /** The time to read the last answer. */
  isShutdownOver: (waitedTicks: number): boolean => waitedTicks >= lingerMaxTicks,
} as const;

export const refusals = {
  tooManyConnections: (): Problem =>
    new Problem('overloaded', { detail: 'Too many connections.', headers: { 'Retry-After': '1' } }),
  tooSlow: (detail: string): Problem => new Problem('request_timeout', { detail }),
} as const;

/** Shared by all connections: its bytes are written at once, and copied if the socket does not accept them. */
const quickBuffer = new Uint8Array(8 * 1024);
/** The rest is for the headers of the connection. */
export const quickTarget = quickBuffer.subarray(0, 6 * 1024);

/** Sends the head whose first `length` bytes are in `quickTarget`, completed by a tail. */
export function writeQuick(out: Outgoing, length: number, tail: Uint8Array): void {
  for (let index = 0; index < tail.length; index += 1) quickBuffer[length + index] = tail[index]!;
  out.writeFrom(quickBuffer, length + tail.length);
}
