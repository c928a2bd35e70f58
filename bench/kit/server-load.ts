/** One turn of load on a server whose process we know: what its clients saw, and what it cost the machine. */
import { type ClickAccount, reconcileAt } from '../../test/kit/click-account.ts';
import type { LoadPlan, LoadResult, LoadRunner } from './load.ts';
import { usageOf } from './process-usage.ts';

export interface LoadedServer {
  readonly url: string;
  /** The main process; its descendants count as well. */
  readonly pid: number;
}

/** Figures that the system does not report are NaN and shown as a dash. */
export interface ServerCost {
  /** CPU time of the server, all its processes and threads, per request. */
  readonly cpuUs: number;
  readonly residentMb: number;
  readonly anonymousMb: number;
  readonly mappedMb: number;
}

export interface ServerLoadResult extends LoadResult, ServerCost {}

const idleCheckMs = 100;
const idleChecksMax = 50;
/** An idle server may use a tenth of a core for timers. */
const idleCpuMs = 10;

const unknown = {
  cpuMs: Number.NaN,
  residentMb: Number.NaN,
  anonymousMb: Number.NaN,
  mappedMb: Number.NaN,
};

export async function loadServer(
  load: LoadRunner,
  server: LoadedServer,
  plan: Omit<LoadPlan, 'url'>,
): Promise<ServerLoadResult> {
  const meter = startMeter(server.pid);
  const result = await load({ ...plan, url: server.url });
  return { ...result, ...(await meter.stop(result.requests)) };
}

/** Counts from now until the server has nothing left to do. */
export function startMeter(pid: number) {
  const before = usageOf(pid) ?? unknown;
  return {
    /** The share of one core that was used since the start. */
    coreShare(durationS: number): number {
      return ((usageOf(pid) ?? unknown).cpuMs - before.cpuMs) / (durationS * 1_000);
    },
    async stop(requests: number): Promise<ServerCost> {
      await untilIdle(pid);
      const { cpuMs, residentMb, anonymousMb, mappedMb } = usageOf(pid) ?? unknown;
      return { residentMb, anonymousMb, mappedMb, cpuUs: ((cpuMs - before.cpuMs) * 1_000) / requests };
    },
  };
}

/** Waits for deferred work, which is part of a request's cost and must not affect the next contender. */
export async function untilIdle(pid: number): Promise<void> {
  for (let check = 0; check < idleChecksMax; check += 1) {
    const before = usageOf(pid);
    await Bun.sleep(idleCheckMs);
    const after = usageOf(pid);
    if (before === undefined || after === undefined || after.cpuMs - before.cpuMs <= idleCpuMs) return;
  }
}

const countedCheckMs = 200;
const countedMaxMs = 120_000;

/** Waits until every click was counted, and the server has nothing left to do. */
export async function untilCounted({ url, pid }: LoadedServer): Promise<ClickAccount> {
  for (const untilMs = performance.now() + countedMaxMs; ; await Bun.sleep(countedCheckMs)) {
    const { totals } = await reconcileAt(url);
    if (totals.pending > 0 && performance.now() < untilMs) continue;
    await untilIdle(pid);
    return totals;
  }
}
