/**
 * As much of the protobuf wire format as the Safe Browsing messages need. A message is a row of fields; which
 * fields mean what is for the caller to know, and those it does not know it passes over, as the format intends.
 * Invariant: reading ends after at most as many steps as there are bytes, and throws nothing but a
 * `SafeBrowsingFault`, whatever the bytes are.
 */
import { malformed } from './fault.ts';

/** A field as it lies on the wire: a number, or bytes that may be text, another message or packed numbers. */
export type Field =
  | { readonly number: number; readonly kind: 'varint'; readonly value: number }
  | { readonly number: number; readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly number: number; readonly kind: 'fixed' };

const wireVarint = 0;
const wireFixed64 = 1;
const wireBytes = 2;
const wireFixed32 = 5;
const varintBytesMax = 10;
const twoTo32 = 0x1_0000_0000;
const textDecoder = new TextDecoder();
const textEncoder = new TextEncoder();

export function* fieldsOf(message: Uint8Array): Generator<Field> {
  const cursor = { at: 0 };
  while (cursor.at < message.length) {
    const tag = readVarint(message, cursor);
    const number = Math.floor(tag / 8);
    if (number < 1 || number > 0x1fff_ffff) throw malformed(`field number ${number}`);
    switch (tag % 8) {
      case wireVarint:
        yield { number, kind: 'varint', value: readVarint(message, cursor) };
        break;
      case wireBytes:
        yield { number, kind: 'bytes', bytes: take(message, cursor, readVarint(message, cursor)) };
        break;
      case wireFixed64:
        take(message, cursor, 8);
        yield { number, kind: 'fixed' };
        break;
      case wireFixed32:
        take(message, cursor, 4);
        yield { number, kind: 'fixed' };
        break;
      default:
        throw malformed(`wire type ${tag % 8}`);
    }
  }
}

/** The numbers of a repeated field, which come packed together or one field each. */
export function numbersOf(field: Field): number[] {
  if (field.kind === 'varint') return [field.value];
  const bytes = bytesOf(field);
  const numbers: number[] = [];
  for (const cursor = { at: 0 }; cursor.at < bytes.length; ) numbers.push(readVarint(bytes, cursor));
  return numbers;
}

export function bytesOf(field: Field): Uint8Array {
  if (field.kind === 'bytes') return field.bytes;
  throw malformed(`field ${field.number} is not bytes`);
}

export const textOf = (field: Field): string => textDecoder.decode(bytesOf(field));

export function numberOf(field: Field): number {
  if (field.kind === 'varint') return field.value;
  throw malformed(`field ${field.number} is not a number`);
}

/** A google.protobuf.Duration in milliseconds; one that goes back in time is none. */
export function durationMsOf(field: Field): number {
  let [seconds, nanos] = [0, 0];
  for (const part of fieldsOf(bytesOf(field))) {
    if (part.number === 1) seconds = numberOf(part);
    if (part.number === 2) nanos = numberOf(part);
  }
  return Math.max(0, seconds * 1_000 + nanos / 1_000_000);
}

/** Numbers of 64 bits lose their last bits beyond 2⁵³, where no field of ours has any business. */
function readVarint(bytes: Uint8Array, cursor: { at: number }): number {
  let [low, high] = [0, 0];
  for (let index = 0; index < varintBytesMax; index += 1) {
    const byte = bytes[cursor.at];
    if (byte === undefined) throw malformed('a number is cut short');
    cursor.at += 1;
    const part = byte & 0x7f;
    if (index < 4) low += part * 2 ** (7 * index);
    else if (index === 4) {
      low += (part & 0x0f) * 2 ** 28;
      high += part >> 4;
    } else high += part * 2 ** (7 * index - 32);
    if (byte < 0x80) return signed(high % twoTo32) * twoTo32 + low;
  }
  throw malformed('a number of more than ten bytes');
}

/** Negative numbers are written as 64-bit two's complement. */
function signed(high: number): number {
  return high >= twoTo32 / 2 ? high - twoTo32 : high;
}

function take(message: Uint8Array, cursor: { at: number }, length: number): Uint8Array {
  const end = cursor.at + length;
  if (length < 0 || end > message.length) throw malformed('a field is cut short');
  const bytes = message.subarray(cursor.at, end);
  cursor.at = end;
  return bytes;
}

/** Writes fields in the order they are named. Numbers are not negative; a zero or nothing is left out. */
export class MessageWriter {
  readonly #bytes: number[] = [];

  number(field: number, value: number): this {
    if (value === 0) return this;
    this.#varint(field * 8 + wireVarint);
    this.#varint(value);
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    if (value.length > 0) this.#append(field, value);
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, textEncoder.encode(value));
  }

  /** Present even when it is empty, as a message that says only that it is there. */
  message(field: number, write: (inner: MessageWriter) => void): this {
    const inner = new MessageWriter();
    write(inner);
    this.#append(field, inner.finish());
    return this;
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  #append(field: number, value: Uint8Array): void {
    this.#varint(field * 8 + wireBytes);
    this.#varint(value.length);
    for (const byte of value) this.#bytes.push(byte);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes.push((rest % 0x80) + 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes.push(rest);
  }
}
