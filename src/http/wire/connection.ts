/**
 * One client's connection: requests are answered in order, one after another. A redirect takes the fast path: its
 * request arrives whole and its answer is written before this function returns. Everything else (a head in pieces, a
 * body, a slow handler, a slow reader) makes the connection wait, and while it waits it holds a bounded amount of
 * memory for a bounded time.
 *
 * Time is counted in ticks of the listener, one a second, so that no connection needs a timer of its own.
 */
import type { Socket } from 'bun';
import { Problem } from '../../base/errors.ts';
import { type Answer, isStreamed } from './answer.ts';
import { type ConnectionContext, quickTarget, refusals, timeouts, writeQuick } from './connection-context.ts';
import { codedAnswer } from './content-coding.ts';
import { pathStart } from './head.ts';
import { Incoming } from './incoming.ts';
import { Outgoing, sendResponse } from './outgoing.ts';
import type { WireRequest } from './wire-request.ts';

/** Pipelined answers are written together up to this size; no more are made for a client that does not read. */
const answersMaxChars = 64 * 1024;

/**
 * `head`: waiting for a request, or for the rest of its head. `handling`: a handler is running. `sending`: its answer
 * is being sent. `lingering`: nothing more will be sent, and bytes that still arrive are discarded, because closing a
 * socket that has unread bytes resets the connection before the client has read the answer.
 */
type Phase = 'head' | 'handling' | 'sending' | 'lingering' | 'closed';

export class Connection {
  readonly #context: ConnectionContext;
  readonly #socket: Socket<Connection>;
  readonly #in: Incoming;
  readonly #out: Outgoing;
  #phase: Phase = 'head';
  #address: string | undefined;
  /** When the current wait of the connection began. */
  #sinceTick: number;
  #receivedAtTick: number;
  #isUsed = false;
  /** Whether the client sends no more, or only bytes that do no harm when the socket is closed. */
  #inputEnded = false;
  #mustClose = false;
  /** Whether the client has announced that it sends no other request. */
  #isLastRequest = false;
  /** Whether the connection is beyond the cap, so that only vital requests are answered on it, once. */
  #isRestricted = false;
  /** Whether it is counted among those whose body has not arrived yet. */
  #awaitsBody = false;
  /** Whether the text to be written is not all ASCII: each character is a byte. */
  #isBinary = false;

  constructor(socket: Socket<Connection>, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.#in = new Incoming(socket, this);
    this.#out = new Outgoing(socket);
    this.#sinceTick = context.tick;
    this.#receivedAtTick = context.tick;
  }

  /** Kept, because a closed socket does not know it any more. Looked up when it is needed, which costs a system call. */
  get address(): string {
    this.#address ??= this.#socket.remoteAddress ?? '';
    return this.#address;
  }

  /** Asks the client to send its body. */
  sayContinue(): void {
    this.#out.write('HTTP/1.1 100 Continue\r\n\r\n');
  }

  /** Sets the client, as the proxy at the other end reports it. Call it before anything is received. */
  setClientAddress(address: string): void {
    this.#address = address;
  }

  /** Whether the client has closed the connection, or at least sends no more. */
  get hasLeft(): boolean {
    return this.#inputEnded || this.#phase === 'closed';
  }

  get waitedTicks(): number {
    return this.#context.tick - this.#sinceTick;
  }

  /** Whether it is between two requests, or before its first. */
  get isIdle(): boolean {
    return this.#isReady && this.#in.isEmpty;
  }

  /** Whether it began its first request and stalled, or has had all its answers: closing it loses no answer. */
  get isStalled(): boolean {
    const isHalfAsked = this.#phase === 'head' && !this.#isUsed && this.#in.hasBytes;
    return !this.#out.isBehind && (this.#phase === 'lingering' || isHalfAsked);
  }

  /** Whether it waits for its client, however briefly, and no handler is running for it. */
  get isWaiting(): boolean {
    return this.#phase !== 'handling' || this.#awaitsBody;
  }

