/**
 * Finds out why a broker cannot be used, when the client library only knows that its connection was closed: whether
 * anything listens, and whether that speaks Kafka, TLS or something else.
 */
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../base/clock.ts';

export type Spoken = 'nothing' | 'kafka' | 'tls' | 'silence' | 'other';

const answerMaxMs = 1_500;
const correlationId = 0x7e25e;

export async function spokenAt(server: string, clock: Clock): Promise<Spoken> {
  const { host, port } = placeOf(server);
  const answer = await firstBytes(host, port, clock);
  if (answer === undefined) return 'nothing';
  if (answer.length >= 8 && answer.readInt32BE(4) === correlationId) return 'kafka';
  if (await speaksTls(host, port, clock)) return 'tls';
  return answer.length === 0 ? 'silence' : 'other';
}

/** Why not, if not. */
export function connectFailure(
  { host, port }: { readonly host: string; readonly port: number },
  clock: Clock,
): Promise<string | undefined> {
  return new Promise(resolve => {
    const socket = connect({ host, port });
    const end = (reason: string | undefined): void => {
      cancel();
      socket.destroy();
      resolve(reason);
    };
    const cancel = clock.after(answerMaxMs, () => end(`no connection within ${answerMaxMs} ms`));
    socket.on('connect', () => end(undefined));
    socket.on('error', error => end(error.message));
  });
}

/** What it answers when it is asked in Kafka's words which requests it knows; undefined when nothing listens. */
function firstBytes(host: string, port: number, clock: Clock): Promise<Buffer | undefined> {
  return new Promise(resolve => {
    let answer: Buffer | undefined;
    const socket = connect({ host, port });
    const end = (): void => {
      cancel();
      socket.destroy();
      resolve(answer);
    };
    const cancel = clock.after(answerMaxMs, end);
    socket.on('connect', () => {
      answer = Buffer.alloc(0);
      socket.write(apiVersionsRequest());
    });
    socket.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer ?? Buffer.alloc(0), chunk]);
      if (answer.length >= 8) end();
    });
    socket.on('error', end);
    socket.on('close', end);
  });
}

/** Version 0, which every broker of the last ten years answers, also before a login. */
function apiVersionsRequest(): Buffer {
  const clientId = 'terse-doctor';
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + clientId.length);
  request.writeInt32BE(request.length - 4, 0);
  request.writeInt16BE(18, 4);
  request.writeInt16BE(0, 6);
  request.writeInt32BE(correlationId, 8);
  request.writeInt16BE(clientId.length, 12);
  request.write(clientId, 14, 'latin1');
  return request;
}

function speaksTls(host: string, port: number, clock: Clock): Promise<boolean> {
  return new Promise(resolve => {
    // Only whether it is TLS is asked here; the client checks the certificate.
    const socket = connectTls({ host, port, rejectUnauthorized: false });
    const end = (isTls: boolean): void => {
      cancel();
      socket.destroy();
      resolve(isTls);
    };
    const cancel = clock.after(answerMaxMs, () => end(false));
    socket.on('secureConnect', () => end(true));
    socket.on('error', () => end(false));
    socket.on('close', () => end(false));
  });
}

function placeOf(server: string): { host: string; port: number } {
  const colon = server.lastIndexOf(':');
  return {
    host: server.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(server.slice(colon + 1)),
  };
}
