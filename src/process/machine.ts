/** What the machine allows this process: open connections, and cores for workers. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Config } from '../config/config.ts';

/** For databases, logs, threads and clients that are being rejected. */
const keptBack = 700;
/** Of those, for everything but clients. */
const ownFiles = 200;
const connectionsMin = 16;
/** As many as the system may have accepted for us when this process gets its turn. */
const burstMax = 4_096;

export interface ConnectionLimits {
  readonly connectionsMax: number;
  /** Connections beyond that whose request is still read before they are closed. */
  readonly reserveMax: number;
}

/**
 * What the operator allows, or less where the system gives this process fewer file descriptors. `limits` is the text
 * of /proc/self/limits; undefined where there is none.
 */
export function connectionLimits(wanted: number, limits: string | undefined): ConnectionLimits {
  const allowed = /^Max open files +(\d+|unlimited)/m.exec(limits ?? '')?.[1];
  if (allowed === undefined || allowed === 'unlimited')
    return { connectionsMax: wanted, reserveMax: burstMax };
  const files = Number(allowed);
  // Where there are few, half are reserved.
  const most = files - Math.min(keptBack, Math.floor(files / 2));
  const connectionsMax = Math.max(connectionsMin, Math.min(wanted, most));
  const left = files - connectionsMax - Math.min(ownFiles, Math.floor(files / 3));
  return { connectionsMax, reserveMax: Math.max(1, Math.min(burstMax, left)) };
}

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

/** The text of a file that a system may not have, or not show. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
