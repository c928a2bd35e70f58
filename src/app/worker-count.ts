/** How many workers there are to be: as many as said, or one for each core that this process may use. */
import { availableParallelism } from 'node:os';
import type { Config } from './config.ts';

/** What a container may use of the machine, in microseconds of a processor per period; `max` for all of it. */
const quotaFile = '/sys/fs/cgroup/cpu.max';

export function workerCount(
  workers: Config['workers'],
  readFile: (path: string) => string | undefined,
  cores = availableParallelism(),
): number {
  if (workers !== 'auto') return workers;
  const [quota, period] = (readFile(quotaFile) ?? '').trim().split(' ').map(Number);
  const share = quota !== undefined && period !== undefined ? quota / period : Number.NaN;
  return share > 0 ? Math.max(1, Math.min(cores, Math.round(share))) : cores;
}
