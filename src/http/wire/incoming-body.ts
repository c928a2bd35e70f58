/**
 * An incoming request body. Its handler reads it as a stream and sets the pace: when more has arrived than it has read,
 * the socket is paused. If a handler answers without reading, the rest is discarded.
 */
import { compact, malformed, parseFields } from './fields.ts';

interface BodySource {
  /** Called at the handler's first read, for clients that wait for `100 Continue`. */
  onWanted(): void;
  pause(): void;
  resume(): void;
  /** Whether the handler waits for bytes that the client has not sent. */
  onWaiting(isWaiting: boolean): void;
}

/** Bytes that may lie unread before the socket is paused. */
const unreadMaxBytes = 64 * 1024;

export class IncomingBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #source: BodySource;
  readonly #chunks: ChunkedDecoder | undefined;
  #leftBytes: number;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isWanted = false;
  #isWaiting = false;
  /** Whether the rest is ignored, because it is not wanted or will not come. */
  #isOver = false;
  /** All received bytes, including those of the framing. */
  receivedBytes = 0;

  /** `bytes` is undefined for a chunked body. */
  constructor(bytes: number | undefined, source: BodySource) {
    this.#leftBytes = bytes ?? 0;
    this.#chunks = bytes === undefined ? new ChunkedDecoder() : undefined;
    this.#source = source;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller;
        },
        pull: () => {
          if (!this.#isWanted) source.onWanted();
          this.#isWanted = true;
          source.resume();
          this.#setWaiting(true);
        },
        cancel: () => this.discard(),
      },
      // Nothing is requested before the handler reads.
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
  }

  get isDone(): boolean {
    return this.#chunks?.isDone ?? this.#leftBytes === 0;
  }

  /** Bytes that have not arrived yet, as far as that is known. */
  get leftBytes(): number {
    return this.#chunks === undefined ? this.#leftBytes : this.isDone ? 0 : Number.POSITIVE_INFINITY;
  }

  /** Bytes that have arrived and are unread. */
  get unreadBytes(): number {
    return this.#isOver ? 0 : 0 - (this.#controller?.desiredSize ?? 0);
  }

  /**
   * Takes the bytes that belong to this body and returns how many that was; throws when it is malformed. The body owns
   * the bytes from then on.
   */
  take(bytes: Buffer): number {
    const used = this.#chunks === undefined ? this.#takePlain(bytes) : this.#takeChunks(this.#chunks, bytes);
    this.receivedBytes += used;
    if (this.#isOver) return used;
    if (this.isDone) {
      this.#isOver = true;
      this.#setWaiting(false);
      this.#controller?.close();
    } else if (this.unreadBytes > unreadMaxBytes) this.#source.pause();
    return used;
  }

  /** Discards the rest. */
  discard(): void {
    this.#isOver = true;
    this.#setWaiting(false);
    this.#source.resume();
  }

  /** The rest will never arrive: its reader gets the error. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#setWaiting(false);
    this.#controller?.error(error);
  }

  #setWaiting(isWaiting: boolean): void {
    if (this.#isWaiting === isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#source.onWaiting(isWaiting);
  }

  #takePlain(bytes: Buffer): number {
    const own = bytes.subarray(0, this.#leftBytes);
    this.#leftBytes -= own.length;
    this.#give(own);
    return own.length;
  }

  #takeChunks(chunks: ChunkedDecoder, bytes: Buffer): number {
    const { dataBytes, usedBytes } = chunks.decode(bytes);
    this.#give(bytes.subarray(0, dataBytes));
    return usedBytes;
  }

  /** Only data ends a handler's wait: the framing of a chunk gives it nothing to read. */
  #give(data: Buffer): void {
    if (this.#isOver || data.length === 0) return;
    this.#setWaiting(false);
    this.#controller?.enqueue(compact(data));
  }
}

type State =
  | 'size'
  | 'extension'
  | 'size line feed'
  | 'data'
  | 'data end'
  | 'data line feed'
  | 'trailer'
  | 'done'
  | 'broken';

