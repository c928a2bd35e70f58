/**
 * Load over keep-alive connections: each sends its next request as soon as the last was answered. The requests are
 * ready-made bytes, so that the client, wrk, spends its time on the wire. Latencies are corrected for requests that a
 * stall kept from being sent, so one long stall shows in the p99.
 */
import { adminKey } from '../../test/kit/terse-process.ts';
import { withRequestsFile } from './client-process.ts';
import { runWrk, type Wrk } from './wrk.ts';

export interface LoadPlan {
  readonly url: string;
  readonly connections: number;
  /** Whole seconds; `wrk` knows no others. */
  readonly durationS: number;
  /** Raw HTTP/1.1 requests, sent in turn over and over. */
  readonly requests: readonly string[];
  /** Whether every answer must be accepted (below 400, the default) or refused. */
  readonly answers?: 'accepted' | 'refused';
  /** The cores of the load, with one thread each. */
  readonly cores?: readonly number[];
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/** The results of a client, before they are checked. */
export interface LoadCounts extends LoadResult {
  /** Answers of 400 and above. */
  readonly refusals: number;
  /** Broken connections and invalid answers. */
  readonly failures: number;
}

export type LoadRunner = (plan: LoadPlan) => Promise<LoadResult>;

/** Any answer of the other kind ends the scenario, because it would falsify the figures. */
export function loadRunner(wrk: Wrk, folder: string): LoadRunner {
  return ({ requests, answers = 'accepted', cores = [], ...plan }) =>
    withRequestsFile(folder, requests, async requestsFile => {
      const { refusals, failures, ...result } = await runWrk(wrk, { ...plan, requestsFile, cores });
      if (result.requests === 0) throw new Error(`${plan.url} answered nothing in ${plan.durationS} s`);
      const wrong = failures + (answers === 'accepted' ? refusals : result.requests - refusals);
      if (wrong > 0) throw new Error(`${wrong} of ${result.requests} requests to ${plan.url} failed`);
      return result;
    });
}

export function getRequest(path: string, headers: Readonly<Record<string, string>> = {}): string {
  return `GET ${path} HTTP/1.1\r\n${headerLines({ Host: 'localhost', ...headers })}\r\n`;
}

export function postRequest(
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): string {
  const json = JSON.stringify(body);
  const all = {
    Host: 'localhost',
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(json)),
    ...headers,
  };
  return `POST ${path} HTTP/1.1\r\n${headerLines(all)}\r\n${json}`;
}

export const asAdmin = { Authorization: `Bearer ${adminKey}` } as const;

function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}
