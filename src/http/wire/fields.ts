/**
 * The header lines of one request, parsed strictly: whatever two readers might understand differently is rejected,
 * because request smuggling past a proxy relies on an ambiguous end of a request (RFC 9112, section 11.2).
 *
 * A client repeats its headers from request to request, so a connection keeps the last `Fields` and compares text
 * instead of parsing it again; code that reads the fields caches what it derives from them in `memo`.
 */
import { Problem } from '../../base/errors.ts';

const nameShape = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Control characters other than the tab; a stray line end is one of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point.
const controls = /[\0-\x08\x0a-\x1f\x7f]/;
const lengthShape = /^\d{1,15}$/;
/** An address in brackets or a name, then an optional port; empty for a target that has no authority. */
const hostShape = /^(?:\[[\w.:~-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\dA-Fa-f]{2})*)(?::\d*)?$/;
const linesMax = 100;
const personalNames = new Set(['cookie', 'authorization', 'x-api-key', 'x-forwarded-for', 'forwarded']);

export class Fields {
  readonly #names: readonly string[];
  readonly #values: readonly string[];
  /** Bytes of body that follow; 0 for none, undefined for a chunked body. */
  readonly bodyBytes: number | undefined;
  /** What the Connection header asks for; undefined when it does not say. */
  readonly persistence: 'close' | 'keep-alive' | undefined;
  readonly expectsContinue: boolean;
  readonly hasHost: boolean;
  memo: object | undefined = undefined;
  /** A `memo` of values that do not depend on the connection, shared by all that began with the same headers. */
  readonly shared: { memo: object | undefined };

  /** `same` has the same names and values, which were validated when it was made. */
  constructor(names: readonly string[], values: readonly string[], same?: Fields) {
    this.#names = names;
    this.#values = values;
    this.shared = same?.shared ?? { memo: undefined };
    this.bodyBytes = same === undefined ? this.#framing() : same.bodyBytes;
    this.persistence = same === undefined ? this.#persistence() : same.persistence;
    this.expectsContinue = same?.expectsContinue ?? this.get('expect')?.toLowerCase() === '100-continue';
    this.hasHost = same?.hasHost ?? this.#host() !== null;
  }

  /** The same headers on another connection. */
  again(): Fields {
    return new Fields(this.#names, this.#values, this);
  }

  /** Whether other clients may send the same headers: none is secret or identifies a client. */
  get isCommon(): boolean {
    return !this.#names.some(name => personalNames.has(name));
  }

  /** The value of a header named in lower case; several are joined by commas, as RFC 9110 says, cookies by semicolons. */
  get(name: string): string | null {
    let found: string | null = null;
    for (let index = 0; index < this.#names.length; index += 1) {
      if (this.#names[index] !== name) continue;
      const value = this.#values[index]!;
      found = found === null ? value : `${found}${name === 'cookie' ? ';' : ','} ${value}`;
    }
    return found;
  }

  has(name: string): boolean {
    return this.#names.includes(name);
  }

  keys(): Iterable<string> {
    return this.#names;
  }

  /** For handlers that need the platform's own type. */
  toHeaders(): Headers {
    const headers = new Headers();
    for (const [index, name] of this.#names.entries()) headers.append(name, this.#values[index]!);
    return headers;
  }

  #framing(): number | undefined {
    const coding = this.get('transfer-encoding');
    const length = this.get('content-length');
    if (coding !== null) {
      if (length !== null) throw malformed('Content-Length and Transfer-Encoding contradict each other.');
      if (coding.toLowerCase() !== 'chunked') throw malformed('The only Transfer-Encoding taken is chunked.');
      return undefined;
    }
    if (length === null) return 0;
    // Two lengths are joined by a comma, even if they agree, and a comma is not a digit.
    if (!lengthShape.test(length)) throw malformed('Content-Length is not one number.');
    return Number(length);
  }

  #persistence(): 'close' | 'keep-alive' | undefined {
    const options = this.get('connection')?.toLowerCase();
    if (options === undefined) return undefined;
    const tokens = options.split(',').map(option => option.trim());
    if (tokens.includes('close')) return 'close';
    return tokens.includes('keep-alive') ? 'keep-alive' : undefined;
  }

  /** A request with several hosts, or an invalid one, could mean different requests to two readers. */
  #host(): string | null {
    const host = this.get('host');
    // Two hosts are joined by a comma and a space, and no host has a space in it.
    if (host !== null && !hostShape.test(host)) throw malformed('Host is not one host.');
    return host;
  }
}

/** Reads the lines of `text` between two positions; each starts with the end of the line before it. */
export function parseFields(text: string, from: number, to: number): Fields {
  const names: string[] = [];
  const values: string[] = [];
  for (let lineEnd = from; lineEnd < to; ) {
    const lineStart = lineEnd + 2;
    lineEnd = text.indexOf('\r\n', lineStart);
    if (lineEnd === -1 || lineEnd > to) lineEnd = to;
    if (names.length === linesMax)
      throw new Problem('head_too_large', { detail: 'There are too many headers.' });
    const colon = text.indexOf(':', lineStart);
    if (colon === -1 || colon >= lineEnd) throw malformed('A header line has no colon.');
    names.push(nameOf(text.slice(lineStart, colon)));
    values.push(valueIn(text, colon + 1, lineEnd));
  }
  return new Fields(names, values);
}

/** Names as clients have written them, in lower case: all write the same few. */
const knownNames = new Map<string, string>();
const knownNamesMax = 256;
const knownNameMaxLength = 64;

function nameOf(written: string): string {
  const known = knownNames.get(written);
  if (known !== undefined) return known;
  if (!nameShape.test(written)) throw malformed('A header name is not one.');
  if (written.length > knownNameMaxLength) return written.toLowerCase();
  // A copy: a part of a text keeps all of it in memory, here a head with its cookies and keys.
  const own = Buffer.from(written, 'latin1').toString('latin1');
  const name = own.toLowerCase();
  // Made-up names push the others out only for as long as they are sent.
  if (knownNames.size === knownNamesMax) knownNames.clear();
  knownNames.set(own, name);
  return name;
}

/** Only spaces and tabs surround a value; any other white space belongs to it. */
function valueIn(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  const value = text.slice(start, end);
  if (controls.test(value)) throw malformed('A header value has control characters in it.');
  return value;
}

const isBlank = (character: number): boolean => character === 32 || character === 9;

export function malformed(detail: string): Problem {
  return new Problem('invalid_request', { detail });
}

/**
 * A slice of a buffer keeps the whole buffer in memory. Bytes kept for a slow client are therefore copied out once they
 * are the smaller part; as that halves the buffer each time, all copies together cost less than two.
 */
export function compact(bytes: Buffer): Buffer {
  return bytes.length * 2 < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}
