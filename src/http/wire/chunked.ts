/**
 * Takes a chunked body apart, wherever the network cut it. Sizes are hexadecimal digits and nothing else, lines
 * end as the standard says, and what comes between the lines is bounded: extensions and trailers are passed over,
 * since nobody here wants them.
 */
import { malformed } from './fields.ts';

type State =
  | 'size'
  | 'extension'
  | 'size line feed'
  | 'data'
  | 'data end'
  | 'data line feed'
  | 'trailer'
  | 'done';

const carriageReturn = 13;
const lineFeed = 10;
const semicolon = 59;
/** Eight digits are four gibibytes, which is beyond any body that is taken. */
const sizeDigitsMax = 8;
const extensionBytesMax = 256;
const trailerBytesMax = 4_096;

export class ChunkedDecoder {
  #state: State = 'size';
  #size = 0;
  #digits = 0;
  #passedOver = 0;
  /** The last four bytes of the trailer, in which its end shows. */
  #trailer = '\r\n';

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Gives the data in `bytes` to `take`; returns how many bytes belonged to this body. */
  decode(bytes: Uint8Array, take: (data: Uint8Array) => void): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done') {
      if (this.#state === 'data') {
        const data = bytes.subarray(at, at + this.#size);
        this.#size -= data.length;
        at += data.length;
        take(data);
        if (this.#size === 0) this.#state = 'data end';
      } else {
        this.#step(bytes[at]!);
        at += 1;
      }
    }
    return at;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case 'size':
        this.#takeSize(byte);
        return;
      case 'extension':
        if (byte === carriageReturn) this.#state = 'size line feed';
        else this.#passOver(byte, extensionBytesMax);
        return;
      case 'size line feed':
        if (byte !== lineFeed) throw broken();
        this.#passedOver = 0;
        this.#digits = 0;
        this.#state = this.#size === 0 ? 'trailer' : 'data';
        return;
      case 'data end':
        if (byte !== carriageReturn) throw broken();
        this.#state = 'data line feed';
        return;
      case 'data line feed':
        if (byte !== lineFeed) throw broken();
        this.#state = 'size';
        return;
      default:
        this.#takeTrailer(byte);
    }
  }

  #takeSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      this.#digits += 1;
      if (this.#digits > sizeDigitsMax) throw broken();
      this.#size = this.#size * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw broken();
    if (byte === carriageReturn) this.#state = 'size line feed';
    else if (byte === semicolon) this.#state = 'extension';
    else throw broken();
  }

  #takeTrailer(byte: number): void {
    this.#trailer = (this.#trailer + String.fromCharCode(byte)).slice(-4);
    this.#passedOver += 1;
    if (this.#passedOver > trailerBytesMax) throw broken();
    // A line feed that ends no line could be the end of the body to another reader.
    if (byte === lineFeed && !this.#trailer.endsWith('\r\n')) throw broken();
    if (this.#trailer === '\r\n\r\n') this.#state = 'done';
  }

  #passOver(byte: number, max: number): void {
    this.#passedOver += 1;
    if (byte === lineFeed || byte === 0 || this.#passedOver > max) throw broken();
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

const broken = () => malformed('The body is not made of well-formed chunks.');
