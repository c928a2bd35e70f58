/**
 * A JSON answer as text, with the part of the platform's `Response` that routes and tests use. Making a `Response` only
 * to take it apart again costs more than writing its text.
 */
import { type Answer, answerOf } from './wire/answer.ts';
import { atOnceMaxBytes } from './wire/content-coding.ts';

/** The answer of a route. */
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

  /** A copy with another text. */
  with(text: string): JsonReply {
    return new JsonReply(text, this.status, this.headers.lines);
  }

  /** A long reply becomes a `Response`, because the body of a `Response` is compressed on another thread. */
  toAnswer(): Answer | Response {
    const { lines } = this.headers;
    return this.#text.length > atOnceMaxBytes
      ? new Response(this.#text, { status: this.status, headers: lines })
      : answerOf(this.status, lines, this.#text);
  }
}

/** A few headers, each once and in lower case, as in the platform's `Headers`. */
class ReplyHeaders {
  readonly #lines: Record<string, string> = Object.create(null);

  constructor(headers: Readonly<Record<string, string>>) {
    for (const name in headers) this.#lines[name.toLowerCase()] = headers[name]!;
  }

  get lines(): Readonly<Record<string, string>> {
    return this.#lines;
  }

  get(name: string): string | null {
    return this.#lines[name.toLowerCase()] ?? null;
  }

  set(name: string, value: string): void {
    this.#lines[name.toLowerCase()] = value;
  }
}
