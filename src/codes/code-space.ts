import { invariant } from '../base/errors.ts';
import { deriveKey } from './derived-key.ts';
import { PairPermutation } from './permutation.ts';

/**
 * All codes of one length. An id in [0, 62^length) and a code are the two names of one point, tied by a
 * permutation keyed with the installation's secret; see permutation.ts.
 */
export interface CodeSpace {
  readonly length: number;
  /** Ids in [0, size) can be issued: 62^length, or 2^53 where that is smaller. */
  readonly size: number;
  encode(id: number): string;
  /** The id behind a code; undefined when it is not of this space or lies beyond `size`. */
  decode(code: string): number | undefined;
}

/**
 * The same space with its points given as two digits, id = left × rightRadix + right. Long codes have more
 * points than a number can tell apart; this reaches all of them.
 */
export interface PairCodeSpace extends CodeSpace {
  readonly leftRadix: number;
  readonly rightRadix: number;
  encodePair(left: number, right: number): string;
}

export const codeLengthMax = 12;

/**
 * The two digits of a point are written as the two halves of the code, so the permutation covers exactly the
 * space and needs no cycle walking. A single character has no left half: there the permutation is a mere rotation,
 * which is why no installation uses so short a code.
 */
export function createCodeSpace(secret: Uint8Array, length: number): PairCodeSpace {
  invariant(
    Number.isInteger(length) && length >= 1 && length <= codeLengthMax,
    'a code has 1 to 12 characters',
  );
  const leftLength = Math.floor(length / 2);
  const rightLength = length - leftLength;
  const leftRadix = 62 ** leftLength;
  const rightRadix = 62 ** rightLength;
  const size = Math.min(leftRadix * rightRadix, 2 ** 53);
  // The length is part of the label: each length has a permutation of its own.
  const key = deriveKey(secret, `permutation of codes of length ${length}`).subarray(0, 16);
  const permutation = new PairPermutation(key, leftRadix, rightRadix);

  function encodePair(left: number, right: number): string {
    permutation.forward(left, right);
    writeBase62(permutation.left, 0, leftLength);
    writeBase62(permutation.right, leftLength, length);
    return encoded.toString('latin1', 0, length);
  }

  return {
    length,
    size,
    leftRadix,
    rightRadix,
    encodePair(left, right) {
      invariant(isDigit(left, leftRadix) && isDigit(right, rightRadix), 'the pair is a point of the space');
      return encodePair(left, right);
    },
    encode(id) {
      invariant(isDigit(id, size), 'the id is below the size of the space');
      const left = Math.floor(id / rightRadix);
      return encodePair(left, id - left * rightRadix);
    },
    decode(code) {
      if (code.length !== length) return undefined;
      const left = decodeBase62(code, 0, leftLength);
      if (left === undefined) return undefined;
      const right = decodeBase62(code, leftLength, length);
      if (right === undefined) return undefined;
      permutation.backward(left, right);
      // Past 2^53 the sum is rounded, but never to below 2^53, so the comparison is exact.
      const id = permutation.left * rightRadix + permutation.right;
      return id < size ? id : undefined;
    },
  };
}

function isDigit(value: number, radix: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < radix;
}

/**
 * Base62 of numbers, fixed width, most significant digit first. Digits come before capitals before small
 * letters, the order of their character codes, so codes of one length sort like the numbers they stand for.
 * A value stays below 2^53: longer codes are written as two halves, see code-space.ts.
 */
export const base62Alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const notADigit = -1;
const digitOfCharacter = new Int8Array(128).fill(notADigit);
for (let digit = 0; digit < 62; digit += 1) digitOfCharacter[base62Alphabet.charCodeAt(digit)] = digit;

const base62Bytes = Buffer.from(base62Alphabet);
const encodedMax = 64;
const encoded = Buffer.alloc(encodedMax);

/**
 * `value` in exactly `length` characters; the caller keeps it below 62^length. Text that is put together by characters
 * is copied again wherever it is compared.
 */
export function encodeBase62(value: number, length: number): string {
  writeBase62(value, 0, length);
  return encoded.toString('latin1', 0, length);
}

function writeBase62(value: number, start: number, end: number): void {
  let rest = value;
  let position = end - 1;
  for (; rest >= 2 ** 31; position -= 1) {
    const quotient = Math.floor(rest / 62);
    encoded[position] = base62Bytes[rest - quotient * 62]!;
    rest = quotient;
  }
  // From here on the processor's own division of integers does.
  for (let digits = rest | 0; position >= start; position -= 1) {
    const quotient = (digits / 62) | 0;
    encoded[position] = base62Bytes[digits - quotient * 62]!;
    digits = quotient;
  }
}

/** The number written in `text` from `start` up to `end`; undefined when a character is no digit. */
export function decodeBase62(text: string, start = 0, end = text.length): number | undefined {
  let value = 0;
  for (let position = start; position < end; position += 1) {
    const digit = digitOfCharacter[text.charCodeAt(position)] ?? notADigit;
    if (digit === notADigit) return undefined;
    value = value * 62 + digit;
  }
  return value;
}
