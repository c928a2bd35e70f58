/**
 * Takes a chunked body apart, wherever the network cut it. Sizes are hexadecimal digits and nothing else, lines
 * end as the standard says, and what comes between the data is bounded. Extensions are passed over and trailers
 * have to be header lines, though nobody here wants either: a line that is none could be a request to another reader.
 */
import { malformed, parseFields } from './fields.ts';

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

const tab = 9;
const lineFeed = 10;
const carriageReturn = 13;
const semicolon = 59;
/** Eight digits are four gibibytes, which is beyond any body that is taken. */
const sizeDigitsMax = 8;
const extensionBytesMax = 256;
const trailerBytesMax = 4_096;

export class ChunkedDecoder {
  #state: State = 'size';
  #size = 0;
  #digits = 0;
  #extensionBytes = 0;
  /** Begins with the end of the line before it, as header lines do. */
  #trailer = '\r\n';

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /**
   * Moves the data in `bytes` together at their beginning, because pieces of a byte each would cost a hundred times
   * their size. Returns how many bytes are data, and how many belonged to this body.
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
        this.#extensionBytes = 0;
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
      this.#state = 'size line feed';
      return;
    }
    this.#extensionBytes += 1;
    if ((byte < 32 && byte !== tab) || this.#extensionBytes > extensionBytesMax) throw this.#broken();
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

  /** What follows cannot be understood any more, however it looks. */
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
