/**
 * HTTP as bytes on a socket, for requests that no well-behaved client sends. Tests check the answers until the server
 * closes the connection, or the first answers on one that stays open.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; a name that comes twice has its values joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Strings are sent one byte per character, so that any byte can be written down. */
export type RawBytes = string | Uint8Array;

export class RawConnection {
  readonly #socket: Socket;
  #received = '';
  #closed = false;
  #wake: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
      this.#wakeAll();
    });
    // A reset is one more way for the server to close; what it had answered before still counts.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#closed = true;
      this.#wakeAll();
    });
  }

  /**
   * `keepsOpen`: does not close its side when the server closes. `from`: the loopback address that it comes from, such
   * as 127.0.1.7. Over TLS any certificate is accepted.
   */
  static open(
    url: string,
    { keepsOpen = false, from }: { readonly keepsOpen?: boolean; readonly from?: string } = {},
  ): Promise<RawConnection> {
    const { protocol, hostname, port } = new URL(url);
    const at = {
      host: hostname,
      port: Number(port),
      allowHalfOpen: keepsOpen,
      ...(from !== undefined && { localAddress: from }),
    };
    const isTls = protocol === 'https:';
    return new Promise((resolve, reject) => {
      const socket = isTls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
      socket.once('error', reject);
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
    });
  }

  /** The name in the certificate that the server showed. */
  get serverName(): string | undefined {
    const { CN } = (this.#socket as TLSSocket).getPeerCertificate().subject;
    return typeof CN === 'string' ? CN : CN?.[0];
  }

  get closed(): boolean {
    return this.#closed;
  }

  write(bytes: RawBytes): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** The first `count` answers, as soon as they are complete; fewer when the server closes before. */
  async answers(count: number): Promise<RawAnswer[]> {
    for (;;) {
      const answers = parseAnswers(this.#received);
      if (answers.length >= count || this.#closed) return answers;
      await this.#news();
    }
  }

  /** Returns once this text was received; for interim answers. */
  async receives(text: string): Promise<void> {
    while (!this.#received.includes(text)) {
      if (this.#closed) throw new Error(`the connection was closed before ${text}`);
      await this.#news();
    }
  }

  /** Everything that was received by the time the server has closed the connection. */
  async textUntilClosed(): Promise<string> {
    while (!this.#closed) await this.#news();
    return this.#received;
  }

  async answersUntilClosed(): Promise<RawAnswer[]> {
    return parseAnswers(await this.textUntilClosed());
  }

  /** Sends no more, but continues to read. */
  finishSending(): void {
    this.#socket.end();
  }

  /** Stops reading, so that the server's output backs up. */
  pause(): void {
    this.#socket.pause();
  }

  /** Resumes reading. */
  resume(): void {
    this.#socket.resume();
  }

  /** Destroys the connection at once. */
  abandon(): void {
    this.#socket.destroy();
  }

  /** Shows the server that nothing it sent will be read. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  #news(): Promise<void> {
    return new Promise(resolve => this.#wake.push(resolve));
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** Sends `bytes` on a connection of its own and returns what was answered until the server closed it. */
export async function sendRaw(url: string, bytes: RawBytes): Promise<RawAnswer[]> {
  const connection = await RawConnection.open(url);
  connection.write(bytes);
  return connection.answersUntilClosed();
}

/** The complete answers in `text`, apart from interim ones such as 100. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let position = 0; ; ) {
    const headEnd = text.indexOf('\r\n\r\n', position);
    if (headEnd === -1) return answers;
    const [statusLine = '', ...lines] = text.slice(position, headEnd).split('\r\n');
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
    }
    const status = Number(statusLine.split(' ')[1]);
    const bodyStart = headEnd + 4;
    const bodyEnd = bodyStart + Number(headers['content-length'] ?? 0);
    if (bodyEnd > text.length) return answers;
    if (status >= 200) answers.push({ status, headers, body: text.slice(bodyStart, bodyEnd) });
    position = bodyEnd;
  }
}
