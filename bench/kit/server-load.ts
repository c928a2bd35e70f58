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

const idleCheckMs = 100;
const idleChecksMax = 50;
/** A tenth of a core is what timers and the like may take. */
const idleCpuMs = 10;

const unknown = { cpuMs: Number.NaN, anonymousMb: Number.NaN, mappedMb: Number.NaN };

export async function loadServer(
  load: LoadRunner,
  { url, pid }: { readonly url: string; readonly pid: number },
  plan: Omit<LoadPlan, 'url'>,
): Promise<ServerLoadResult> {
  const before = usageOf(pid) ?? unknown;
  const result = await load({ ...plan, url });
  await untilIdle(pid);
  const { cpuMs, anonymousMb, mappedMb } = usageOf(pid) ?? unknown;
  return { ...result, cpuUs: ((cpuMs - before.cpuMs) * 1_000) / result.requests, anonymousMb, mappedMb };
}

/** Work that a server puts off is part of what a request costs, and must not weigh on whose turn is next. */
async function untilIdle(pid: number): Promise<void> {
  for (let check = 0; check < idleChecksMax; check += 1) {
    const before = usageOf(pid);
    await Bun.sleep(idleCheckMs);
    const after = usageOf(pid);
    if (before === undefined || after === undefined || after.cpuMs - before.cpuMs <= idleCpuMs) return;
  }
}