const lineFeed = 10;
const carriageReturn = 13;
const semicolon = 59;
/** Eight digits are four gibibytes, which is beyond any accepted body. */
const sizeDigitsMax = 8;
const extensionBytesMax = 256;
/** Names with optional values, as RFC 9112 has them. The semicolon before the first was read already. */
const extensionShape = (() => {
  const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
  const quoted = String.raw`"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"`;
  const one = `[ \\t]*${token}(?:[ \\t]*=[ \\t]*(?:${token}|${quoted}))?`;
  return new RegExp(`^${one}(?:[ \\t]*;${one})*$`);
})();
const trailerBytesMax = 4_096;

/**
 * Decodes a chunked body, wherever the network cut it. Sizes are hexadecimal digits and nothing else, lines end as the
 * standard says, and the bytes between the data are bounded. Extensions and trailers must be well-formed, though neither
 * is used: another reader could take anything else for data or for a request.
 */
export class ChunkedDecoder {
  #state: State = 'size';
  #size = 0;
  #digits = 0;
  #extension = '';
  /** Begins with the end of the line before it, as header lines do. */
  #trailer = '\r\n';

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /**
   * Moves the data in `bytes` together at their beginning, because one-byte pieces would cost a hundred times their
   * size. Returns how many bytes are data, and how many belonged to this body.
   */
  decode(bytes: Uint8Array): { readonly dataBytes: number; readonly usedBytes: number } {
    let at = 0;
    let dataBytes = 0;
    while (at < bytes.length && this.#state !== 'done') {
      if (this.#state === 'data') {
        const pieceBytes = Math.min(this.#size, bytes.length - at);
        if (dataBytes !== at) bytes.copyWithin(dataBytes, at, at + pieceBytes);
        dataBytes += pieceBytes;
        at += pieceBytes;
        this.#size -= pieceBytes;
        if (this.#size === 0) this.#state = 'data end';
      } else {
        this.#step(bytes[at]!);
        at += 1;
      }
    }
    return { dataBytes, usedBytes: at };
  }

  #step(byte: number): void {
    switch (this.#state) {
      case 'size':
        this.#takeSize(byte);
        return;
      case 'extension':
        this.#takeExtension(byte);
        return;
      case 'size line feed':
        if (byte !== lineFeed) throw this.#broken();
        this.#extension = '';
        this.#digits = 0;
        this.#state = this.#size === 0 ? 'trailer' : 'data';
        return;
      case 'data end':
        if (byte !== carriageReturn) throw this.#broken();
        this.#state = 'data line feed';
        return;
      case 'data line feed':
        if (byte !== lineFeed) throw this.#broken();
        this.#state = 'size';
        return;
      case 'trailer':
        this.#takeTrailer(byte);
        return;
      default:
        throw this.#broken();
    }
  }

  #takeSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      this.#digits += 1;
      if (this.#digits > sizeDigitsMax) throw this.#broken();
      this.#size = this.#size * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw this.#broken();
    if (byte === carriageReturn) this.#state = 'size line feed';
    else if (byte === semicolon) this.#state = 'extension';
    else throw this.#broken();
  }

  #takeExtension(byte: number): void {
    if (byte === carriageReturn) {
      if (!extensionShape.test(this.#extension)) throw this.#broken();
      this.#state = 'size line feed';
      return;
    }
    this.#extension += String.fromCharCode(byte);
    if (byte === lineFeed || this.#extension.length > extensionBytesMax) throw this.#broken();
  }

  #takeTrailer(byte: number): void {
    this.#trailer += String.fromCharCode(byte);
    if (this.#trailer.length > trailerBytesMax) throw this.#broken();
    if (byte !== lineFeed || !this.#trailer.endsWith('\r\n\r\n')) return;
    try {
      parseFields(this.#trailer, 0, this.#trailer.length - 4);
    } catch {
      throw this.#broken();
    }
    this.#state = 'done';
  }

  /** Nothing that follows can be parsed reliably any more. */
  #broken(): Error {
    this.#state = 'broken';
    return malformed('The body is not made of well-formed chunks.');
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
