/** The TLS load client (tls-client.c) in a separate process. It prints one line of JSON at the end. */
import { cc, ptr } from 'bun:ffi';
import { join } from 'node:path';
import type { LoadCounts } from './load.ts';
import type { TlsPlan } from './tls-load.ts';

const { url, requestsFile, connections, durationS, isResumed } = JSON.parse(process.argv[2]!) as TlsPlan;
const { symbols } = cc({
  source: join(import.meta.dir, 'tls-client.c'),
  symbols: {
    tls_load: {
      args: ['u32', 'i32', 'ptr', 'i32', 'i32', 'i32', 'f64', 'ptr', 'ptr', 'i32'],
      returns: 'i32',
    },
  },
});
const { hostname, port } = new URL(url);
const host = new Uint32Array(Uint8Array.from(hostname.split('.').map(Number)).buffer)[0]!;
const request = await Bun.file(requestsFile).bytes();
const latenciesEach = 100_000;
const tally = new Int32Array(3 * connections);
const latencies = new Float32Array(latenciesEach * connections);
const failure = symbols.tls_load(
  host,
  Number(port),
  ptr(request),
  request.length,
  connections,
  Number(isResumed),
  durationS * 1e9,
  ptr(tally),
  ptr(latencies),
  latenciesEach,
);
if (failure !== 0) throw new Error('OpenSSL 3 is not installed');
const sumOf = (kind: number): number =>
  tally.filter((_, index) => index % 3 === kind).reduce((sum, count) => sum + count, 0);
const [served, failed, resumed] = [sumOf(0), sumOf(1), sumOf(2)];
const sorted = Float32Array.from(
  Array.from({ length: connections }, (_, visitor) => [
    ...latencies.subarray(visitor * latenciesEach, visitor * latenciesEach + tally[visitor * 3]!),
  ]).flat(),
).sort();
const quantileMs = (share: number): number =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) / 1_000;
// The first visit of each visitor has nothing to resume.
const wrong = isResumed ? served - resumed - connections : resumed;
const counts: LoadCounts = {
  requests: served,
  perSecond: served / durationS,
  p50Ms: quantileMs(0.5),
  p99Ms: quantileMs(0.99),
  p999Ms: quantileMs(0.999),
  maxMs: quantileMs(1),
  refusals: Math.max(0, wrong),
  failures: failed,
};
process.stdout.write(JSON.stringify(counts));
