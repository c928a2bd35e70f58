/**
 * Reads JSON a piece at a time, so that a large body does not block other requests, and describes an error in one
 * sentence. The parser of the runtime does neither: it parses a body in one go, gives no position and quotes an
 * unbounded part of the text. It is several times faster, though, so it parses small bodies, and the small objects in
 * the lists of large ones; this reader explains what is wrong with them.
 *
 * The values are those of JSON.parse. In addition to what JSON.parse rejects, a key may not appear twice in one object,
 * and depth and the numbers of members and values are limited.
 */
import { Problem } from '../base/errors.ts';

interface JsonLimits {
  readonly depthMax: number;
  readonly membersMax: number;
  readonly valuesMax: number;
  /** An object in a list of up to this size is parsed by the runtime. */
  readonly itemBytesMax: number;
}

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end';

interface Container {
  readonly value: unknown[] | Record<string, unknown>;
  /** Key of the member that is being read. */
  key: string;
  members: number;
}

interface OpenString {
  readonly startColumn: number;
  /** Read so far. Grows by concatenation, which copies nothing, however long the string is. */
  text: string;
}

const shownKeyMax = 40;
/** Bytes of a string that are read in one go. */
const pieceMaxBytes = 64 * 1024;
const scalarBytesMax = 1024;
/** Nearly every number is shorter. */
const shortScalarBytes = 32;
const unicodeEscapeBytes = '\\u0041'.length;

/** More continuation bytes than this are not a character, and the decoder reports it. */
const characterBytesMax = 4;

const quote = 0x22;
const backslash = 0x5c;
const lineFeed = 0x0a;
const scalarPattern = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const tolerantUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });

export class JsonReader {
  readonly #bytes: Buffer;
  readonly #limits: JsonLimits;
  readonly #containers: Container[] = [];
  #at = 0;
  #expected: Expected = 'value';
  #string: OpenString | undefined;
  #values = 0;
  #line = 1;
  #lineStart = 0;
  /** Bytes minus characters in the line so far: columns are counted in characters. */
  #surplusBytes = 0;
  #value: unknown;

