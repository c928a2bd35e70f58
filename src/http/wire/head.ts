/**
 * The first line of a request: target, method and version. A target is a path or, from proxies and old clients, a whole
 * URL; both become a path and a query, neither decoded nor normalized, so that `/a/../b` and `/a#b`, which no browser
 * sends, match no route.
 */
import { Problem } from '../../base/errors.ts';
import { Fields, malformed, parseFields } from './fields.ts';

export interface RequestLine {
  readonly method: string;
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  readonly isOldVersion: boolean;
}

const methodShape = /^[A-Z]{1,16}$/;
const unprintable = /[\0-\x20\x7f]/;
const beyondAscii = /[^\0-\x7f]/g;

/** Reads the line that lies in `text` between two positions; its line end must follow. */
export function parseRequestLine(text: string, from: number, to: number): RequestLine {
  const methodEnd = text.indexOf(' ', from);
  const targetEnd = text.indexOf(' ', methodEnd + 1);
  if (methodEnd === -1 || targetEnd === -1 || targetEnd > to) throw malformed('The request line is not one.');
  const isOldVersion = !text.startsWith('HTTP/1.1\r\n', targetEnd + 1);
  if (isOldVersion && !text.startsWith('HTTP/1.0\r\n', targetEnd + 1)) {
    const isSomeVersion = /^HTTP\/\d\.\d$/.test(text.slice(targetEnd + 1, to));
    throw isSomeVersion ? new Problem('http_version') : malformed('The request line is not one.');
  }
  const method = text.slice(from, methodEnd);
  if (method !== 'GET' && !methodShape.test(method)) throw malformed('The method is not one.');
  let target = text.slice(methodEnd + 1, targetEnd);
  if (unprintable.test(target)) throw malformed('The target has control characters in it.');
  if (target.charCodeAt(0) !== 47) target = originForm(target);
  // Some clients send characters that they should have encoded.
  const encoded = target.replace(beyondAscii, percentEncoded);
  const queryAt = encoded.indexOf('?');
  if (queryAt === -1) return { method, path: encoded, query: '', isOldVersion };
  const query = encoded.slice(queryAt + 1);
  const path = encoded.slice(0, queryAt);
  // No browser sends a fragment; if a client does, it is not part of the query.
  const fragmentAt = query.indexOf('#');
  return { method, path, query: fragmentAt === -1 ? query : query.slice(0, fragmentAt), isOldVersion };
}

