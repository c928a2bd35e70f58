/** What a process has cost so far, from /proc; undefined where the system has no such thing. */
import { readFileSync } from 'node:fs';

export interface ProcessUsage {
  /** Of all its threads, in user and in system mode. */
  readonly cpuMs: number;
  readonly residentMb: number;
  /** Its own memory: heap, stacks, caches. */
  readonly anonymousMb: number;
  /** Pages of files it has mapped, such as the database; the kernel takes them back when it needs them. */
  readonly mappedMb: number;
}

/** The unit of CPU time in /proc is a hundredth of a second on every Linux. */
const tickMs = 10;

export function usageOf(pid: number): ProcessUsage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mb = (field: string): number =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024;
    return {
      cpuMs: cpuMsOf(readFileSync(`/proc/${pid}/stat`, 'utf8')),
      residentMb: mb('VmRSS'),
      anonymousMb: mb('RssAnon'),
      mappedMb: mb('RssFile'),
    };
  } catch {
    return undefined;
  }
}

/** The name in parentheses may contain anything, so the fields are counted from behind it. */
function cpuMsOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const userTicks = Number(fields[11]);
  const systemTicks = Number(fields[12]);
  return (userTicks + systemTicks) * tickMs;
}
