/**
 * The outcome of a client's bytes in `http/wire`, split into given pieces: the complete requests, and the answer to an
 * error. No network is involved, so thousands of splits take a second.
 */
import { yieldToEventLoop } from '../../src/base/clock.ts';
import { Problem } from '../../src/base/errors.ts';
import type { Random } from '../../src/base/random.ts';
import type { Answer } from '../../src/http/wire/answer.ts';
import { connect } from '../../src/http/wire/fake-connection.ts';
import { refuse, saying } from '../../src/http/wire/fake-wire.ts';
import type { WireRequest } from '../../src/http/wire/wire-request.ts';

export interface WireOutcome {
  /** Only complete ones: line, headers and body. */
  readonly requests: readonly string[];
  /** Status and text of the answer to the first invalid message; after it, nothing is read. */
  readonly error: string | undefined;
  /** What the connection itself reports as a bug. */
  readonly faults: readonly unknown[];
  readonly heldBytes: number;
}

const turnsMax = 1_000;

export async function wireOutcome(pieces: readonly Uint8Array[]): Promise<WireOutcome> {
  const requests: string[] = [];
  let isAwaitingBody = false;
  const handle = (request: WireRequest): Answer | Promise<Answer> => {
    request.onBodyWait = isWaiting => {
      isAwaitingBody = isWaiting;
    };
    const { body } = request;
    if (body instanceof ReadableStream) return answerTo(request, body);
    requests.push(described(request, body ?? new Uint8Array()));
    return saying('');
  };
  const answerTo = async (request: WireRequest, body: ReadableStream<Uint8Array>): Promise<Answer> => {
    try {
      requests.push(described(request, await new Response(body).bytes()));
      return saying('');
    } catch (error) {
      // Otherwise the client has left, and no answer is sent.
      return error instanceof Problem ? refuse(error) : saying('');
    }
  };
  const { connection, socket, faults, context } = connect(handle);
  for (const piece of pieces) {
    // A copy, because a body takes ownership of its bytes and changes them.
    connection.receive(Buffer.from(piece));
    for (let turns = 0; context.inFlight > 0 && !isAwaitingBody; turns += 1) {
      if (turns === turnsMax) throw new Error('a handler neither answers nor waits for its client');
      await yieldToEventLoop();
    }
  }
  const { heldBytes } = connection;
  connection.gone();
  const [, status, rest = ''] = /HTTP\/1\.1 ([45]\d\d)([\s\S]*)/.exec(socket.text) ?? [];
  const error = status && `${status} ${rest.slice(rest.indexOf('\r\n\r\n') + 4)}`;
  return { requests, error, faults, heldBytes };
}

function described({ method, path, query, isOldVersion, headers }: WireRequest, body: Uint8Array): string {
  const lines = [...headers.toHeaders()].map(([name, value]) => `${name}: ${value}`);
  return [
    `${method} ${path}?${query} ${isOldVersion ? 1.0 : 1.1}`,
    ...lines,
    Buffer.from(body).toString('latin1'),
  ].join('\n');
}

/** Cut at random places, into at most `piecesMax` pieces. */
export function randomPieces(bytes: Uint8Array, random: Random, piecesMax: number): Uint8Array[] {
  const count = 1 + Math.floor(random.float() * piecesMax);
  const cuts = Array.from({ length: count - 1 }, () => Math.floor(random.float() * (bytes.length + 1)));
  const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}

export const singleBytes = (bytes: Uint8Array): Uint8Array[] =>
  Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
