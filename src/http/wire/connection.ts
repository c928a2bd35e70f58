/**
 * One client's connection: bytes in, requests out, answers back in the order of the requests. The way of a redirect
 * is the short one: its request arrives whole, is understood where it lies, and its answer is written before this
 * function returns. Everything else (a head in pieces, a body, a handler that takes time, a reader that is slow)
 * makes the connection wait, and while it waits it holds a bounded amount.
 *
 * Time is counted in ticks of the listener, one a second, so that no connection needs a timer of its own.
 */
import type { Socket } from 'bun';
import { Problem } from '../../base/errors.ts';
import { type Answer, isStreamed } from './answer.ts';
import { type Fields, malformed, parseFields } from './fields.ts';
import { parseRequestLine, requireHost } from './head.ts';
import { IncomingBody } from './incoming-body.ts';
import { Outgoing } from './outgoing.ts';
import { sendResponse } from './send-response.ts';
import { WireRequest } from './wire-request.ts';

/** What all connections of a listener share. */
export interface Surroundings {
  readonly handle: (request: WireRequest) => Answer | Promise<Answer | Response>;
  /** The answer to what cannot be understood, or did not come in time. */
  readonly refuse: (problem: Problem) => Answer;
  readonly onFault: (error: unknown) => void;
  readonly isDraining: boolean;
  readonly tick: number;
  /** Ends of a head: what belongs to the connection, and the empty line. */
  readonly tails: Tails;
  inFlight: number;
}

export interface Tails {
  readonly keep: string;
  readonly keepOld: string;
  readonly close: string;
}

const headMaxBytes = 16 * 1024;
/** Of the first bytes of a request, what is looked at for a head. */
const headWindowBytes = headMaxBytes + 4;
/** Requests sent ahead that may wait here before the socket rests. */
const aheadMaxBytes = 64 * 1024;
/** A body that nobody read is passed over if no more than this is missing; otherwise the connection is closed. */
const passOverMaxBytes = 64 * 1024;
const headMaxTicks = 9;
const idleMaxTicks = 75;
const lingerMaxTicks = 2;
const noBytes = Buffer.alloc(0);
/** Beyond the first seconds a body has to come at this pace. */
const bodyMinBytesPerTick = 8 * 1024;

/**
 * `head`: waiting for a request, or for the rest of its head. `busy`: a handler is at work or its answer is being
 * sent. `lingering`: nothing more will be said, and what still comes is passed over, because closing a socket that
 * has unread bytes takes back the answer before the client has read it.
 */
type Phase = 'head' | 'busy' | 'lingering' | 'closed';

export class Connection {
  readonly #around: Surroundings;
  readonly #socket: Socket<Connection>;
  readonly #out: Outgoing;
  #phase: Phase = 'head';
  /** Bytes that are not understood yet: a part of a head, or requests sent ahead. */
  #ahead: Buffer | undefined;
  #body: IncomingBody | undefined;
  #address: string | undefined;
  /** The header text of the last request and what it said; see `Fields`. */
  #lastText = '';
  #lastFields: Fields | undefined;
  /** When the connection began to wait for what it is waiting for. */
  #sinceTick: number;
  #isIdle = false;
  #isPaused = false;
  #inputEnded = false;
  #mustClose = false;
  #outIsWide = false;

  constructor(socket: Socket<Connection>, around: Surroundings) {
    this.#socket = socket;
    this.#around = around;
    this.#out = new Outgoing(socket);
    this.#sinceTick = around.tick;
  }

  /** Asked for once per connection, because asking the system costs as much as a redirect's lookup. */
  get address(): string {
    this.#address ??= this.#socket.remoteAddress;
    return this.#address;
  }

  /** Whether it has been waiting for a request for a while, so that closing it costs nobody an answer. */
  get isExpendable(): boolean {
    return this.#phase === 'head' && !this.#out.isBehind && this.#around.tick - this.#sinceTick > 1;
  }

