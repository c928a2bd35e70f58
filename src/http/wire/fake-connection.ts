/**
 * A connection without a network, for tests: its socket is a list of what was written, so that every cut between
 * packets and every order of events can be tried.
 */
import type { Socket } from 'bun';
import { letOthersRun } from '../../base/clock.ts';
import type { Answer } from './answer.ts';
import { Connection } from './connection.ts';
import { type FakeHandle, refuse, saying } from './fake-wire.ts';
import type { Surroundings } from './surroundings.ts';

export const tails = { keep: 'A: keep\r\n\r\n', keepOld: 'A: keep-old\r\n\r\n', close: 'A: close\r\n\r\n' };

class FakeSocket {
  #sent: Buffer[] = [];
  /** Bytes that are taken before the client has to read. */
  room = Number.POSITIVE_INFINITY;
  readonly told: string[] = [];
  readonly remoteAddress = '127.0.0.1';

  write = (data: unknown): number => {
    const bytes = Buffer.from(data as Uint8Array);
    const written = Math.min(this.room, bytes.length);
    this.room -= written;
    this.#sent.push(bytes.subarray(0, written));
    return written;
  };
  get text(): string {
    return Buffer.concat(this.#sent).toString();
  }
  shutdown = () => this.told.push('shutdown');
  end = () => this.told.push('end');
  terminate = () => this.told.push('terminate');
  pause = () => this.told.push('pause');
  resume = () => this.told.push('resume');
}

export function connect(handle: FakeHandle) {
  const socket = new FakeSocket();
  const faults: unknown[] = [];
  const around = {
    handle,
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
  } satisfies Surroundings;
  const connection = new Connection(socket as unknown as Socket<Connection>, around);
  const receive = (text: string) => connection.receive(Buffer.from(text, 'latin1'));
  const tick = (count: number) => {
    for (let ticks = 0; ticks < count; ticks += 1) {
      around.tick += 1;
      connection.expire();
    }
  };
  return { socket, faults, around, connection, receive, tick };
}

export const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: h\r\n${headers}\r\n`;
export const postOf = (body: string, path = '/body') =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
export const ok = (body: string, tail: keyof typeof tails = 'keep') =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${tails[tail]}${body}`;

/** Answers at once, later, or after having read the body, as the path says. */
export const obliging: FakeHandle = request => {
  const { path, body, method } = request;
  if (path === '/now') return saying('now');
  if (path === '/later') return letOthersRun().then(() => saying('later'));
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
    await letOthersRun();
  };
  return { handle, answer };
}
