/**
 * Finds and reads the heads of requests in what a client sent. A client mostly repeats its headers, so the last ones
 * are kept with their text, and a head that ends in the same text is not read again.
 *
 * Whether a head is too large, or is one at all, does not depend on the pieces it came in.
 */
import { Problem } from '../../base/errors.ts';
import { Fields, malformed, parseFields } from './fields.ts';
import { parseRequestLine, type RequestLine } from './head.ts';

const headMaxBytes = 16 * 1024;
const headEndText = '\r\n\r\n';
/** Some old clients send an empty line after a body. Many of them are no request. */
const emptyLinesMax = 4;
/** Whatever has no end within so many bytes is too large. */
export const headWindowBytes = headMaxBytes + headEndText.length;

const noFields = new Fields([], []);

export class HeadReader {
  /** From the end of the request line to the end of the head. */
  #lastText = '';
  #fields = noFields;
  /** Since the last head. */
  #emptyLines = 0;
  /** Where what was read last ends. */
  end = 0;

  /** The headers of the head that was read last. */
  get fields(): Fields {
    return this.#fields;
  }

  /**
   * Reads the head that begins in `text` at `from`, of which at most `headWindowBytes` are given; undefined when its
   * end is not among them, and `end` is then where it begins. Throws what is wrong with it.
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
      this.#fields = parseFields(text, lineEnd, headEnd);
      this.#lastText = text.slice(lineEnd, headEnd + headEndText.length);
    }
    requireSense(line, this.#fields);
    this.#emptyLines = 0;
    this.end = headEnd + headEndText.length;
    return line;
  }

  /** A client that has nothing to say for a while is not worth the memory of what it said. */
  forget(): void {
    this.#lastText = '';
    this.#fields = noFields;
  }
}

function findEnd(text: string, start: number, lineEnd: number): number {
  const headEnd = lineEnd === -1 ? -1 : text.indexOf(headEndText, lineEnd);
  if (headEnd === -1 && text.length - start >= headWindowBytes) {
    throw new Problem('head_too_large', {
      detail: `A request head may have at most ${headMaxBytes} bytes.`,
    });
  }
  return headEnd;
}

/** What a line and its headers must agree on. */
function requireSense({ isOldVersion }: RequestLine, fields: Fields): void {
  if (isOldVersion) {
    if (fields.bodyBytes === undefined) throw malformed('HTTP/1.0 knows no chunks.');
  } else if (!fields.hasHost) throw malformed('The request must name its Host.');
}
