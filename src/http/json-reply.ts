/**
 * A JSON answer as text, with the part of the platform's `Response` that routes and tests use. Making a `Response` only
 * to take it apart again costs more than writing its text.
 */
import { type Answer, answerOf } from './wire/answer.ts';
import { atOnceMaxBytes } from './wire/content-coding.ts';

/** What a route answers with. */
export type Reply = Response | JsonReply;

export class JsonReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly #text: string;

  constructor(text: string, status: number, headers: Readonly<Record<string, string>>) {
    this.#text = text;
    this.status = status;
    this.headers = new ReplyHeaders(headers);
  }

  async text(): Promise<string> {
    return this.#text;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as the platform has it.
  async json(): Promise<any> {
    return JSON.parse(this.#text);
  }

  /** The same with another text. */
  with(text: string): JsonReply {
    return new JsonReply(text, this.status, Object.fromEntries(this.headers.entries()));
  }

  /** A long one as a `Response`, whose body is compressed on another thread. */
  toAnswer(): Answer | Response {
    const headers = Object.fromEntries(this.headers.entries());
    return this.#text.length > atOnceMaxBytes
      ? new Response(this.#text, { status: this.status, headers })
      : answerOf(this.status, headers, this.#text);
  }
}

/** A few lines, each name once, in lower case as the platform writes it. */
class ReplyHeaders {
  readonly #lines: [name: string, value: string][] = [];

  constructor(headers: Readonly<Record<string, string>>) {
    for (const name in headers) this.#lines.push([name.toLowerCase(), headers[name]!]);
  }

  get(name: string): string | null {
    return this.#line(name.toLowerCase())?.[1] ?? null;
  }

  set(name: string, value: string): void {
    const lowerCase = name.toLowerCase();
    const line = this.#line(lowerCase);
    if (line === undefined) this.#lines.push([lowerCase, value]);
    else line[1] = value;
  }

  entries(): Iterable<readonly [name: string, value: string]> {
    return this.#lines;
  }

  #line(lowerCase: string): [name: string, value: string] | undefined {
    for (const line of this.#lines) if (line[0] === lowerCase) return line;
    return undefined;
  }
}
