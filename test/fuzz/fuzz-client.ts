/**
 * Sends requests one after the other on a kept connection, so that an answer with a wrong length is detected by the
 * next request.
 */
import { connect, type Socket } from 'node:net';

export interface FuzzRequest {
  readonly method: string;
  /** As it stands in the request line, one byte per character. */
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array | undefined;
}

export interface FuzzAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

const answerMaxMs = 20_000;

export class FuzzClient {
  readonly #url: string;
  #socket: Socket | undefined;
  #received = Buffer.alloc(0);
  #wake: () => void = () => {};

  constructor(url: string) {
    this.#url = url;
  }

  async send(request: FuzzRequest): Promise<FuzzAnswer> {
    if (this.#socket?.destroyed) throw new Error('the server closed the connection without saying so');
    if (this.#received.length > 0) throw new Error('more came than one answer');
    this.#socket ??= await this.#open();
    this.#socket.write(
      Buffer.concat([Buffer.from(headOf(request), 'latin1'), request.body ?? new Uint8Array()]),
    );
    const answer = await this.#answer();
    // A rejection before the whole request was sent may close the connection.
    const closes = answer.status === 413 || /\bclose\b/i.test(answer.headers.connection ?? '');
    if (closes || isEndless(answer.headers)) this.close();
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#received = Buffer.alloc(0);
  }

  async #answer(): Promise<FuzzAnswer> {
    let isLate = false;
    const alarm = setTimeout(() => {
      isLate = true;
      this.#wake();
    }, answerMaxMs);
    try {
      for (;;) {
        const parsed = parseAnswer(this.#received);
        if (parsed !== undefined) {
          this.#received = this.#received.subarray(parsed.length);
          return parsed.answer;
        }
        if (isLate) throw new Error('no answer came');
        if (this.#socket?.destroyed) throw new Error('the connection was closed without an answer');
        await new Promise<void>(resolve => {
          this.#wake = resolve;
        });
      }
    } finally {
      clearTimeout(alarm);
    }
  }

  #open(): Promise<Socket> {
    const { hostname, port } = new URL(this.#url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port) });
      socket.on('error', reject);
      socket.on('connect', () => resolve(socket));
      socket.on('data', (chunk: Buffer) => {
        if (socket !== this.#socket) return;
        this.#received = Buffer.concat([this.#received, chunk]);
        this.#wake();
      });
      socket.on('close', () => this.#wake());
    });
  }
}

function headOf({ method, target, headers, body }: FuzzRequest): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost'];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`Content-Length: ${body.length}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** The first answer in the received bytes, with its length; undefined while it is not complete. */
function parseAnswer(received: Buffer): { answer: FuzzAnswer; length: number } | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase();
    const value = line.slice(line.indexOf(':') + 1).trim();
    // A name that comes twice has its values joined, as the two cookies of a sign-in have.
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  const start = headEnd + 4;
  const body = isEndless(headers) ? noBody(start) : bodyOf(received, start, headers);
  if (body === undefined) return undefined;
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)![1]);
  const mediaType = (headers['content-type'] ?? '').split(';')[0]!.trim();
  return { answer: { status, headers, mediaType, bytes: body.bytes }, length: body.end };
}

interface ReceivedBody {
  readonly bytes: Uint8Array;
  readonly end: number;
}

const noBody = (end: number): ReceivedBody => ({ bytes: new Uint8Array(), end });

function bodyOf(
  received: Buffer,
  start: number,
  headers: Readonly<Record<string, string>>,
): ReceivedBody | undefined {
  if (headers['transfer-encoding'] === 'chunked') return chunkedBody(received, start);
  const end = start + Number(headers['content-length'] ?? 0);
  return end > received.length ? undefined : { bytes: received.subarray(start, end), end };
}

function chunkedBody(received: Buffer, start: number): ReceivedBody | undefined {
  const chunks: Buffer[] = [];
  for (let position = start; ; ) {
    const lineEnd = received.indexOf('\r\n', position);
    if (lineEnd === -1) return undefined;
    const length = Number.parseInt(received.toString('latin1', position, lineEnd), 16);
    const chunkEnd = lineEnd + 2 + length;
    if (chunkEnd + 2 > received.length) return undefined;
    if (length === 0) return { bytes: Buffer.concat(chunks), end: chunkEnd + 2 };
    chunks.push(received.subarray(lineEnd + 2, chunkEnd));
    position = chunkEnd + 2;
  }
}

/** An event stream continues until one side ends it; its head is the answer. */
function isEndless(headers: Readonly<Record<string, string>>): boolean {
  return headers['content-type']?.startsWith('text/event-stream') ?? false;
}
