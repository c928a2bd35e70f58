/**
 * Columns of numbers and lists of texts as bytes. A column is kept in as few bytes a number as its largest needs, above
 * its smallest, and compressed where that helps:
 *
 *     1 byte width and form | 4 bytes smallest | the numbers, little-endian
 */

/** What is stored makes no sense. */
export class BrokenColumn extends Error {
  override readonly name = 'BrokenColumn';
}

function decompress(bytes: Uint8Array): Uint8Array {
  try {
    return Bun.zstdDecompressSync(bytes);
  } catch (error) {
    throw new BrokenColumn('clicks cannot be decompressed', { cause: error });
  }
}

export type Column = Uint8Array | Uint32Array;

const compressedForm = 0x10;
const headBytes = 5;
/** Compressing less than this costs more than it saves. */
const compressedBytesMin = 128;
const compressionLevel = 1;

/** `isNoise` for numbers that are as good as random, which nothing can compress. */
export function packColumn(column: Column, count: number, isNoise = false): Uint8Array {
  let [least, most] = [0xffff_ffff, 0];
  for (let index = 0; index < count; index += 1) {
    const number = column[index]!;
    if (number < least) least = number;
    if (number > most) most = number;
  }
  if (count === 0) least = 0;
  const range = most - least;
  const width = range < 0x100 ? 1 : range < 0x1_0000 ? 2 : range < 0x100_0000 ? 3 : 4;
  const bytes = new Uint8Array(headBytes + count * width);
  writeHead(bytes, width, least);
  // Byte by byte only for the width of three: the others are arrays of the engine's own.
  if (width === 3) {
    for (let index = 0, at = headBytes; index < count; index += 1, at += 3) {
      const number = column[index]! - least;
      bytes[at] = number;
      bytes[at + 1] = number >>> 8;
      bytes[at + 2] = number >>> 16;
    }
  } else {
    const numbers =
      width === 1 ? new Uint8Array(count) : width === 2 ? new Uint16Array(count) : new Uint32Array(count);
    for (let index = 0; index < count; index += 1) numbers[index] = column[index]! - least;
    bytes.set(new Uint8Array(numbers.buffer), headBytes);
  }
  if (isNoise || bytes.length < compressedBytesMin) return bytes;
  const packed = Bun.zstdCompressSync(bytes.subarray(headBytes), { level: compressionLevel });
  if (packed.length > count * width * 0.9) return bytes;
  const whole = new Uint8Array(headBytes + packed.length);
  writeHead(whole, width | compressedForm, least);
  whole.set(packed, headBytes);
  return whole;
}

function writeHead(bytes: Uint8Array, form: number, least: number): void {
  bytes[0] = form;
  for (let index = 0; index < 4; index += 1) bytes[1 + index] = least >>> (8 * index);
}

/** Always as words: loops over arrays of one type are several times faster than over arrays of several. */
export function unpackColumn(bytes: Uint8Array): Uint32Array {
  const { numbers, width, least } = contentOf(bytes);
  if (width === 3) {
    const column = new Uint32Array(numbers.length / width);
    for (let index = 0, at = 0; index < column.length; index += 1, at += 3)
      column[index] = least + (numbers[at]! | (numbers[at + 1]! << 8) | (numbers[at + 2]! << 16));
    return column;
  }
  // The engine widens a whole array several times as fast as a loop does.
  const column = width === 4 ? wordsOf(numbers) : new Uint32Array(width === 1 ? numbers : shortsIn(numbers));
  if (least > 0) for (let index = 0; index < column.length; index += 1) column[index]! += least;
  return column;
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(bytes.length / 4);
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

/** Bytes as numbers of two; they are copied where they lie at an odd place. */
export const shortsIn = (bytes: Uint8Array): Uint16Array =>
  bytes.byteOffset % 2 === 0
    ? new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2)
    : new Uint16Array(bytes.slice().buffer);

/** For numbers that fit into a byte. */
export function unpackBytes(bytes: Uint8Array): Uint8Array {
  const { numbers, width, least } = contentOf(bytes);
  if (width !== 1) throw new BrokenColumn('a column of bytes has wider numbers');
  return least === 0 ? numbers : numbers.map(number => least + number);
}

function contentOf(bytes: Uint8Array): {
  readonly numbers: Uint8Array;
  readonly width: number;
  readonly least: number;
} {
  const form = bytes[0]!;
  const least = (bytes[1]! | (bytes[2]! << 8) | (bytes[3]! << 16) | (bytes[4]! << 24)) >>> 0;
  const content = bytes.subarray(headBytes);
  const numbers = form & compressedForm ? decompress(content) : content;
  const width = form & 0xf;
  if (!(numbers.length % width === 0)) throw new BrokenColumn('a column is cut off');
  return { numbers, width, least };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The first byte says whether the rest is compressed. */
export function packText(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  const packed =
    bytes.length < compressedBytesMin ? bytes : Bun.zstdCompressSync(bytes, { level: compressionLevel });
  const whole = new Uint8Array(packed.length + 1);
  whole[0] = packed === bytes ? 0 : 1;
  whole.set(packed, 1);
  return whole;
}

export function unpackText(bytes: Uint8Array): string {
  const content = bytes.subarray(1);
  return decoder.decode(bytes[0] === 0 ? content : decompress(content));
}
