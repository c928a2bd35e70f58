/**
 * A connection without a network, for tests: its socket is a list of what was written, so that every cut between
 * packets and every order of events can be tried.
 */
import type { Socket } from 'bun';
import { yieldToEventLoop } from '../../base/clock.ts';
import type { Answer } from './answer.ts';
import { Connection } from './connection.ts';
import type { ConnectionContext, QuickAnswer } from './connection-context.ts';
import { type FakeHandle, refuse, saying } from './fake-wire.ts';

const keep = 'A: keep\r\n\r\n';
const close = 'A: close\r\n\r\n';
export const tails = {
  keep,
  keepBytes: Buffer.from(keep),
  keepOld: 'A: keep-old\r\n\r\n',
  close,
  closeBytes: Buffer.from(close),
};

class FakeSocket {
  #sent: Buffer[] = [];
  /** Bytes that the socket accepts before the client has to read. */
  room = Number.POSITIVE_INFINITY;
  readonly calls: string[] = [];
  readonly remoteAddress = '127.0.0.1';

  write = (data: string | Uint8Array, from = 0, length = data.length): number => {
    const bytes = Buffer.from(data as Uint8Array).subarray(from, from + length);
    const written = Math.min(this.room, bytes.length);
    this.room -= written;
    this.#sent.push(bytes.subarray(0, written));
    return written;
  };
  get text(): string {
    return Buffer.concat(this.#sent).toString();
  }
  shutdown = () => this.calls.push('shutdown');
  end = () => this.calls.push('end');
  close = () => this.calls.push('close');
  terminate = () => this.calls.push('terminate');
  pause = () => this.calls.push('pause');
  resume = () => this.calls.push('resume');
}

export function connect(handle: FakeHandle, quick: QuickAnswer = () => 0) {
  const socket = new FakeSocket();
  const faults: unknown[] = [];
  const context = {
    handle,
    quick,
    refuse,
    onFault: (error: unknown) => faults.push(error),
    isVital: () => false,
    bodies: { begin: () => {}, end: () => {} },
    isEncrypted: false,
    isDraining: false,
    tick: 0,
    tails,
    idleMaxTicks: 75,
    inFlight: 0,
  } satisfies ConnectionContext;
  const connection = new Connection(socket as unknown as Socket<Connection>, context);
  const receive = (text: string) => connection.receive(Buffer.from(text, 'latin1'));
  const tick = (count: number) => {
    for (let ticks = 0; ticks < count; ticks += 1) {
      context.tick += 1;
      connection.expire();
    }
  };
  return { socket, faults, context, connection, receive, tick };
}

export const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: h\r\n${headers}\r\n`;
export const postOf = (body: string, path = '/body') =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
export const ok = (body: string, tail: 'keep' | 'keepOld' | 'close' = 'keep') =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${tails[tail]}${body}`;

/** Answers at once, later, or after reading the body, depending on the path. */
export const answerByPath: FakeHandle = request => {
  const { path, body, method } = request;
  if (path === '/now') return saying('now');
  if (path === '/later') return yieldToEventLoop().then(() => saying('later'));
  if (path === '/body') {
    const text = new Response(body).text();
    return text.then(
      read => saying(`${method} ${read}`),
      () => saying('cut short'),
    );
  }
  if (path === '/response') return Promise.resolve(new Response('response'));
  return saying(path);
};

/** A handler whose requests are answered when the test says so. */
export function held() {
  const answers: ((answer: Answer | Response) => void)[] = [];
  const handle: FakeHandle = () => new Promise(resolve => answers.push(resolve));
  const answer = async (text: string): Promise<void> => {
    answers.shift()!(saying(text));
    await yieldToEventLoop();
  };
  return { handle, answer };
}
