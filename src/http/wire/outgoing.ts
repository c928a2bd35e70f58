/**
 * Bytes on their way to a client. The socket accepts most answers whole; otherwise the rest is kept here until there is
 * room, and the producer waits for that. So a client that does not read costs the unread rest of one answer, for a few
 * seconds.
 */
import type { Socket } from 'bun';
import { headOf, isStreamed, mayHaveBody } from './answer.ts';
import { codedBody, codedStream, codedStreamLines, codedUnchanged } from './content-coding.ts';
import { compact } from './fields.ts';
import type { WireRequest } from './wire-request.ts';

/** Ticks without progress after which a client counts as disconnected. */
const stalledTicksMax = 10;

export class Outgoing {
  readonly #socket: Pick<Socket, 'write'>;
  #unsent: Buffer | undefined;
  #stalledTicks = 0;
  #waiting: (() => void)[] | undefined;
  #isGone = false;
  /** Called when nothing more can be sent. */
  onGone: (() => void) | undefined;

  constructor(socket: Pick<Socket, 'write'>) {
    this.#socket = socket;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get isBehind(): boolean {
    return this.#unsent !== undefined;
  }

  get unsentBytes(): number {
    return this.#unsent?.length ?? 0;
  }

  /** Text must be ASCII, so that its length is its number of bytes. */
  write(data: string | Uint8Array): void {
    if (this.#isGone) return;
    if (this.#unsent !== undefined) {
      this.#unsent = Buffer.concat([this.#unsent, Buffer.from(data as Uint8Array)]);
      return;
    }
    const written = this.#socket.write(data);
    // The result is negative when the socket is closed; its close event follows.
    if (written < 0 || written === data.length) return;
    this.#unsent =
      typeof data === 'string' ? Buffer.from(data.slice(written)) : Buffer.from(data.subarray(written));
    this.#stalledTicks = 0;
  }

  /** Some bytes of a buffer that is used again. Nothing may be waiting. */
  writeFrom(buffer: Uint8Array, length: number): void {
    if (this.#isGone) return;
    const written = this.#socket.write(buffer, 0, length);
    if (written < 0 || written === length) return;
    this.#unsent = Buffer.from(buffer.subarray(written, length));
    this.#stalledTicks = 0;
  }

  /** There is room again. */
  flush(): void {
    if (this.#unsent === undefined) return;
    const written = this.#socket.write(this.#unsent);
    if (written > 0) this.#stalledTicks = 0;
    if (written >= 0 && written < this.#unsent.length) {
      this.#unsent = compact(this.#unsent.subarray(written));
      return;
    }
    this.#unsent = undefined;
    this.#wake();
  }

  /** Resolves when there is room, or no reason to wait any more. */
  async room(): Promise<void> {
    if (this.#unsent === undefined) return;
    await new Promise<void>(resolve => {
      this.#waiting ??= [];
      this.#waiting.push(resolve);
    });
  }

  /** Call this once per tick. */
  isStalled(): boolean {
    if (this.#unsent === undefined) return false;
    this.#stalledTicks += 1;
    return this.#stalledTicks > stalledTicksMax;
  }

  abandon(): void {
    this.#unsent = undefined;
    this.#isGone = true;
    this.#wake();
    this.onGone?.();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const wake of waiting ?? []) wake();
  }
}

const crlf = Buffer.from('\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** `finished` completes a head with the headers of the connection. */
export async function sendResponse(
  response: Response,
  request: WireRequest,
  out: Outgoing,
  finished: (head: string) => string,
): Promise<void> {
  const isHead = request.method === 'HEAD';
  if (isStreamed(response)) {
    if (!isHead) return sendStream(response, request, out, finished);
    const lines = codedStreamLines(response, request.headers);
    out.write(Buffer.from(finished(headOf(response, { lines, suffix: '' }))));
    await response.body?.cancel();
    return;
  }
  if (!mayHaveBody(response.status)) {
    out.write(Buffer.from(finished(headOf(response, codedUnchanged(response.headers, request.headers)))));
    return;
  }
  const coded = await codedBody(await response.bytes(), response.headers, request.headers);
  const { body } = coded;
  const head = Buffer.from(finished(`${headOf(response, coded)}Content-Length: ${body.length}\r\n`));
  out.write(isHead ? head : Buffer.concat([head, body]));
}

async function sendStream(
  response: Response,
  { isOldVersion, headers }: WireRequest,
  out: Outgoing,
  finished: (head: string) => string,
): Promise<void> {
  const framing = isOldVersion ? '' : 'Transfer-Encoding: chunked\r\n';
  const { body, lines } = codedStream(response, headers);
  out.write(Buffer.from(finished(headOf(response, { lines, suffix: '' }) + framing)));
  const reader = body.getReader();
  out.onGone = () => void reader.cancel().catch(() => undefined);
  if (out.isGone) out.onGone();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || out.isGone) break;
    if (value.length === 0) continue;
    out.write(
      isOldVersion ? value : Buffer.concat([Buffer.from(`${value.length.toString(16)}\r\n`), value, crlf]),
    );
    await out.room();
  }
  out.onGone = undefined;
  if (!isOldVersion) out.write(lastChunk);
}
