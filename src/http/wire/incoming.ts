/**
 * Turns the bytes of a client into requests. Bytes wait here while an earlier request is answered, and a body goes
 * straight to its handler; in both cases the socket is paused when more has arrived than is wanted.
 *
 * Invariant: bytes belong to one request only. Once the end of a body is in doubt, nothing after it is parsed.
 */
import type { Socket } from 'bun';
import { compact, type Fields } from './fields.ts';
import { HeadReader, headWindowBytes, pathStart, type RequestLine } from './head.ts';
import { IncomingBody } from './incoming-body.ts';
import { type Peer, WireRequest } from './wire-request.ts';

/** Bytes of pipelined requests that may wait here before the socket is paused. */
const aheadMaxBytes = 64 * 1024;
/** The missing rest of an unwanted body is awaited if it is no more than this. */
const discardMaxBytes = 64 * 1024;
const noBytes = Buffer.alloc(0);
const carriageReturn = 13;
/** A path that is read without being parsed: nothing in it has a meaning. */
const plainPath = /^\/[\w-]+$/;

interface AskedPeer extends Peer {
  /** Asks the client to send its body. */
  sayContinue(): void;
}

export class Incoming {
  readonly #socket: Pick<Socket, 'pause' | 'resume'>;
  readonly #peer: AskedPeer;
  readonly #heads = new HeadReader();
  /** Bytes not parsed yet, from `#at` on: a part of a head, or pipelined requests. */
  #bytes: Buffer = noBytes;
  #at = 0;
  /** Some of the bytes as text, so that many small requests are not decoded many times; and its start. */
  #window = '';
  #windowAt = 0;
  /** Where the path ends if the bytes are one request that is repeated but for its path; 0 otherwise. */
  #repeatedPathEnd = 0;
  #body: IncomingBody | undefined;
  /** Whether the client holds its body back until it gets `100 Continue`. */
  #awaitsContinue = false;
  #isPaused = false;
  #isDeaf = false;

  constructor(socket: Pick<Socket, 'pause' | 'resume'>, peer: AskedPeer) {
    this.#socket = socket;
    this.#peer = peer;
  }

  /** The body that is arriving. While there is one, no bytes wait after it. */
  get body(): IncomingBody | undefined {
    return this.#body;
  }

  get hasBytes(): boolean {
    return this.#at < this.#bytes.length;
  }

  /** Whether the next head has begun. An empty line before it does not count. */
  get hasBegun(): boolean {
    return this.hasBytes && this.#bytes[this.#at] !== carriageReturn;
  }

  get isEmpty(): boolean {
    return !this.hasBytes && this.#body === undefined;
  }

  /** Whether the client cannot send because it waits for us. */
  get isHeldUp(): boolean {
    return this.#isPaused || this.#awaitsContinue;
  }

  /**
   * Whether too much of the body is missing to wait for it. One that was never asked for counts too: the client may or
   * may not send it now, so the next bytes could be mistaken for it.
   */
  get leavesMuch(): boolean {
    return this.#body !== undefined && (this.#awaitsContinue || this.#body.leftBytes > discardMaxBytes);
  }

  get heldBytes(): number {
    return this.#bytes.length + (this.#body?.unreadBytes ?? 0);
  }

  add(chunk: Buffer): void {
    if (this.#isDeaf) return;
    const bytes = this.#body === undefined ? chunk : this.#feed(this.#body, chunk);
    if (bytes.length === 0) return;
    this.#bytes = this.hasBytes ? Buffer.concat([this.#bytes, bytes]) : bytes;
  }

  /** Where the path ends in a chunk that is one whole request, repeated but for its path (head.ts); 0 otherwise. */
  repeatedPathEnd(chunk: Buffer): number {
    this.#repeatedPathEnd = this.isEmpty && !this.#isDeaf ? this.#heads.pathEndIn(chunk) : 0;
    return this.#repeatedPathEnd;
  }

  /** The headers of the last request. */
  get fields(): Fields {
    return this.#heads.fields;
  }

  /** The next request, or undefined when its head is incomplete; throws when it is invalid. */
  next(): WireRequest | undefined {
    if (this.#repeatedPathEnd > 0) {
      const path = this.#bytes.toString('latin1', pathStart - 1, this.#repeatedPathEnd);
      this.#repeatedPathEnd = 0;
      if (plainPath.test(path)) {
        this.#at = this.#bytes.length;
        return this.#requestOf({ method: 'GET', path, query: '', isOldVersion: false });
      }
    }
    while (this.hasBytes) {
      if (this.#window === '') {
        this.#window = this.#bytes.toString('latin1', this.#at, this.#at + headWindowBytes);
        this.#windowAt = this.#at;
      }
      const line = this.#heads.read(this.#window, this.#at - this.#windowAt);
      this.#at = this.#windowAt + this.#heads.end;
      if (line !== undefined) return this.#requestOf(line);
      // The rest of the head may be beyond the window.
      const isAll = this.#windowAt + this.#window.length === this.#bytes.length;
      this.#window = '';
      if (isAll) return undefined;
    }
    return undefined;
  }

  /** Call this when no request is taken for now: keeps the remaining bytes and nothing else. */
  rest(): void {
    this.#bytes = this.hasBytes ? compact(this.#bytes.subarray(this.#at)) : noBytes;
    this.#at = 0;
    this.#window = '';
    if (this.#bytes.length > aheadMaxBytes) this.#pause();
  }

  /** Lets the client send again. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** Discards all bytes that still arrive. */
  ignoreAll(): void {
    this.#isDeaf = true;
    this.#body?.discard();
    this.#body = undefined;
    this.#bytes = noBytes;
    this.#at = 0;
    this.#window = '';
    this.resume();
  }

  /** Called for an idle client, whose cached headers are not worth their memory. */
  forgetHeaders(): void {
    this.#heads.forget();
  }

  #requestOf(line: RequestLine): WireRequest {
    const { fields } = this.#heads;
    const { bodyBytes } = fields;
    if (bodyBytes === 0) return new WireRequest(line, fields, this.#peer);
    const from = this.#at;
    if (bodyBytes !== undefined && from + bodyBytes <= this.#bytes.length) {
      this.#at += bodyBytes;
      const whole = new Uint8Array(this.#bytes.subarray(from, this.#at));
      return new WireRequest(line, fields, this.#peer, whole);
    }
    let request: WireRequest | undefined;
    const body = this.#startBody(bodyBytes, isWaiting => request?.onBodyWait?.(isWaiting));
    this.#awaitsContinue = fields.expectsContinue && !line.isOldVersion && !this.hasBytes;
    this.#at += body.take(this.#bytes.subarray(from));
    if (!body.isDone) this.#body = body;
    request = new WireRequest(line, fields, this.#peer, body.stream);
    return request;
  }

  #startBody(bytes: number | undefined, onWaiting: (isWaiting: boolean) => void): IncomingBody {
    return new IncomingBody(bytes, {
      onWaiting,
      onWanted: () => {
        if (this.#awaitsContinue) this.#peer.sayContinue();
        this.#awaitsContinue = false;
      },
      pause: () => this.#pause(),
      resume: () => this.resume(),
    });
  }

  /** Gives the body what belongs to it; returns the rest. */
  #feed(body: IncomingBody, bytes: Buffer): Buffer {
    this.#awaitsContinue = false;
    try {
      const usedBytes = body.take(bytes);
      if (body.isDone) this.#body = undefined;
      return bytes.subarray(usedBytes);
    } catch (error) {
      // It stays the body of its request, which is the last one: its end will never be known.
      this.#isDeaf = true;
      body.fail(error);
      return noBytes;
    }
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }
}
