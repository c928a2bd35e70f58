/**
 * Load over keep-alive connections: each sends its next request as soon as the last was answered. The requests
 * are ready-made bytes, so that a client spends its time on the wire. `wrk` drives it where it can be had,
 * because it leaves more of a small machine to the server; our own client does otherwise. Both correct latencies
 * for what a stall kept from being sent, so one long stall shows in the p99.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { adminKey } from '../../test/kit/terse-process.ts';
import { runWrk, type Wrk } from './wrk.ts';

export interface LoadPlan {
  readonly url: string;
  readonly connections: number;
  /** Whole seconds; `wrk` knows no others. */
  readonly durationS: number;
  /** Raw HTTP/1.1 requests, sent in turn over and over. */
  readonly requests: readonly string[];
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** Answers of 400 and above, and connections that broke. */
  readonly failures: number;
}

/** What a client process is given: the plan with its requests in a file, one after the other, NUL between. */
export interface ClientPlan extends Omit<LoadPlan, 'requests'> {
  readonly requestsFile: string;
}

export type LoadRunner = (plan: LoadPlan) => Promise<LoadResult>;

/** A figure made of refusals would be worse than none, so any failure ends the scenario. */
export function loadRunner(wrk: Wrk | undefined, folder: string): LoadRunner {
  return async ({ requests, ...plan }) => {
    const requestsFile = join(folder, `requests-${process.pid}-${Bun.nanoseconds()}`);
    await Bun.write(requestsFile, requests.join('\0'));
    try {
      const clientPlan = { ...plan, requestsFile };
      const result = await (wrk === undefined ? runOwnClient(clientPlan) : runWrk(wrk, clientPlan));
      if (result.requests === 0) throw new Error(`${plan.url} answered nothing in ${plan.durationS} s`);
      if (result.failures > 0) {
        throw new Error(`${result.failures} of ${result.requests} requests to ${plan.url} failed`);
      }
      return result;
    } finally {
      rmSync(requestsFile, { force: true });
    }
  };
}

async function runOwnClient(plan: ClientPlan): Promise<LoadResult> {
  const client = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'own-client-process.ts'), JSON.stringify(plan)],
    {
      stdout: 'pipe',
      stderr: 'pipe',
    },
  );
  const [output, errors] = await Promise.all([
    new Response(client.stdout).text(),
    new Response(client.stderr).text(),
  ]);
  if ((await client.exited) !== 0) throw new Error(`the load client failed: ${errors}`);
  return JSON.parse(output) as LoadResult;
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
