/**
 * Assigns cores. A server gets separate cores from the load, so that they do not affect each other. With too few cores,
 * or no way to bind to them, both share all cores.
 */
import { readFileSync } from 'node:fs';

export interface Cores {
  readonly server: readonly number[];
  readonly load: readonly number[];
  /** Whether the load takes CPU time from the server. */
  readonly areShared: boolean;
}

/** The cores that this process may use; empty if the system does not report them or cannot bind. */
export function allowedCores(): readonly number[] {
  if (Bun.which('taskset') === null) return [];
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    return parseCoreList(/^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '');
  } catch {
    return [];
  }
}

/** Reads what the kernel writes: `0-3,8`. */
export function parseCoreList(text: string): number[] {
  return text
    .split(',')
    .filter(part => part !== '')
    .flatMap(part => {
      const [first = Number.NaN, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, step) => first + step);
    });
}

export function splitCores(allowed: readonly number[], forServer: number): Cores {
  if (allowed.length <= forServer) return { server: allowed, load: allowed, areShared: true };
  return { server: allowed.slice(0, forServer), load: allowed.slice(forServer), areShared: false };
}

/** The same command, bound to these cores with all that it starts. */
export function boundTo(cores: readonly number[], command: readonly string[]): string[] {
  return cores.length === 0 ? [...command] : ['taskset', '--cpu-list', cores.join(','), ...command];
}
