/**
 * Calls over keep-alive connections, for bursts from the machine of the servers under test: they cost the client about
 * half of what `fetch` does. A call takes a free connection or waits for one.
 */
import type { Socket } from 'bun';

export interface BriskAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly body: string;
}

interface Connection {
  unsent: Buffer;
  received: string;
  answer: PromiseWithResolvers<BriskAnswer> | undefined;
}

const nothing = Buffer.alloc(0);

export class BriskClient {
  readonly #url: URL;
  readonly #connectionsMax: number;
  readonly #free: Socket<Connection>[] = [];
  readonly #waiting: PromiseWithResolvers<Socket<Connection>>[] = [];
  #connections = 0;

  constructor(url: string, connectionsMax: number) {
    this.#url = new URL(url);
    this.#connectionsMax = connectionsMax;
  }

  /** `head` is the request line and the headers except Host and Content-Length; characters are bytes. */
  async call(head: readonly string[], body = ''): Promise<BriskAnswer> {
    const socket = await this.#connection();
    const lines = [head[0]!, `Host: ${this.#url.host}`, ...head.slice(1)];
    if (body !== '') lines.push(`Content-Length: ${body.length}`);
    socket.data.answer = Promise.withResolvers();
    socket.data.unsent = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1');
    flush(socket);
    return socket.data.answer.promise;
  }

  close(): void {
    for (const socket of this.#free.splice(0)) socket.end();
  }

  #connection(): Promise<Socket<Connection>> | Socket<Connection> {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#connections < this.#connectionsMax) return this.#connect();
    const place = Promise.withResolvers<Socket<Connection>>();
    this.#waiting.push(place);
    return place.promise;
  }

  async #connect(): Promise<Socket<Connection>> {
    this.#connections += 1;
    try {
      return await Bun.connect<Connection>({
        hostname: this.#url.hostname,
        port: Number(this.#url.port),
        data: { unsent: nothing, received: '', answer: undefined },
        socket: {
          drain: flush,
          data: (socket, chunk) => this.#receive(socket, chunk),
          close: socket => this.#lose(socket),
          // A reset is one more way to close, and `close` follows.
          error() {},
        },
      });
    } catch (error) {
      this.#giveUpPlace();
      throw error;
    }
  }

  /** Requests that wait for a connection get a new one, or fail because none can be opened. */
  #giveUpPlace(): void {
    this.#connections -= 1;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#connect().then(next.resolve, next.reject);
  }

  #receive(socket: Socket<Connection>, chunk: Buffer): void {
    const { data } = socket;
    data.received += chunk.toString('latin1');
    const answer = answerIn(data.received);
    if (answer === undefined) return;
    data.received = '';
    const { resolve } = data.answer!;
    data.answer = undefined;
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(socket);
    else next.resolve(socket);
    resolve(answer);
  }

  #lose(socket: Socket<Connection>): void {
    const place = this.#free.indexOf(socket);
    if (place !== -1) this.#free.splice(place, 1);
    socket.data.answer?.reject(new Error('the server closed the connection'));
    this.#giveUpPlace();
  }
}

/** Undefined until it is complete. */
function answerIn(received: string): BriskAnswer | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = received.slice(0, headEnd);
  const body = received.slice(headEnd + 4);
  if (body.length < Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)) return undefined;
  return {
    status: Number(head.slice(9, 12)),
    location: /\r\nlocation: *(\S+)/i.exec(head)?.[1] ?? null,
    body,
  };
}

function flush(socket: Socket<Connection>): void {
  const { unsent } = socket.data;
  if (unsent.length > 0) socket.data.unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
}