  /** Whether it is between two requests. */
  get isIdle(): boolean {
    return this.#phase === 'head' && this.#isIdle && this.#body === undefined && !this.#out.isBehind;
  }

  /** Whether nothing was ever asked on it. */
  get isUnused(): boolean {
    return this.#phase === 'head' && this.#lastFields === undefined && this.#ahead === undefined;
  }

  get idleTicks(): number {
    return this.#around.tick - this.#sinceTick;
  }

  get isLingering(): boolean {
    return this.#phase === 'lingering';
  }

  receive(chunk: Buffer): void {
    if (this.#phase === 'lingering' || this.#phase === 'closed') return;
    let bytes: Buffer = chunk;
    if (this.#body !== undefined) {
      bytes = this.#takeBody(bytes);
      if (bytes.length === 0) return;
    }
    if (this.#ahead !== undefined) {
      bytes = Buffer.concat([this.#ahead, bytes]);
      this.#ahead = undefined;
    }
    if (this.#phase === 'head' && !this.#out.isBehind) this.#advance(bytes);
    else this.#keepAhead(bytes);
  }

  /** The socket takes bytes again. */
  drained(): void {
    this.#out.flush();
    if (this.#out.isBehind) return;
    if (this.#phase === 'lingering') this.#socket.shutdown();
    else this.#goOn();
  }

  /** The client will send no more, but may still read. */
  ended(): void {
    this.#inputEnded = true;
    if (this.#phase === 'lingering') this.close();
    else if (this.#phase === 'busy') this.#body?.fail(new Error('the client went away'));
    else if (!this.#out.isBehind) this.close();
  }

  /** The socket is closed: whoever waits for this client need not. */
  gone(): void {
    this.#phase = 'closed';
    this.#body?.fail(new Error('the client went away'));
    this.#body = undefined;
    this.#ahead = undefined;
    this.#out.abandon();
  }

  close(): void {
    this.#socket.end();
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Says no to a client that has not asked yet. */
  turnAway(answer: Answer): void {
    this.#out.write(answer.head + this.#around.tails.close + answer.body);
    this.#linger(false);
  }

  /** Called once per tick: ends what takes too long. */
  expire(): void {
    const waitedTicks = this.#around.tick - this.#sinceTick;
    if (this.#phase === 'lingering') {
      if (waitedTicks >= lingerMaxTicks) this.terminate();
    } else if (this.#out.isStalled()) this.terminate();
    else if (this.#body !== undefined) this.#expireBody(this.#body, waitedTicks);
    else if (this.#phase === 'head' && !this.#out.isBehind) this.#expireHead(waitedTicks);
  }

  #expireHead(waitedTicks: number): void {
    if (waitedTicks < (this.#isIdle ? idleMaxTicks : headMaxTicks)) return;
    if (this.#ahead === undefined) this.close();
    else this.#giveUp(new Problem('request_timeout', { detail: 'The request head did not come in time.' }));
  }

  #expireBody(body: IncomingBody, waitedTicks: number): void {
    // Whoever is told to wait is not slow.
    if (this.#isPaused || waitedTicks < headMaxTicks + body.receivedBytes / bodyMinBytesPerTick) return;
    this.#mustClose = true;
    if (this.#phase === 'head') this.terminate();
    else body.fail(new Problem('request_timeout', { detail: 'The request body did not come in time.' }));
  }

  /** Understands as many requests as there are, up to the first that takes time. */
  #advance(bytes: Buffer): void {
    let at = 0;
    let out = '';
    try {
      while (at < bytes.length && this.#phase === 'head' && this.#body === undefined && !this.#mustClose) {
        const text = bytes.toString('latin1', at, Math.min(bytes.length, at + headWindowBytes));
        const lineEnd = text.indexOf('\r\n');
        if (lineEnd === 0) {
          // Some old clients send an empty line after a body.
          at += 2;
          continue;
        }
        const headEnd = this.#headEnd(text, lineEnd);
        if (headEnd === -1) break;
        const line = parseRequestLine(text, 0, lineEnd);
        const fields = this.#fieldsOf(text, lineEnd, headEnd, line.isOldVersion);
        at += headEnd + 4;
        const body = fields.bodyBytes === 0 ? undefined : this.#bodyOf(fields, bytes.subarray(at));
        if (body !== undefined) at += body.usedBytes;
        out += this.#begin(new WireRequest(line, fields, this, body?.content));
      }
    } catch (error) {
      this.#write(out);
      this.#giveUp(error);
      return;
    }
    if (out !== '') this.#write(out);
    const isWhole = at === bytes.length;
    if (at > 0 || this.#isIdle) this.#sinceTick = this.#around.tick;
    this.#isIdle = isWhole;
    if (!isWhole) this.#keepAhead(bytes.subarray(at));
    if (this.#phase === 'head' && (this.#mustClose || this.#body !== undefined)) this.#leaveBody();
  }

  /** Where the head ends; -1 when its end has not come yet. */
  #headEnd(text: string, lineEnd: number): number {
    if (lineEnd !== -1 && this.#lastText !== '' && text.startsWith(this.#lastText, lineEnd))
      return lineEnd + this.#lastText.length - 4;
    const headEnd = lineEnd === -1 ? -1 : text.indexOf('\r\n\r\n', lineEnd);
    if (headEnd > headMaxBytes || (headEnd === -1 && text.length > headMaxBytes)) {
      throw new Problem('head_too_large', {
        detail: `A request head may have at most ${headMaxBytes} bytes.`,
      });
    }
    return headEnd;
  }

  #fieldsOf(text: string, lineEnd: number, headEnd: number, isOldVersion: boolean): Fields {
    const isSame =
      this.#lastFields !== undefined &&
      headEnd + 4 - lineEnd === this.#lastText.length &&
      text.startsWith(this.#lastText, lineEnd);
    const fields = isSame ? this.#lastFields! : parseFields(text, lineEnd, headEnd);
    requireHost(fields, isOldVersion);
    if (fields.bodyBytes === undefined && isOldVersion) throw malformed('HTTP/1.0 knows no chunks.');
    if (!isSame) {
      this.#lastText = text.slice(lineEnd, headEnd + 4);
      this.#lastFields = fields;
    }
    return fields;
  }

  /** A body that is all there is taken out; one that is not becomes a stream. */
  #bodyOf(fields: Fields, bytes: Buffer): { content: WireRequest['body']; usedBytes: number } {
    const { bodyBytes } = fields;
    if (bodyBytes !== undefined && bodyBytes <= bytes.length) {
      return { content: new Uint8Array(bytes.subarray(0, bodyBytes)), usedBytes: bodyBytes };
    }
    const body = new IncomingBody(bodyBytes, {
      onWanted: () => {
        if (fields.expectsContinue && body.receivedBytes === 0)
          this.#out.write('HTTP/1.1 100 Continue\r\n\r\n');
      },
      pause: () => this.#pause(),
      resume: () => this.#resume(),
    });
    this.#body = body;
    this.#sinceTick = this.#around.tick;
    const left = this.#takeBody(bytes);
    return { content: body.stream, usedBytes: bytes.length - left.length };
  }

  /** Gives the body what belongs to it; returns the rest. */
  #takeBody(bytes: Buffer): Buffer {
    const body = this.#body!;
    try {
      const used = body.take(bytes);
      if (body.isDone) this.#body = undefined;
      return bytes.subarray(used);
    } catch (error) {
      // Where this request ends cannot be known, so nothing behind it can be either.
      this.#mustClose = true;
      body.fail(error);
      body.passOver();
      return noBytes;
    } finally {
      if (this.#phase === 'head' && this.#body === undefined && !this.#mustClose)
        this.#sinceTick = this.#around.tick;
    }
  }

  /** Returns the text of the answer when it is there at once. */
  #begin(request: WireRequest): string {
    const around = this.#around;
    around.inFlight += 1;
    const answer = around.handle(request);
    if (!(answer instanceof Promise)) {
      around.inFlight -= 1;
      return this.#textOf(request, answer);
    }
    this.#phase = 'busy';
    answer
      .catch(error => {
        around.onFault(error);
        return around.refuse(new Problem('internal'));
      })
      .then(settled => {
        around.inFlight -= 1;
        return this.#send(request, settled);
      })
      .catch(error => {
        around.onFault(error);
        this.terminate();
      });
    return '';
  }

  async #send(request: WireRequest, answer: Answer | Response): Promise<void> {
    if (!(answer instanceof Response)) this.#write(this.#textOf(request, answer));
    else await sendResponse(answer, request, this.#out, head => head + this.#tailFor(request, answer));
    if (this.#phase !== 'busy') return;
    this.#phase = 'head';
    this.#sinceTick = this.#around.tick;
    this.#isIdle = this.#ahead === undefined;
    if (this.#mustClose || this.#body !== undefined) this.#leaveBody();
    if (this.#phase === 'head') this.#goOn();
  }

  #textOf(request: WireRequest, answer: Answer): string {
    const head = answer.head + this.#tailFor(request);
    if (answer.body === '' || request.method === 'HEAD') return head;
    this.#outIsWide = true;
    return head + answer.body;
  }

  #tailFor({ isOldVersion, headers: fields }: WireRequest, response?: Response): string {
    const { tails, isDraining } = this.#around;
    const wishesToClose =
      fields.persistence === 'close' || (isOldVersion && fields.persistence !== 'keep-alive');
    // A stream to an old client has no other end than that of the connection.
    const endsWithConnection = response !== undefined && isOldVersion && isStreamed(response);
    const leavesMuch = this.#body !== undefined && this.#body.leftBytes > passOverMaxBytes;
    if (wishesToClose || endsWithConnection || leavesMuch || isDraining) this.#mustClose = true;
    if (this.#mustClose) return tails.close;
    return isOldVersion ? tails.keepOld : tails.keep;
  }

  /** After an answer: what is left of its request's body is passed over, or the connection ended. */
  #leaveBody(): void {
    if (this.#mustClose) this.#linger(this.#body === undefined && this.#ahead === undefined);
    else this.#body?.passOver();
  }

  /** What cannot be understood is answered once, and nothing after it is looked at. */
  #giveUp(error: unknown): void {
    const problem = error instanceof Problem ? error : new Problem('internal');
    if (problem !== error) this.#around.onFault(error);
    const answer = this.#around.refuse(problem);
    this.#out.write(Buffer.from(answer.head + this.#around.tails.close + answer.body));
    this.#linger(false);
  }

  /** `isAllRead`: nothing that the client sent is left unread, so its answer is safe. */
  #linger(isAllRead: boolean): void {
    this.#phase = 'lingering';
    this.#sinceTick = this.#around.tick;
    this.#ahead = undefined;
    this.#body?.passOver();
    this.#resume();
    if (this.#out.isBehind) return;
    if (isAllRead || this.#inputEnded) this.close();
    else this.#socket.shutdown();
  }

  #goOn(): void {
    if (this.#phase !== 'head' || this.#out.isBehind) return;
    this.#resume();
    const bytes = this.#body === undefined ? this.#ahead : undefined;
    if (bytes !== undefined) {
      this.#ahead = undefined;
      this.#advance(bytes);
    }
    if (this.#inputEnded && this.isIdle) this.close();
  }

  #keepAhead(bytes: Buffer): void {
    // A copy, because what is left of a large chunk would keep all of it.
    this.#ahead = Buffer.from(bytes);
    if (bytes.length > aheadMaxBytes) this.#pause();
  }

  #write(text: string): void {
    if (text === '' || this.#phase === 'closed') return;
    this.#out.write(this.#outIsWide ? Buffer.from(text) : text);
    this.#outIsWide = false;
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }
}