  constructor(bytes: Uint8Array, limits: JsonLimits) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#limits = limits;
    // Some editors write a byte order mark at the start of a file.
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.#at = this.#lineStart = 3;
  }

  /** The whole document, once `readOn` has returned true. */
  get value(): unknown {
    return this.#value;
  }

  /** Reads about this many more bytes; true at the end of the document. Throws when the JSON is invalid. */
  readOn(bytesMax: number): boolean {
    const pauseAt = Math.min(this.#at + bytesMax, this.#bytes.length);
    for (;;) {
      if (this.#string === undefined) this.#skipSpace(pauseAt);
      if (this.#at >= pauseAt) {
        if (pauseAt < this.#bytes.length) return false;
        if (this.#isComplete && this.#at === this.#bytes.length) return true;
      }
      if (this.#string === undefined) this.#readToken();
      else this.#readString(this.#string);
    }
  }

  get #isComplete(): boolean {
    return this.#containers.length === 0 && this.#expected === ', or end';
  }

  #skipSpace(pauseAt: number): void {
    for (; this.#at < pauseAt; this.#at += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === lineFeed) {
        this.#line += 1;
        this.#lineStart = this.#at + 1;
        this.#surplusBytes = 0;
      } else if (byte !== 0x20 && byte !== 0x0d && byte !== 0x09) return;
    }
  }

  #readToken(): void {
    const first = this.#bytes[this.#at];
    const expected = this.#expected;
    if (expected === ', or end') this.#readSeparator(first);
    else if (expected === ':') this.#readColon(first);
    else if (expected === 'value') this.#readValue(first);
    else if (expected === 'key') this.#openKey(first);
    else if (first === (expected === 'key or }' ? 0x7d : 0x5d)) this.#close();
    else if (expected === 'key or }') this.#openKey(first);
    else this.#readValue(first);
  }

  #readColon(first: number | undefined): void {
    if (first !== 0x3a) throw this.#unexpected('":"');
    this.#at += 1;
    this.#expected = 'value';
  }

  #readValue(first: number | undefined): void {
    if (first === quote) this.#openString();
    else if (first === 0x7b) {
      if (!this.#readItem()) this.#open({}, 'key or }');
    } else if (first === 0x5b) this.#open([], 'value or ]');
    else this.#readScalar();
  }

  /**
   * Parses a small object in a list in one go. Returns false, having read nothing, when anything about it has to be
   * checked, explained or counted: the object is then read piece by piece.
   */
  #readItem(): boolean {
    const container = this.#containers.at(-1);
    if (container === undefined || !Array.isArray(container.value)) return false;
    const found = scanItem(this.#bytes, this.#at, this.#limits, this.#containers.length);
    if (found === undefined || this.#values + found.values > this.#limits.valuesMax) return false;
    let value: unknown;
    try {
      value = JSON.parse(this.#bytes.toString('latin1', this.#at, found.end));
    } catch {
      return false;
    }
    // A key that appears twice.
    if (countMembers(value) !== found.members) return false;
    this.#values += found.values;
    container.value.push(value);
    this.#at = found.end;
    this.#expected = ', or end';
    return true;
  }

  #openKey(first: number | undefined): void {
    if (first !== quote) throw this.#unexpected('a key in double quotes');
    this.#openString();
  }

  #openString(): void {
    this.#string = { startColumn: this.#column, text: '' };
    this.#at += 1;
  }

  #open(value: Container['value'], expected: Expected): void {
    if (this.#containers.length === this.#limits.depthMax)
      throw this.#problem(`The body is nested more than ${this.#limits.depthMax} levels deep`);
    this.#countValue();
    this.#add(value);
    this.#containers.push({ value, key: '', members: 0 });
    this.#at += 1;
    this.#expected = expected;
  }

  #close(): void {
    this.#containers.pop();
    this.#at += 1;
    this.#expected = ', or end';
  }

  #readSeparator(first: number | undefined): void {
    const container = this.#containers.at(-1);
    if (container === undefined) throw this.#unexpected('the end of the body');
    const isList = Array.isArray(container.value);
    if (first === (isList ? 0x5d : 0x7d)) {
      this.#close();
      return;
    }
    if (first !== 0x2c) throw this.#unexpected(isList ? '"," or "]"' : '"," or "}"');
    this.#countValue();
    this.#at += 1;
    this.#expected = isList ? 'value' : 'key';
  }

  #readScalar(): void {
    const scalar = this.#scalarWithin(shortScalarBytes) ?? this.#scalarWithin(scalarBytesMax);
    if (scalar === undefined) throw this.#problem('A number is too long; it begins');
    this.#add(JSON.parse(scalar));
    this.#at += scalar.length;
    this.#expected = ', or end';
  }

  /** Undefined when more may follow. */
  #scalarWithin(bytesMax: number): string | undefined {
    const text = this.#bytes.toString('latin1', this.#at, this.#at + bytesMax);
    const scalar = scalarPattern.exec(text)?.[0];
    if (scalar === undefined) throw this.#unexpected('a value');
    return scalar.length < bytesMax ? scalar : undefined;
  }

  /** Reads to the end of the string, or as much of it as is read in one go. */
  #readString(string: OpenString): void {
    const from = this.#at;
    let [at, cutAt, isPlain, isAscii] = [from, from + pieceMaxBytes, true, true];
    for (; at < this.#bytes.length; at += 1) {
      const byte = this.#bytes[at]!;
      if (byte === quote) break;
      // Do not cut an escape or a character in two.
      if (at >= cutAt && (byte < 0x80 || byte >= 0xc0 || at >= cutAt + characterBytesMax)) break;
      if (byte >= 0x80) isAscii = false;
      if (byte === backslash) {
        isPlain = false;
        if (this.#bytes[at + 1] === 0x75) cutAt = Math.max(cutAt, at + unicodeEscapeBytes);
        at += 1;
      } else if (byte < 0x20) throw this.#badString(string);
    }
    if (at >= this.#bytes.length)
      throw this.#problem('A string is not closed; it begins', string.startColumn);
    const source = isAscii
      ? this.#bytes.toString('latin1', from, at)
      : decoded(this.#bytes.subarray(from, at));
    string.text += isPlain ? source : this.#unescaped(source, string);
    this.#surplusBytes += at - from - source.length;
    this.#at = at;
    if (this.#bytes[at] === quote) {
      this.#string = undefined;
      this.#at += 1;
      this.#take(string);
    }
  }

  #unescaped(source: string, string: OpenString): string {
    try {
      return JSON.parse(`"${source}"`);
    } catch {
      throw this.#badString(string);
    }
  }

  /** Uses a complete string as a key or as a value. */
  #take({ text, startColumn }: OpenString): void {
    const container = this.#containers.at(-1);
    if (this.#expected !== 'key' && this.#expected !== 'key or }') {
      this.#add(text);
      this.#expected = ', or end';
      return;
    }
    if (Object.hasOwn(container!.value, text)) {
      const shown = JSON.stringify(text.slice(0, shownKeyMax));
      throw this.#problem(`The key ${shown} appears twice in one object`, startColumn);
    }
    container!.key = text;
    container!.members += 1;
    const { membersMax } = this.#limits;
    if (container!.members > membersMax) throw tooMany('An object has', membersMax, 'members');
    this.#expected = ':';
  }

  #add(value: unknown): void {
    const container = this.#containers.at(-1);
    if (container === undefined) this.#value = value;
    else if (Array.isArray(container.value)) container.value.push(value);
    else if (container.key !== '__proto__') container.value[container.key] = value;
    else {
      // An own property like any other, as JSON.parse makes it.
      const property = { value, writable: true, enumerable: true, configurable: true };
      Object.defineProperty(container.value, container.key, property);
    }
  }

  #countValue(): void {
    this.#values += 1;
    if (this.#values > this.#limits.valuesMax)
      throw tooMany('The body has', this.#limits.valuesMax, 'values');
  }

  #badString({ startColumn }: OpenString): Problem {
    const what = 'A string contains a bare control character or an unknown escape; it begins';
    return this.#problem(what, startColumn);
  }

  #unexpected(expected: string): Problem {
    return this.#problem(`Expected ${expected} but found ${this.#shown()}`);
  }

  get #column(): number {
    return this.#at - this.#lineStart - this.#surplusBytes + 1;
  }

  #problem(what: string, column = this.#column): Problem {
    return new Problem('invalid_json', { detail: `${what} at line ${this.#line}, column ${column}.` });
  }

  #shown(): string {
    const codePoint = tolerantUtf8.decode(this.#bytes.subarray(this.#at, this.#at + 4)).codePointAt(0);
    if (codePoint === undefined) return 'the end of the body';
    const character = String.fromCodePoint(codePoint);
    if (/[\p{L}\p{N}\p{P}\p{S}]/u.test(character))
      return character === '"' ? 'a double quote' : `"${character}"`;
    return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
  }
}

