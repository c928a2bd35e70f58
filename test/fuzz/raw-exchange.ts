/**
 * Sends bytes on a new connection and returns whatever comes back. A server waits for the rest of an incomplete
 * request, so the client closes its sending side; an exchange that still waits after that is abandoned.
 */
import { connect } from 'node:net';

export interface RawOutcome {
  /** One byte per character. */
  readonly text: string;
  readonly end: 'answered' | 'closed' | 'waiting';
}

/** Generous on purpose: a server that takes longer has a bug. */
const timeoutMs = 20_000;

export function exchangeRaw(url: string, bytes: Uint8Array): Promise<RawOutcome> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const finish = (end: RawOutcome['end']): void => {
      clearTimeout(timeout);
      socket.destroy();
      resolve({ text, end });
    };
    const timeout = setTimeout(() => finish('waiting'), timeoutMs);
    let connected = false;
    socket.on('connect', () => {
      connected = true;
      socket.end(bytes);
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (isWhole(text)) finish('answered');
    });
    // A reset ends the exchange; an error before the connection is open means that the server is down.
    socket.on('error', error => (connected ? finish('closed') : reject(error)));
    socket.on('end', () => finish('closed'));
    socket.on('close', () => finish('closed'));
  });
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const length = Number(/^content-length: *(\d+)/im.exec(text.slice(0, headEnd))?.[1] ?? 0);
  return text.length >= headEnd + 4 + length;
}

export interface RawHead {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
}

/** The first answer's head; undefined when there is none. */
export function headOf({ text }: RawOutcome): RawHead | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, headEnd === -1 ? undefined : headEnd).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1];
  if (status === undefined) return undefined;
  const headers = lines.map(line => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(status), headers };
}
