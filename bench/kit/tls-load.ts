/** Load over TLS with a handshake for every request, full or resumed, which no packaged generator offers. */
import { join } from 'node:path';
import { withRequestsFile } from './client-process.ts';
import { boundTo } from './cores.ts';
import type { LoadCounts, LoadRunner } from './load.ts';

export interface TlsPlan {
  readonly url: string;
  readonly requestsFile: string;
  readonly connections: number;
  readonly durationS: number;
  readonly isResumed: boolean;
}

/** Sends the first of the requests only. A handshake of the other kind ends the scenario, as a failure does. */
export function tlsRunner(folder: string, isResumed: boolean): LoadRunner {
  return ({ url, requests, connections, durationS, cores = [] }) =>
    withRequestsFile(folder, requests.slice(0, 1), async requestsFile => {
      const plan: TlsPlan = { url, requestsFile, connections, durationS, isResumed };
      const program = join(import.meta.dir, 'tls-client-process.ts');
      const client = Bun.spawn(boundTo(cores, [process.execPath, program, JSON.stringify(plan)]), {
        stdout: 'pipe',
        stderr: 'inherit',
      });
      const output = await new Response(client.stdout).text();
      if ((await client.exited) !== 0) throw new Error('the TLS load client failed');
      const { refusals, failures, ...result } = JSON.parse(output) as LoadCounts;
      if (result.requests === 0) throw new Error(`${url} answered nothing in ${durationS} s`);
      if (failures > 0) throw new Error(`${failures} of ${result.requests} requests to ${url} failed`);
      if (refusals > 0)
        throw new Error(`${refusals} handshakes were ${isResumed ? 'not resumed' : 'resumed'}`);
      return result;
    });
}
