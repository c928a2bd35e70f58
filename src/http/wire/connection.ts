/**
 * One client's connection: requests are answered in their order, one after another. The way of a redirect is the
 * short one: its request arrives whole and its answer is written before this function returns. Everything else (a
 * head in pieces, a body, a handler that takes time, a reader that is slow) makes the connection wait, and while it
 * waits it holds a bounded amount for a bounded time.
 *
 * Time is counted in ticks of the listener, one a second, so that no connection needs a timer of its own.
 */
import type { Socket } from 'bun';
import { Problem } from '../../base/errors.ts';
import { type Answer, isStreamed } from './answer.ts';
import { Incoming } from './incoming.ts';
import { Outgoing } from './outgoing.ts';
import { patience } from './patience.ts';
import { sendResponse } from './send-response.ts';
import type { Surroundings } from './surroundings.ts';
import type { WireRequest } from './wire-request.ts';

/** Answers to requests sent ahead are written together up to so much; no more are made for who does not read. */
const answersMaxChars = 64 * 1024;

/**
 * `head`: waiting for a request, or for the rest of its head. `handling`: a handler is at work. `sending`: its answer
 * is on its way. `lingering`: nothing more will be said, and what still comes is passed over, because closing a
 * socket that has unread bytes takes back the answer before the client has read it.
 */
type Phase = 'head' | 'handling' | 'sending' | 'lingering' | 'closed';

export class Connection {
  readonly #around: Surroundings;
  readonly #socket: Socket<Connection>;
  readonly #in: Incoming;
  readonly #out: Outgoing;
  #phase: Phase = 'head';
  #address: string | undefined;
  /** When the connection began to wait for what it is waiting for. */
  #sinceTick: number;
  #receivedAtTick: number;
  #isUsed = false;
  /** Whether the client sends no more, or nothing that closing the socket could harm. */
  #inputEnded = false;
  #mustClose = false;
  /** Whether it is one connection too many, on which only what is vital is answered, once. */
  #isRestricted = false;
  /** Whether it is counted among those whose body is still to come. */
  #awaitsBody = false;
  /** Whether the text to be written is not all ASCII. */
  #isWide = false;

  constructor(socket: Socket<Connection>, around: Surroundings) {
    this.#socket = socket;
    this.#around = around;
    this.#in = new Incoming(socket, this, () => this.#out.write('HTTP/1.1 100 Continue\r\n\r\n'));
    this.#out = new Outgoing(socket);
    this.#sinceTick = around.tick;
    this.#receivedAtTick = around.tick;
  }

  /** Kept, because a closed socket does not know it any more. */
  get address(): string {
    this.#address ??= this.#socket.remoteAddress;
    return this.#address;
  }

  /** Whose connection it is, by the word of the proxy at its other end. To be said before anything is received. */
  introduce(address: string): void {
    this.#address = address;
  }

  /** Whether the client has closed the connection, or at least sends no more. */
  get hasLeft(): boolean {
    return this.#inputEnded || this.#phase === 'closed';
  }

  get waitedTicks(): number {
    return this.#around.tick - this.#sinceTick;
  }

  /** Whether it is between two requests, or before its first. */
  get isIdle(): boolean {
    return this.#isReady && this.#in.isEmpty;
  }

  /** Whether it began its first request and did not go on, or has been told all: closing it takes no answer from anybody. */
  get isDispensable(): boolean {
    const isHalfAsked = this.#phase === 'head' && !this.#isUsed && this.#in.hasBytes;
    return !this.#out.isBehind && (this.#phase === 'lingering' || isHalfAsked);
  }

  /** Whether it waits for its client, however briefly, and no handler is at work for it. */
  get isWaiting(): boolean {
    return this.#phase !== 'handling' || this.#awaitsBody;
  }

