/** Calls of the API as tests make them: with the admin's key, and without following redirects. */
import { adminKey } from './terse-process.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely and assert what they find.
  readonly body: any;
}

export interface CallOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>;

/** The returned function calls as the admin; pass `key: undefined` for an anonymous call. */
export function callerOf(url: string): Call {
  return async (method, path, options = {}) => {
    const key = 'key' in options ? options.key : adminKey;
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(options.body !== undefined && { 'Content-Type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body !== undefined && {
        body: typeof options.body === 'string' ? options.body : JSON.stringify(options.body),
      }),
    });
    const text = await response.text();
    const isJson = /^application\/(?:problem\+)?json\b/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
}
