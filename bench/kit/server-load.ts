/** One turn of load on a server whose process we know: what its clients saw, and what it cost the machine. */
import type { LoadPlan, LoadResult, LoadRunner } from './load.ts';
import { usageOf } from './process-usage.ts';

/** Where the system does not tell what a process costs, that part is NaN and shown as a dash. */
export interface ServerLoadResult extends LoadResult {
  /** CPU time of the server, all its threads, per request. */
  readonly cpuUs: number;
  readonly anonymousMb: number;
  readonly mappedMb: number;
}

const unknown = { cpuMs: Number.NaN, anonymousMb: Number.NaN, mappedMb: Number.NaN };

export async function loadServer(
  load: LoadRunner,
  { url, pid }: { readonly url: string; readonly pid: number },
  plan: Omit<LoadPlan, 'url'>,
): Promise<ServerLoadResult> {
  const before = usageOf(pid) ?? unknown;
  const result = await load({ ...plan, url });
  const { cpuMs, anonymousMb, mappedMb } = usageOf(pid) ?? unknown;
  return { ...result, cpuUs: ((cpuMs - before.cpuMs) * 1_000) / result.requests, anonymousMb, mappedMb };
}
