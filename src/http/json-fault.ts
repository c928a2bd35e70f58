/**
 * Says in one sentence what is wrong with a JSON text that was refused. The parser of the runtime gives no
 * position and quotes as much of the text as it likes; this reader gives line and column and quotes one
 * character. It is slow, so it runs only for requests that have already failed, and only for those with as few values
 * as an honest request has, so that failing on purpose is no way to keep a server busy.
 */
import { Problem } from '../base/errors.ts';

const shownKeyMax = 40;

/** The problem with `source`, which the caller knows to have one. */
export function explainJson(source: string, depthMax: number): Problem {
  try {
    new FaultFinder(source, depthMax).readDocument();
  } catch (fault) {
    if (fault instanceof Problem) return fault;
    throw fault;
  }
  return new Problem('invalid_json', { detail: 'The body is broken or repeats a key.' });
}

/** Where the string that opens at `open` ends; the end of the source when it does not. */
export function closingQuote(source: string, open: number): number {
  for (let from = open + 1; ; ) {
    const quote = source.indexOf('"', from);
    if (quote === -1) return source.length;
    let backslashes = 0;
    while (source.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

class FaultFinder {
  readonly #source: string;
  readonly #depthMax: number;
  #position = 0;

  constructor(source: string, depthMax: number) {
    this.#source = source;
    this.#depthMax = depthMax;
  }

  readDocument(): void {
    this.#readValue(0);
    if (this.#peek() !== undefined) throw this.#unexpected('the end of the body');
  }

  #readValue(depth: number): void {
    const first = this.#peek();
    if ((first === '{' || first === '[') && depth === this.#depthMax) {
      throw this.#problem(`The body is nested more than ${this.#depthMax} levels deep`);
    }
    if (first === '{') this.#readObject(depth + 1);
    else if (first === '[') this.#readArray(depth + 1);
    else if (first === '"') this.#readString();
    else if (!this.#skip(scalarPattern)) throw this.#unexpected('a value');
  }

  #readObject(depth: number): void {
    const keys = new Set<string>();
    this.#position += 1;
    if (this.#take('}')) return;
    do {
      if (this.#peek() !== '"') throw this.#unexpected('a key in double quotes');
      const start = this.#position;
      const key = this.#readString();
      if (keys.has(key)) {
        this.#position = start;
        throw this.#problem(
          `The key ${JSON.stringify(key.slice(0, shownKeyMax))} appears twice in one object`,
        );
      }
      keys.add(key);
      if (!this.#take(':')) throw this.#unexpected('":"');
      this.#readValue(depth);
    } while (this.#take(','));
    if (!this.#take('}')) throw this.#unexpected('"," or "}"');
  }

  #readArray(depth: number): void {
    this.#position += 1;
    if (this.#take(']')) return;
    do this.#readValue(depth);
    while (this.#take(','));
    if (!this.#take(']')) throw this.#unexpected('"," or "]"');
  }

  #readString(): string {
    const end = closingQuote(this.#source, this.#position);
    if (end === this.#source.length) throw this.#problem('A string is not closed; it begins');
    try {
      const text: string = JSON.parse(this.#source.slice(this.#position, end + 1));
      this.#position = end + 1;
      return text;
    } catch {
      throw this.#problem('A string contains a bare control character or an unknown escape; it begins');
    }
  }

  /** The next character that is not white space; undefined at the end. */
  #peek(): string | undefined {
    this.#skip(whiteSpacePattern);
    return this.#source[this.#position];
  }

  #take(expected: string): boolean {
    if (this.#peek() !== expected) return false;
    this.#position += 1;
    return true;
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#position;
    if (!pattern.test(this.#source)) return false;
    this.#position = pattern.lastIndex;
    return true;
  }

  #unexpected(expected: string): Problem {
    return this.#problem(`Expected ${expected} but found ${this.#shown()}`);
  }

  #problem(what: string): Problem {
    const before = this.#source.slice(0, this.#position);
    const line = before.split('\n').length;
    const column = this.#position - before.lastIndexOf('\n');
    return new Problem('invalid_json', { detail: `${what} at line ${line}, column ${column}.` });
  }

  #shown(): string {
    const codePoint = this.#source.codePointAt(this.#position);
    if (codePoint === undefined) return 'the end of the body';
    const character = String.fromCodePoint(codePoint);
    if (/[\p{L}\p{N}\p{P}\p{S}]/u.test(character))
      return character === '"' ? 'a double quote' : `"${character}"`;
    return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
  }
}

const whiteSpacePattern = /[ \t\r\n]*/y;
const scalarPattern = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