  /** Whether it has been waiting for so long that nothing is to be expected of it just now. */
  get isExpendable(): boolean {
    if (this.#awaitsBody) return !this.#in.isHeldUp && this.#around.tick - this.#receivedAtTick > 1;
    return (this.#isReady || this.isDispensable) && this.waitedTicks > 1;
  }

  /** What is kept for this client until it reads, or a handler does. */
  get heldBytes(): number {
    return this.#in.heldBytes + this.#out.unsentBytes;
  }

  get #isReady(): boolean {
    return this.#phase === 'head' && !this.#out.isBehind;
  }

  receive(chunk: Buffer): void {
    const hadBegun = this.#in.hasBegun;
    this.#receivedAtTick = this.#around.tick;
    this.#in.add(chunk);
    if (this.#in.body === undefined) this.#endBodyWait();
    if (this.#isReady && this.#in.body === undefined) this.#serve(hadBegun);
    else this.#in.rest();
  }

  /** The socket takes bytes again. */
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
      this.#in.body.fail(new Error('the client went away'));
    }
  }

  /** The socket is closed: whoever waits for this client need not. */
  gone(): void {
    this.#phase = 'closed';
    this.#endBodyWait();
    this.#in.body?.fail(new Error('the client went away'));
    this.#in.ignoreAll();
    this.#out.abandon();
  }

  /** What the system has taken over is still delivered. */
  close(): void {
    this.#socket.end();
  }

  /**
   * Ends it in favour of another. What a client could still read is left to it, unless it does not read. An encrypted
   * socket is closed only when its client agrees, which one that is of no use may never do.
   */
  makeWay(): void {
    if (this.#around.isEncrypted || this.#out.isBehind || this.#phase === 'handling') this.terminate();
    else this.close();
  }

  /** Nothing more is delivered. */
  terminate(): void {
    this.#socket.terminate();
  }

  /** Whether only what is vital is answered. To be said before anything is received. */
  restrict(isRestricted: boolean): void {
    this.#isRestricted = isRestricted;
  }

  /** Its body takes the place of one that may come sooner: its handler gets an error. */
  giveUpBody(): void {
    this.#mustClose = true;
    this.#in.body?.fail(
      new Problem('overloaded', {
        detail: 'Too many request bodies have not arrived yet.',
        headers: { 'Retry-After': '1' },
      }),
    );
  }

  /** Says no, and nothing after it. */
  turnAway(answer: Answer): void {
    this.#out.write(Buffer.from(answer.head + this.#around.tails.close + answer.body));
    this.#linger();
  }

  /** Called once per tick: ends what takes too long. */
  expire(): void {
    if (this.#out.isBehind) {
      if (this.#out.isStalled()) this.terminate();
    } else if (this.#phase === 'lingering') {
      if (patience.isFarewellOver(this.waitedTicks)) this.close();
    } else if (this.#in.body !== undefined) this.#expireBody(this.#in.body.receivedBytes);
    else if (this.#phase === 'head') this.#expireHead();
    else if (this.#inputEnded && this.#phase === 'handling' && patience.isAnswerTooLate(this.waitedTicks))
      this.terminate();
  }

  #expireHead(): void {
    const { waitedTicks, isIdle } = this;
    if (isIdle && patience.isForgettable(waitedTicks)) this.#in.forgetHeaders();
    const isLate =
      isIdle && this.#isUsed ? waitedTicks >= this.#around.idleMaxTicks : patience.isHeadLate(waitedTicks);
    if (!isLate && !(this.#isRestricted && patience.isFarewellOver(waitedTicks))) return;
    if (isIdle) this.close();
    else this.#giveUp(tooSlow('The request head did not come in time.'));
  }

  #expireBody(receivedBytes: number): void {
    // Whoever is told to wait is not slow.
    if (this.#in.isHeldUp) this.#sinceTick += 1;
    if (!patience.isBodyLate(this.waitedTicks, receivedBytes)) return;
    this.#mustClose = true;
    if (this.#phase === 'head') this.terminate();
    else this.#in.body?.fail(tooSlow('The request body did not come in time.'));
  }

  /** Answers as many requests as there are, up to the first that takes time. `hadBegun`: the first of them is not new. */
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
    // Empty lines are no progress: sent for ever, they would keep a connection for ever.
    if (isProgress || (!hadBegun && this.#in.hasBegun)) this.#sinceTick = this.#around.tick;
    this.#in.rest();
    if (this.#phase === 'head') this.#leaveRequest();
  }

  /** Returns the text of the answer when it is there at once. */
  #begin(request: WireRequest): string {
    const around = this.#around;
    if (this.#isRestricted) {
      if (!around.isVital(request)) throw tooManyConnections();
      this.#mustClose = true;
    }
    this.#isUsed = true;
    around.inFlight += 1;
    let answer: ReturnType<Surroundings['handle']>;
    try {
      answer = around.handle(request);
    } catch (error) {
      around.inFlight -= 1;
      throw error;
    }
    if (!(answer instanceof Promise)) {
      around.inFlight -= 1;
      return this.#textOf(request, answer);
    }
    this.#phase = 'handling';
    // Its handler may ask when the client is gone, and nobody could tell any more.
    void this.address;
    if (this.#in.body !== undefined) {
      this.#awaitsBody = true;
      around.bodies.begin(this, request);
    }
    this.#finish(request, answer).catch(error => {
      around.onFault(error);
      this.terminate();
    });
    return '';
  }

  async #finish(request: WireRequest, promised: Promise<Answer | Response>): Promise<void> {
    const answer = await promised.catch(error => {
      this.#around.onFault(error);
      return this.#around.refuse(new Problem('internal'));
    });
    this.#around.inFlight -= 1;
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
    this.#around.bodies.end(this);
  }

  #textOf(request: WireRequest, answer: Answer): string {
    const head = answer.head + this.#tailFor(request);
    if (answer.body === '' || request.method === 'HEAD') return head;
    this.#isWide = true;
    return head + answer.body;
  }

  #tailFor({ isOldVersion, wishesToClose }: WireRequest, response?: Response): string {
    const { tails, isDraining } = this.#around;
    // A stream to an old client has no other end than that of the connection.
    const endsWithConnection = response !== undefined && isOldVersion && isStreamed(response);
    if (wishesToClose || endsWithConnection || this.#in.leavesMuch || isDraining) this.#mustClose = true;
    if (this.#mustClose) return tails.close;
    return isOldVersion ? tails.keepOld : tails.keep;
  }

  /** After an answer: what is left of its request's body is passed over, or the connection ended. */
  #leaveRequest(): void {
    if (this.#mustClose) this.#linger();
    else this.#in.body?.passOver();
  }

  /** There is room for the next answer. */
  #goOn(): void {
    this.#sinceTick = this.#around.tick;
    this.#in.resume();
    if (this.#in.hasBytes) this.#serve(true);
    if (this.#inputEnded && this.#phase !== 'lingering') this.ended();
  }

  /** What cannot be understood is answered once, and nothing after it is looked at. */
  #giveUp(error: unknown): void {
    const problem = error instanceof Problem ? error : new Problem('internal');
    if (problem !== error) this.#around.onFault(error);
    this.turnAway(this.#around.refuse(problem));
  }

  /** Closing at once would take the answer back if the client goes on sending, also after it said that it would not. */
  #linger(): void {
    this.#phase = 'lingering';
    this.#in.ignoreAll();
    if (!this.#out.isBehind) this.#sayGoodbye();
  }

  #sayGoodbye(): void {
    this.#sinceTick = this.#around.tick;
    if (this.#inputEnded) this.close();
    else this.#socket.shutdown();
  }

  #write(text: string): void {
    if (text === '') return;
    this.#out.write(this.#isWide ? Buffer.from(text) : text);
    this.#isWide = false;
  }
}

const tooManyConnections = (): Problem =>
  new Problem('overloaded', { detail: 'Too many are connected.', headers: { 'Retry-After': '1' } });

const tooSlow = (detail: string): Problem => new Problem('request_timeout', { detail });
