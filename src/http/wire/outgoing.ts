/**
 * Bytes on their way to a client. The socket accepts most answers whole; otherwise the rest is kept here until there is
 * room, and the producer waits for that. So a client that does not read costs the unread rest of one answer, for a few
 * seconds.
 */
import type { Socket } from 'bun';
import { headOf, isStreamed, mayHaveBody } from './answer.ts';
import { compact } from './fields.ts';
import type { WireRequest } from './wire-request.ts';

/** Ticks without progress after which a client counts as disconnected. */
const stalledTicksMax = 10;

export class Outgoing {
  readonly #socket: Pick<Socket, 'write'>;
  #unsent: Buffer | undefined;
  #stalledTicks = 0;
  #waiting: (() => void)[] = [];
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

  /** Text has to be ASCII, so that its length is its number of bytes. */
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
    await new Promise<void>(resolve => this.#waiting.push(resolve));
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
    this.#waiting = [];
    for (const wake of waiting) wake();
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
  if (isStreamed(response) && !isHead) return sendStream(response, request, out, finished);
  if (isStreamed(response)) {
    out.write(Buffer.from(finished(headOf(response))));
    await response.body?.cancel();
    return;
  }
  const body = mayHaveBody(response.status) ? await response.bytes() : undefined;
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  const head = Buffer.from(finished(headOf(response) + length));
  out.write(body === undefined || isHead ? head : Buffer.concat([head, body]));
}

async function sendStream(
  response: Response,
  { isOldVersion }: WireRequest,
  out: Outgoing,
  finished: (head: string) => string,
): Promise<void> {
  const framing = isOldVersion ? '' : 'Transfer-Encoding: chunked\r\n';
  out.write(Buffer.from(finished(headOf(response) + framing)));
  const reader = response.body!.getReader();
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
