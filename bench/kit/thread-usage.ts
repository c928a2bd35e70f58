/** CPU time of single threads of a process, from /proc; empty on systems without it. */
import { readdirSync, readFileSync } from 'node:fs';

/** The unit of CPU time in /proc is a hundredth of a second on every Linux. */
const tickMs = 10;

/** CPU time by thread, of those threads that run a `Worker`. */
export function workerCpuMs(pid: number): Map<string, number> {
  const usage = new Map<string, number>();
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      const nameEnd = stat.lastIndexOf(')');
      if (stat.slice(stat.indexOf('(') + 1, nameEnd) !== 'Worker') continue;
      const fields = stat.slice(nameEnd + 2).split(' ');
      usage.set(thread, (Number(fields[11]) + Number(fields[12])) * tickMs);
    }
  } catch {
    // A thread may end meanwhile, and other systems do not list threads.
  }
  return usage;
}

/** How much the busiest thread has worked between two looks; NaN when there were none. */
export function busiestSince(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): number {
  const spent = [...after].map(([thread, cpuMs]) => cpuMs - (before.get(thread) ?? 0));
  return spent.length === 0 ? Number.NaN : Math.max(...spent);
}
