/**
 * For tests of the command line: a small server that imitates the API, and `terse`, which runs a whole command
 * in process against it, from the arguments to the exit code.
 */
import { afterAll, beforeEach } from 'bun:test';
import type { Clock } from '../base/clock.ts';
import { loadConfig } from '../config/config.ts';
import { forEachFlag } from '../links/fields.ts';
import { main } from '../main.ts';
import type { ApiLink } from './api-types.ts';
import type { Output } from './command.ts';

export const link: ApiLink = {
  shortCode: 'abc1234',
  shortUrl: 'https://sho.rt/abc1234',
  longUrl: 'https://example.com/a',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: null,
  status: 'active',
  title: null,
  tags: [],
  redirectType: 302,
  ...forEachFlag(() => false),
  statsTokensFrom: null,
  maxClicks: null,
  usedClicks: 0,
  clicks: 0,
  custom: false,
};

export function problem(status: number, title: string, detail: string): Response {
  const headers = { 'content-type': 'application/problem+json' };
  return Response.json({ type: 'about:blank', title, status, detail, code: 'x' }, { status, headers });
}

export interface ConnectionContext {
  readonly env?: Record<string, string>;
  readonly stdin?: string;
  readonly isTty?: boolean;
  readonly columns?: number;
  readonly clock?: Clock;
}

export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly files: ReadonlyMap<string, string>;
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly authorization: string | null;
}

export class FakeApi {
  /** Answers the next requests. */
  answer: (request: Request) => Response | Promise<Response> = () => Response.json(link);
  requests: SeenRequest[] = [];
  readonly #server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: request => this.#handle(request) });

  readonly address = `http://127.0.0.1:${this.#server.port}`;

  reset(): void {
    this.answer = () => Response.json(link);
    this.requests = [];
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async terse(argv: readonly string[], around: ConnectionContext = {}): Promise<Outcome> {
    const [stdout, stderr] = [new CapturedOutput(around), new CapturedOutput(around)];
    const files = new Map<string, string>();
    const exitCode = await main(argv, {
      fetch: (url, init) => fetch(url, init),
      stdout,
      stderr,
      async *readStdin() {
        yield new TextEncoder().encode(around.stdin ?? '');
      },
      async writeFile(path, bytes) {
        if (path.startsWith('/forbidden')) throw Object.assign(new Error('no'), { code: 'EACCES' });
        files.set(path, new TextDecoder().decode(bytes));
      },
      ...(around.clock && { clock: around.clock }),
      loadConfig: (flags, audiences) => {
        const env = { TERSE_SERVER: this.address, ...around.env };
        return loadConfig({ argv: flags, env, readFile: () => '{}', audiences });
      },
    });
    return { exitCode, stdout: stdout.text, stderr: stderr.text, files };
  }

  async #handle(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const text = await request.clone().text();
    this.requests.push({
      method: request.method,
      path: pathname + search,
      body: text === '' ? undefined : JSON.parse(text),
      authorization: request.headers.get('authorization'),
    });
    return this.answer(request);
  }
}

/** A fake for one test file: fresh before each test, closed at the end. */
export function fakeApi(): FakeApi {
  const api = new FakeApi();
  beforeEach(() => api.reset());
  afterAll(() => api.stop());
  return api;
}

class CapturedOutput implements Output {
  text = '';
  readonly isTty: boolean;
  readonly columns: number | undefined;

  constructor(around: ConnectionContext) {
    this.isTty = around.isTty ?? false;
    this.columns = around.columns;
  }

  write(chunk: string | Uint8Array): void {
    this.text += typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk);
  }
}