function originForm(target: string): string {
  const authority = /^https?:\/\/[^/?#]+/i.exec(target)?.[0];
  if (authority === undefined) throw malformed('The target is not a path.');
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

const percentEncoded = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

const headMaxBytes = 16 * 1024;
const headEndText = '\r\n\r\n';
/** Some old clients send an empty line after a body. Many empty lines are an error. */
const emptyLinesMax = 4;
/** A head that does not end within this many bytes is too large. */
export const headWindowBytes = headMaxBytes + headEndText.length;

const noFields = new Fields([], []);
const getStart = Buffer.from('GET /');
export const pathStart = getStart.length;
const versionText = ' HTTP/1.1';
const space = 32;

/**
 * Finds and parses the heads of requests in a client's bytes. A client mostly repeats its headers, so the last ones are
 * kept with their text, and a head that ends in the same text is not parsed again. Whether a head is too large, or valid
 * at all, does not depend on the pieces in which it arrived.
 */
export class HeadReader {
  /** From the end of the request line to the end of the head. */
  #lastText = '';
  #fields = noFields;
  /** The same as bytes, with the version before it: all that follows the path of a GET that is like the last one. */
  #repeatedEnd: Buffer | undefined;
  /** Empty lines since the last head. */
  #emptyLines = 0;
  /** Where the head that was read last ends. */
  end = 0;

  /** The headers of the head that was read last. */
  get fields(): Fields {
    return this.#fields;
  }

  /**
   * Where the path ends if `bytes` are exactly one GET that repeats the last one except for its path; 0 otherwise. The
   * path begins after the slash, at `pathStart`, and is not validated. The first GET of a connection is compared with
   * the first ones of recent connections.
   */
  pathEndIn(bytes: Buffer): number {
    const end = this.#repeatedEnd;
    if ((end === undefined && this.#fields !== noFields) || bytes.length > headMaxBytes) return 0;
    for (let place = 0; place < pathStart; place += 1) if (bytes[place] !== getStart[place]) return 0;
    if (end === undefined) return this.#beginLikeOthers(bytes);
    const pathEnd = bytes.length - end.length;
    if (pathEnd <= pathStart || bytes.compare(end, 0, end.length, pathEnd) !== 0) return 0;
    this.#emptyLines = 0;
    return pathEnd;
  }

  #beginLikeOthers(bytes: Buffer): number {
    const pathEnd = bytes.indexOf(space, pathStart);
    if (pathEnd <= pathStart) return 0;
    for (const { text, fields, end } of simpleHeaders.get(bytes.length - pathEnd) ?? []) {
      if (bytes.compare(end, 0, end.length, pathEnd) !== 0) continue;
      this.#lastText = text;
      this.#fields = fields.again();
      this.#repeatedEnd = end;
      this.#emptyLines = 0;
      return pathEnd;
    }
    return 0;
  }

  /**
   * Reads the head that begins in `text` at `from`; `text` has at most `headWindowBytes` of it. Undefined when its end is
   * not there: `end` is then the position where it begins. Throws when it is invalid.
   */
  read(text: string, from: number): RequestLine | undefined {
    let start = from;
    let lineEnd = text.indexOf('\r\n', start);
    while (lineEnd === start) {
      this.#emptyLines += 1;
      if (this.#emptyLines > emptyLinesMax) throw malformed('The request begins with too many empty lines.');
      start += 2;
      lineEnd = text.indexOf('\r\n', start);
    }
    const isRepeated = lineEnd !== -1 && this.#lastText !== '' && text.startsWith(this.#lastText, lineEnd);
    const headEnd = isRepeated
      ? lineEnd + this.#lastText.length - headEndText.length
      : findEnd(text, start, lineEnd);
    if (headEnd === -1) {
      this.end = start;
      return undefined;
    }
    const line = parseRequestLine(text, start, lineEnd);
    if (!isRepeated) {
      const isFirst = this.#fields === noFields;
      const headers = text.slice(lineEnd, headEnd + headEndText.length);
      this.#fields = isFirst ? firstFields(headers) : parseFields(text, lineEnd, headEnd);
      this.#lastText = headers;
      this.#repeatedEnd = undefined;
    } else if (this.#repeatedEnd === undefined && isSimple(line, this.#fields))
      this.#repeatedEnd = endOf(this.#lastText);
    requireConsistent(line, this.#fields);
    this.#emptyLines = 0;
    this.end = headEnd + headEndText.length;
    return line;
  }

  /** Called for an idle client, whose cached headers are not worth their memory. */
  forget(): void {
    this.#lastText = '';
    this.#repeatedEnd = undefined;
    this.#fields = noFields;
  }
}

/** Headers with which connections began, by their text. A full `recentHeaders` replaces `olderHeaders`. */
let recentHeaders = new Map<string, Fields>();
let olderHeaders = new Map<string, Fields>();
const recentMax = 256;
const recentMaxChars = 1_024;

/** Headers that a GET without a body had on several connections. */
interface SimpleHeaders {
  readonly text: string;
  readonly fields: Fields;
  /** All that follows the path of such a GET. */
  readonly end: Buffer;
}

/** By the length of `end`, the newest first; forgotten together with the older headers. */
let simpleHeaders = new Map<number, readonly SimpleHeaders[]>();
/** Different versions of one browser often send heads of the same length. */
const sameLengthMax = 4;

/**
 * The headers of the first request on a connection. Most visitors send one request, and many use the same browser, so
 * headers that another connection began with are not parsed again.
 */
function firstFields(text: string): Fields {
  const known = recentHeaders.get(text) ?? olderHeaders.get(text);
  const fields = known ?? parseFields(text, 0, text.length - headEndText.length);
  if (known === undefined && (text.length > recentMaxChars || !fields.isCommon)) return fields;
  if (recentHeaders.size === recentMax) {
    olderHeaders = recentHeaders;
    recentHeaders = new Map();
    simpleHeaders = new Map();
  }
  recentHeaders.set(text, fields);
  if (known !== undefined && fields.bodyBytes === 0 && fields.hasHost) keepSimple(text, fields);
  return fields.again();
}

function keepSimple(text: string, fields: Fields): void {
  const end = endOf(text);
  const others = (simpleHeaders.get(end.length) ?? []).filter(other => other.text !== text);
  simpleHeaders.set(end.length, [{ text, fields, end }, ...others.slice(0, sameLengthMax - 1)]);
}

const endOf = (headers: string): Buffer => Buffer.from(versionText + headers, 'latin1');

function findEnd(text: string, start: number, lineEnd: number): number {
  const headEnd = lineEnd === -1 ? -1 : text.indexOf(headEndText, lineEnd);
  if (headEnd === -1 && text.length - start >= headWindowBytes) {
    throw new Problem('head_too_large', {
      detail: `A request head may have at most ${headMaxBytes} bytes.`,
    });
  }
  return headEnd;
}

/** Whether quick answers may serve requests that repeat it: a GET of HTTP/1.1 without a body. */
function isSimple({ method, isOldVersion }: RequestLine, { bodyBytes }: Fields): boolean {
  return method === 'GET' && !isOldVersion && bodyBytes === 0;
}

/** Rules that involve both the request line and the headers. */
function requireConsistent({ isOldVersion }: RequestLine, fields: Fields): void {
  if (isOldVersion) {
    if (fields.bodyBytes === undefined) throw malformed('HTTP/1.0 knows no chunks.');
  } else if (!fields.hasHost) throw malformed('The request must name its Host.');
}
