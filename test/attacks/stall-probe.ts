/**
 * Preloaded into a server, this measures how long its event loop is blocked: the CPU time of the main thread between
 * two ticks of a timer. Unlike wall-clock time, that does not grow when other processes use the machine. A GET on the
 * socket in STALL_PROBE_SOCKET returns the longest stall since the last request.
 */
import { dlopen } from 'bun:ffi';

const threadCpuClock = 3;
const tickMs = 1;

const { symbols } = dlopen('libc.so.6', { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
const reading = new BigInt64Array(2);

function cpuMs(): number {
  symbols.clock_gettime(threadCpuClock, reading);
  return Number(reading[0]) * 1_000 + Number(reading[1]) / 1_000_000;
}

let lastMs = cpuMs();
let worstMs = 0;

function tick(): void {
  const nowMs = cpuMs();
  worstMs = Math.max(worstMs, nowMs - lastMs);
  lastMs = nowMs;
}

setInterval(tick, tickMs).unref();

Bun.serve({
  unix: process.env.STALL_PROBE_SOCKET!,
  fetch() {
    tick();
    const answer = Response.json({ worstMs });
    worstMs = 0;
    return answer;
  },
});
