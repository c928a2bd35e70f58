/** The CPU time and memory of a process and its descendants, from /proc; undefined on systems without it. */
import { readFileSync } from 'node:fs';
import { familyOf } from './process-family.ts';

export interface ProcessUsage {
  /** CPU time of all threads, in user and in system mode, including children that have ended. */
  readonly cpuMs: number;
  readonly residentMb: number;
  /** The maximum of resident memory. */
  readonly peakMb: number;
  /** Their own memory: heap, stacks, caches. */
  readonly anonymousMb: number;
  /** Pages of files they have mapped, such as the database; the kernel takes them back when it needs them. */
  readonly mappedMb: number;
}

/** The unit of CPU time in /proc is a hundredth of a second on every Linux. */
const tickMs = 10;

/** Of the process and its whole family, because a request may be answered by one and recorded by another. */
export function usageOf(pid: number): ProcessUsage | undefined {
  const members = familyOf(pid).flatMap(member => usageOfOne(member) ?? []);
  if (members.length === 0) return undefined;
  return members.reduce((sum, usage) => ({
    cpuMs: sum.cpuMs + usage.cpuMs,
    residentMb: sum.residentMb + usage.residentMb,
    peakMb: sum.peakMb + usage.peakMb,
    anonymousMb: sum.anonymousMb + usage.anonymousMb,
    mappedMb: sum.mappedMb + usage.mappedMb,
  }));
}

function usageOfOne(pid: number): ProcessUsage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mb = (field: string): number =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024;
    return {
      cpuMs: cpuMsOf(readFileSync(`/proc/${pid}/stat`, 'utf8')),
      residentMb: mb('VmRSS'),
      peakMb: mb('VmHWM'),
      anonymousMb: mb('RssAnon'),
      mappedMb: mb('RssFile'),
    };
  } catch {
    return undefined;
  }
}

/** The name in parentheses may contain anything, so the fields are counted after it. */
function cpuMsOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
  return (user! + system! + endedUser! + endedSystem!) * tickMs;
}

/** Bytes that a process has written to pages of files so far; NaN on systems that do not say. */
export function writtenBy(pid: number): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
  } catch {
    return Number.NaN;
  }
}
