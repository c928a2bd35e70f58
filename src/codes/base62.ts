/**
 * Base62 of numbers, fixed width, most significant digit first. Digits come before capitals before small
 * letters, the order of their character codes, so codes of one length sort like the numbers they stand for.
 * A value stays below 2^53: longer codes are written as two halves, see code-space.ts.
 */
export const base62Alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const notADigit = -1;
const digitOfCharacter = new Int8Array(128).fill(notADigit);
for (let digit = 0; digit < 62; digit += 1) digitOfCharacter[base62Alphabet.charCodeAt(digit)] = digit;

/** `value` in exactly `length` characters; the caller keeps it below 62^length. */
export function encodeBase62(value: number, length: number): string {
  let text = '';
  let rest = value;
  for (let position = 0; position < length; position += 1) {
    const quotient = Math.floor(rest / 62);
    text = base62Alphabet.charAt(rest - quotient * 62) + text;
    rest = quotient;
  }
  return text;
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