interface ScannedItem {
  /** Where the next byte after it is. */
  readonly end: number;
  /** Including those of nested objects. */
  readonly members: number;
  readonly values: number;
}

/** Undefined for an object that is larger, spans lines, is not ASCII, or exceeds a limit. */
function scanItem(
  bytes: Buffer,
  from: number,
  limits: JsonLimits,
  outerDepth: number,
): ScannedItem | undefined {
  const stopAt = Math.min(bytes.length, from + limits.itemBytesMax);
  let [depth, members, values] = [0, 0, 0];
  for (let at = from; at < stopAt; at += 1) {
    const byte = bytes[at]!;
    if (byte === quote) {
      at = closingQuote(bytes, at, stopAt);
    } else if (byte === 0x3a) {
      members += 1;
      // Stricter than the limit, which is for each nested object separately.
      if (members > limits.membersMax) return undefined;
    } else if (byte === 0x2c) values += 1;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      values += 1;
      if (outerDepth + depth > limits.depthMax) return undefined;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
      if (depth === 0) return { end: at + 1, members, values };
    } else if (byte < 0x20 || byte >= 0x80) return undefined;
  }
  return undefined;
}

/** `stopAt` or beyond for a string that does not end before it, or has anything but printable ASCII in it. */
function closingQuote(bytes: Buffer, openAt: number, stopAt: number): number {
  for (let at = openAt + 1; at < stopAt; at += 1) {
    const byte = bytes[at]!;
    if (byte === quote) return at;
    if (byte === backslash) at += 1;
    else if (byte < 0x20 || byte >= 0x80) break;
  }
  return stopAt;
}

/** The recursion is bounded by the depth of the source. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const isArray = Array.isArray(value);
  const items: readonly unknown[] = isArray ? value : Object.values(value);
  let memberCount = isArray ? 0 : items.length;
  for (const item of items) memberCount += countMembers(item);
  return memberCount;
}

export function tooMany(what: string, max: number, of: string): Problem {
  return new Problem('invalid_json', { detail: `${what} more than ${max} ${of}.` });
}

function decoded(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new Problem('invalid_json', { detail: 'The request body is not valid UTF-8.', cause });
  }
}
