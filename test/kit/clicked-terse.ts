/**
 * A Terse behind a trusted proxy with a stopped clock, so that a test decides when and from where each click comes.
 * Another thread counts clicks: `counted` waits for it.
 */
import { systemClock } from '../../src/base/clock.ts';
import { type Answer, type Call, callerOf } from './client.ts';
import { startTerseHere, type TerseHere } from './terse-here.ts';
import { until } from './until.ts';
import { browser } from './visitors.ts';

export interface VisitOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: 'GET' | 'HEAD';
  /** The visitor's address. */
  readonly address?: string;
}

export interface HeldClock {
  now(): number;
  advance(byMs: number): void;
}

const germanAddress = '91.12.34.56';

export class ClickedTerse {
  readonly terse: TerseHere;
  readonly clock: HeldClock;
  readonly call: Call;
  #visits = 0;

  private constructor(terse: TerseHere, clock: HeldClock) {
    this.terse = terse;
    this.clock = clock;
    this.call = callerOf(terse.url);
  }

  static async start(nowMs: number): Promise<ClickedTerse> {
    let heldMs = nowMs;
    const clock: HeldClock = {
      now: () => heldMs,
      advance(byMs) {
        heldMs += byMs;
      },
    };
    const env = { TERSE_TRUSTED_PROXIES: '127.0.0.1/32' };
    // Timers run as usual: days can pass without all the work that is due every few milliseconds.
    return new ClickedTerse(await startTerseHere({ clock: { ...systemClock, ...clock }, env }), clock);
  }

  async create(fields: Record<string, unknown> = {}, key?: string): Promise<string> {
    const { status, body } = await this.call('POST', '/api/v1/links', {
      body: { longUrl: 'https://example.com/there', ...fields },
      ...(key !== undefined && { key }),
    });
    if (status !== 201) throw new Error(`no link: ${status} ${JSON.stringify(body)}`);
    return body.shortCode;
  }

  async visit(code: string, options: VisitOptions = {}): Promise<Answer> {
    const { headers = browser, method = 'GET', address = germanAddress } = options;
    const answer = await this.call(method, `/${code}`, {
      key: undefined,
      headers: { ...headers, 'X-Forwarded-For': address },
    });
    if (answer.status === 302) this.#visits += 1;
    return answer;
  }

  /** Returns once every visit so far was counted. */
  async counted(): Promise<void> {
    const isCounted = async (): Promise<boolean> => {
      const { body } = await this.call('GET', '/api/v1/reconcile?from=2020-01-01T00:00:00Z');
      return body.totals.recorded === this.#visits;
    };
    await until(`${this.#visits} clicks`, isCounted);
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely and assert what they find.
  async stats(path: string): Promise<any> {
    const { status, body } = await this.call('GET', path);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
}