  /** Whether it has waited so long that no bytes are expected soon. */
  get isEvictable(): boolean {
    if (this.#awaitsBody) return !this.#in.isHeldUp && this.#context.tick - this.#receivedAtTick > 1;
    return (this.#isReady || this.isStalled) && this.waitedTicks > 1;
  }

  /** Bytes kept for this client until it, or a handler, reads them. */
  get heldBytes(): number {
    return this.#in.heldBytes + this.#out.unsentBytes;
  }

  get #isReady(): boolean {
    return this.#phase === 'head' && !this.#out.isBehind;
  }

  receive(chunk: Buffer): void {
    if (this.#answerQuickly(chunk)) return;
    const hadBegun = this.#in.hasBegun;
    this.#receivedAtTick = this.#context.tick;
    this.#in.add(chunk);
    if (this.#in.body === undefined) this.#endBodyWait();
    if (this.#isReady && this.#in.body === undefined) this.#serve(hadBegun);
    else this.#in.rest();
  }

  /** The socket is writable again. */
  drained(): void {
    if (!this.#out.isBehind) return;
    this.#out.flush();
    if (this.#out.isBehind) return;
    if (this.#phase === 'lingering') this.#sayGoodbye();
    else if (this.#phase === 'head') this.#goOn();
  }

  /** The client will send no more, but may still read. */
  ended(): void {
    this.#inputEnded = true;
    if (this.#phase === 'head' || this.#phase === 'lingering') {
      if (!this.#out.isBehind) this.close();
    } else if (this.#in.body !== undefined) {
      this.#mustClose = true;
      this.#in.body.fail(new Error('the client disconnected'));
    }
  }

  /** The socket is closed: pending reads and writes of this client end. */
  gone(): void {
    this.#phase = 'closed';
    this.#endBodyWait();
    this.#in.body?.fail(new Error('the client disconnected'));
    this.#in.ignoreAll();
    this.#out.abandon();
  }

  /** Bytes that the operating system has accepted are still delivered. */
  close(): void {
    // An encrypted socket says so to its client first. `end` would make one system call more.
    if (this.#context.isEncrypted) this.#socket.end();
    else this.#socket.close();
  }

  /**
   * Evicts it for another connection. A client that still reads gets the rest of its answer. An encrypted socket closes
   * only when its client agrees, which an unresponsive one may never do.
   */
  evict(): void {
    if (this.#context.isEncrypted || this.#out.isBehind || this.#phase === 'handling') this.terminate();
    else this.close();
  }

  /** Nothing more is delivered. */
  terminate(): void {
    this.#socket.terminate();
  }

  /** Whether only vital requests are answered. Call it before anything is received. */
  restrict(isRestricted: boolean): void {
    this.#isRestricted = isRestricted;
  }

  /** Gives the slot of its body to one that may arrive sooner; its handler gets an error. */
  giveUpBody(): void {
    this.#mustClose = true;
    this.#in.body?.fail(
      new Problem('overloaded', {
        detail: 'Too many request bodies have not arrived yet.',
        headers: { 'Retry-After': '1' },
      }),
    );
  }

  /** Rejects, and sends nothing after it. */
  reject(answer: Answer): void {
    this.#out.write(Buffer.from(answer.head + this.#context.tails.close + answer.body));
    this.#linger();
  }

  /** Called once per tick: enforces the timeouts. */
  expire(): void {
    if (this.#out.isBehind) {
      if (this.#out.isStalled()) this.terminate();
    } else if (this.#phase === 'lingering') {
      if (timeouts.isShutdownOver(this.waitedTicks)) this.close();
    } else if (this.#in.body !== undefined) this.#expireBody(this.#in.body.receivedBytes);
    else if (this.#phase === 'head') this.#expireHead();
    else if (this.#inputEnded && this.#phase === 'handling' && timeouts.isAnswerTooLate(this.waitedTicks))
      this.terminate();
  }

  #expireHead(): void {
    const { waitedTicks, isIdle } = this;
    if (isIdle && timeouts.isForgettable(waitedTicks)) this.#in.forgetHeaders();
    const isLate =
      isIdle && this.#isUsed ? waitedTicks >= this.#context.idleMaxTicks : timeouts.isHeadLate(waitedTicks);
    if (!isLate && !(this.#isRestricted && timeouts.isShutdownOver(waitedTicks))) return;
    if (isIdle) this.close();
    else this.#giveUp(refusals.tooSlow('The request head did not arrive in time.'));
  }

  #expireBody(receivedBytes: number): void {
    // A client that was asked to wait is not slow.
    if (this.#in.isHeldUp) this.#sinceTick += 1;
    if (!timeouts.isBodyLate(this.waitedTicks, receivedBytes)) return;
    this.#mustClose = true;
    if (this.#phase === 'head') this.terminate();
    else this.#in.body?.fail(refusals.tooSlow('The request body did not arrive in time.'));
  }

  /** Most requests of a client that follows links repeat its last one, or the first one of others, except for the path. */
  #answerQuickly(chunk: Buffer): boolean {
    const pathEnd = this.#in.repeatedPathEnd(chunk);
    const context = this.#context;
    if (pathEnd === 0 || !this.#isReady || this.#mustClose || this.#isRestricted || context.isDraining)
      return false;
    const { fields } = this.#in;
    const length = context.quick(chunk, pathStart, pathEnd, fields, this, quickTarget);
    if (length === 0) return false;
    const isLast = fields.persistence === 'close';
    this.#isUsed = true;
    this.#receivedAtTick = this.#sinceTick = context.tick;
    writeQuick(this.#out, length, isLast ? context.tails.closeBytes : context.tails.keepBytes);
    if (isLast) {
      this.#isLastRequest = this.#mustClose = true;
      this.#linger();
    }
    return true;
  }

  /** Answers all received requests, up to the first that takes time. `hadBegun`: the first of them is not new. */
  #serve(hadBegun: boolean): void {
    let isProgress = false;
    let out = '';
    try {
      while (this.#isReady && !this.#mustClose && this.#in.hasBytes) {
        const request = this.#in.next();
        if (request === undefined) break;
        isProgress = true;
        if (out.length > answersMaxChars) {
          this.#write(out);
          out = '';
        }
        out += this.#begin(request);
      }
    } catch (error) {
      this.#write(out);
      this.#giveUp(error);
      return;
    }
    this.#write(out);
    // Empty lines are no progress: an endless series would keep a connection open forever.
    if (isProgress || (!hadBegun && this.#in.hasBegun)) this.#sinceTick = this.#context.tick;
    this.#in.rest();
    if (this.#phase === 'head') this.#leaveRequest();
  }

  /** Returns the text of the answer when it is ready at once. */
  #begin(request: WireRequest): string {
    const context = this.#context;
    if (this.#isRestricted) {
      if (!context.isVital(request)) throw refusals.tooManyConnections();
      this.#mustClose = true;
    }
    this.#isUsed = true;
    context.inFlight += 1;
    let answer: ReturnType<ConnectionContext['handle']>;
    try {
      answer = context.handle(request);
    } catch (error) {
      context.inFlight -= 1;
      throw error;
    }
    if (!(answer instanceof Promise)) {
      context.inFlight -= 1;
      return this.#textOf(request, answer);
    }
    this.#phase = 'handling';
    // The handler may ask for it after the client has disconnected, when the socket no longer knows.
    void this.address;
    if (this.#in.body !== undefined) {
      this.#awaitsBody = true;
      context.bodies.begin(this, request);
    }
    this.#finish(request, answer).catch(error => {
      context.onFault(error);
      this.terminate();
    });
    return '';
  }

  async #finish(request: WireRequest, promised: Promise<Answer | Response>): Promise<void> {
    const answer = await promised.catch(error => {
      this.#context.onFault(error);
      return this.#context.refuse(new Problem('internal'));
    });
    this.#context.inFlight -= 1;
    this.#endBodyWait();
    if (this.#phase === 'handling') this.#phase = 'sending';
    if (answer instanceof Response)
      await sendResponse(answer, request, this.#out, head => head + this.#tailFor(request, answer));
    else this.#write(this.#textOf(request, answer));
    if (this.#phase !== 'sending') return;
    this.#phase = 'head';
    this.#leaveRequest();
    if (this.#isReady) this.#goOn();
  }

  #endBodyWait(): void {
    if (!this.#awaitsBody) return;
    this.#awaitsBody = false;
    this.#context.bodies.end(this);
  }

  #textOf(request: WireRequest, answer: Answer): string {
    const tail = this.#tailFor(request);
    if (answer.body === '') return answer.head + tail;
    const coded = codedAnswer(answer, request.headers);
    const head = (coded ?? answer).head + tail;
    if (request.method === 'HEAD') return head;
    if (coded === undefined && answer.isAscii) return head + answer.body;
    this.#isBinary = true;
    return head + (coded?.body ?? Buffer.from(answer.body).toString('latin1'));
  }

  #tailFor({ isOldVersion, wishesToClose }: WireRequest, response?: Response): string {
    const { tails, isDraining } = this.#context;
    // For an HTTP/1.0 client, only the end of the connection marks the end of a stream.
    const endsWithConnection = response !== undefined && isOldVersion && isStreamed(response);
    if (wishesToClose) this.#isLastRequest = true;
    if (wishesToClose || endsWithConnection || this.#in.leavesMuch || isDraining) this.#mustClose = true;
    if (this.#mustClose) return tails.close;
    return isOldVersion ? tails.keepOld : tails.keep;
  }

  /** After an answer: discards the rest of its request's body, or ends the connection. */
  #leaveRequest(): void {
    if (this.#mustClose) this.#linger();
    else this.#in.body?.discard();
  }

  /** There is buffer space for the next answer. */
  #goOn(): void {
    this.#sinceTick = this.#context.tick;
    this.#in.resume();
    if (this.#in.hasBytes) this.#serve(true);
    if (this.#inputEnded && this.#phase !== 'lingering') this.ended();
  }

  /** A malformed request is answered once, and nothing after it is parsed. */
  #giveUp(error: unknown): void {
    const problem = error instanceof Problem ? error : new Problem('internal');
    if (problem !== error) this.#context.onFault(error);
    this.reject(this.#context.refuse(problem));
  }

  /**
   * Closing at once would reset the connection and lose the answer if the client goes on sending, even after its FIN.
   * A client that has announced its last request, and has sent all of it, does not. An encrypted socket is not closed
   * that way, because it would then wait for its client without a limit.
   */
  #linger(): void {
    this.#phase = 'lingering';
    if (this.#isLastRequest && this.#in.isEmpty && !this.#context.isEncrypted) this.#inputEnded = true;
    this.#in.ignoreAll();
    if (!this.#out.isBehind) this.#sayGoodbye();
  }

  #sayGoodbye(): void {
    this.#sinceTick = this.#context.tick;
    if (this.#inputEnded) this.close();
    else this.#socket.shutdown();
  }

  #write(text: string): void {
    if (text === '') return;
    this.#out.write(this.#isBinary ? Buffer.from(text, 'latin1') : text);
    this.#isBinary = false;
  }
}
