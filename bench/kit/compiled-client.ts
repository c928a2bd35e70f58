/**
 * The load client at a constant rate (paced-client.c), compiled when it is needed. It counts in shared memory; after
 * each interval its figures are added up here.
 */
import { cc, ptr } from 'bun:ffi';
import { join } from 'node:path';
import type { ClientPlan, ClientReport, Moment, OnMoment } from './client-plan.ts';
import { bucketCount, Histogram, subBucketCount } from './histogram.ts';

const source = join(import.meta.dir, 'paced-client.c');

const symbols = {
  load_begin: {
    args: ['u32', 'i32', 'ptr', 'ptr', 'i32', 'i32', 'i32', 'i32', 'i32', 'f64', 'f64', 'ptr'],
    returns: 'i32',
  },
  load_start: { args: ['f64', 'f64'], returns: 'void' },
  load_run: { args: ['f64', 'i32'], returns: 'f64' },
} as const;

type LoadFunctions = ReturnType<typeof cc<typeof symbols>>['symbols'];

export function compileClient(): LoadFunctions {
  if (process.platform !== 'linux') throw new Error('load at a constant rate needs Linux');
  const define = { BUCKETS: String(bucketCount), SUB_BUCKETS: String(subBucketCount) };
  return cc({ source, define, symbols }).symbols;
}

const statusCount = 1_000;
/** The counts after those by status, in their order. */
const sums = ['sent', 'broken', 'retried', 'gaveUp', 'withRetryAfter'] as const;
const lastCounts = [...sums, 'inFlightMax'] as const;
const tallyLength = 3 * (bucketCount + 1) + statusCount + lastCounts.length;

/** The memory that the machine code counts in: `struct tally`. */
class SharedTally {
  readonly #counts = new Uint32Array(tallyLength);
  readonly address = ptr(this.#counts);

  /** The latencies in the order of the structure: served answers, rejections, and the client's own delay. */
  latenciesOf(kind: 0 | 1 | 2): { readonly counts: Uint32Array; readonly maxUs: number } {
    const from = kind * (bucketCount + 1);
    return {
      counts: this.#counts.subarray(from, from + bucketCount),
      maxUs: this.#counts[from + bucketCount]!,
    };
  }

  get statuses(): Uint32Array {
    return this.#counts.subarray(3 * (bucketCount + 1)).subarray(0, statusCount);
  }

  last(name: (typeof lastCounts)[number]): number {
    return this.#counts[tallyLength - lastCounts.length + lastCounts.indexOf(name)]!;
  }

  clear(): void {
    this.#counts.fill(0);
  }
}

/** The sums of all intervals. */
class Sum {
  readonly served = new Histogram();
  readonly refused = new Histogram();
  readonly late = new Histogram();
  readonly statuses = new Float64Array(statusCount);
  readonly last = { sent: 0, broken: 0, retried: 0, gaveUp: 0, withRetryAfter: 0, inFlightMax: 0 };

  /** Adds the counts since the last call; returns the latencies of the answers served since then. */
  take(tally: SharedTally): Histogram {
    const served = new Histogram();
    [served, this.refused, this.late].forEach((histogram, kind) => {
      const { counts, maxUs } = tally.latenciesOf(kind as 0 | 1 | 2);
      histogram.addCounts(counts, maxUs);
      if (kind === 0) this.served.addCounts(counts, maxUs);
    });
    tally.statuses.forEach((count, status) => {
      this.statuses[status]! += count;
    });
    for (const name of sums) this.last[name] += tally.last(name);
    this.last.inFlightMax = Math.max(this.last.inFlightMax, tally.last('inFlightMax'));
    tally.clear();
    return served;
  }

  get statusCounts(): Record<string, number> {
    const met = Array.from(this.statuses, (count, status) => [status === 0 ? 'NaN' : status, count] as const);
    return Object.fromEntries(met.filter(([, count]) => count > 0));
  }
}

export async function runCompiledClient(
  load: LoadFunctions,
  plan: ClientPlan,
  onMoment: OnMoment,
): Promise<ClientReport> {
  const { perSecond, warmUpS, durationS, momentS, timeoutMs } = plan;
  const tally = new SharedTally();
  // Referenced until the end, because the machine code reads them.
  const { bytes, starts } = await readRequests(plan.requestsFile);
  const opened = load.load_begin(
    hostOf(plan.url),
    Number(new URL(plan.url).port),
    ptr(bytes),
    ptr(starts),
    starts.length - 1,
    plan.isKeptAlive ? plan.connections : 0,
    plan.connectionsMax,
    Number(plan.isKeptAlive),
    Number(plan.isSpinning),
    plan.unsentMaxMs * 1e6,
    timeoutMs * 1e6,
    tally.address,
  );
  if (plan.isKeptAlive && opened < plan.connections) throw new Error(`nobody listens at ${plan.url}`);
  const runUntil = (untilS: number, endsWhenDone: boolean): void => {
    const result = load.load_run(untilS * 1e9, Number(endsWhenDone));
    if (result < 0) throw new Error('the load client cannot read a chunked answer');
  };
  load.load_start(perSecond, Math.round(perSecond * (warmUpS + durationS)));
  const endedAtMs = Date.now() + (warmUpS + durationS) * 1_000;
  runUntil(warmUpS, false);
  tally.clear();
  const sum = new Sum();
  const moments: Moment[] = [];
  for (let ended = 1; ended * momentS <= durationS; ended += 1) {
    const atS = ended * momentS;
    runUntil(warmUpS + atS, false);
    const { refused, last } = sum;
    const before = { refused: refused.count, broken: last.broken, gaveUp: last.gaveUp };
    const { count, p50Ms, p99Ms, maxMs } = sum.take(tally).latencies();
    moments.push({
      atS,
      served: count,
      refused: refused.count - before.refused,
      broken: last.broken - before.broken,
      gaveUp: last.gaveUp - before.gaveUp,
      p50Ms,
      p99Ms,
      maxMs,
    });
    onMoment(moments.at(-1)!);
  }
  runUntil(warmUpS + durationS, false);
  sum.take(tally);
  const inTime = sum.served.count;
  runUntil(warmUpS + durationS + (2 * timeoutMs) / 1_000, true);
  sum.take(tally);
  return {
    ...sum.last,
    served: sum.served.latencies(),
    refused: sum.refused.latencies(),
    statuses: sum.statusCounts,
    servedPerSecond: inTime / durationS,
    lagP99Ms: sum.late.quantileUs(0.99) / 1_000,
    lagMaxMs: sum.late.maxUs / 1_000,
    moments,
    durationS,
    endedAtMs,
  };
}

async function readRequests(path: string): Promise<{ bytes: Uint8Array; starts: Uint32Array }> {
  const bytes = await Bun.file(path).bytes();
  const starts = [0];
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, end + 1)) starts.push(end + 1);
  // As if there were one more separator after the last request.
  starts.push(bytes.length + 1);
  return { bytes, starts: Uint32Array.from(starts) };
}

/** The address in the order in which its bytes are sent. */
function hostOf(url: string): number {
  const { hostname } = new URL(url);
  const parts = (hostname === 'localhost' ? '127.0.0.1' : hostname).split('.').map(Number);
  if (parts.length !== 4) throw new Error(`the load client needs an address, not ${hostname}`);
  return new Uint32Array(Uint8Array.from(parts).buffer)[0]!;
}
