/**
 * Requests of a public design, sent over HTTP as its document prints them: the bytes of a body are those of the document,
 * only host and key are ours. Answers are compared by status, by the names of their fields and by the types of the values.
 */
import { expect } from 'bun:test';
import { adminKey } from '../../kit/terse-process.ts';

export interface PrintedAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely and assert what they find.
  readonly body: any;
}

export interface PrintedRequest {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function sendPrinted(
  url: string,
  line: `${string} /${string}`,
  { body, headers = { Authorization: adminKey } }: PrintedRequest = {},
): Promise<PrintedAnswer> {
  const [method, path] = line.split(' ') as [string, string];
  return fetch(url + path, {
    method,
    redirect: 'manual',
    headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    ...(body !== undefined && { body }),
  }).then(async response => {
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  });
}

/** Every printed field must be there with a value of the printed type, and a time as a time. */
export function expectPrinted(body: Readonly<Record<string, unknown>>, printed: object): void {
  for (const [name, example] of Object.entries(printed)) {
    expect(Object.keys(body)).toContain(name);
    expect([name, typeOf(body[name])]).toEqual([name, typeOf(example)]);
  }
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'list' : `list of ${typeOf(value[0])}`;
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return 'time';
  return value === null ? 'null' : typeof value;
}
