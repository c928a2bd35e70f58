/** The workers of a Terse that has several: who they are, and who of them serves whom. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { childrenOf } from '../../bench/kit/process-family.ts';
import type { TerseProcess } from './terse-process.ts';

export const workersOf = ({ pid }: Pick<TerseProcess, 'pid'>): number[] => childrenOf(pid);

const waitMaxMs = 60_000;
const pollMs = 20;

/** Generous on purpose: it only ends a wait for what never comes. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const startedMs = performance.now(); !(await isSo()); await Bun.sleep(pollMs)) {
    if (performance.now() - startedMs > waitMaxMs) throw new Error(`${what} did not come`);
  }
}

/** Whether a process is there and has not ended. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const establishedState = '01';

/** How many clients of `url` a process has. */
export function clientsOf(pid: number, url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const inodes = new Set<string>();
  for (const line of readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    const [, local, , state] = fields;
    if (local?.endsWith(`:${port}`) && state === establishedState) inodes.add(`socket:[${fields[9]}]`);
  }
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter(fd => inodes.has(linkOf(`${folder}/${fd}`))).length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** What a scrape shows, by name and labels as they are written. A connection of its own, so any worker may answer. */
export async function scrape(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`, { headers: { Connection: 'close' } })).text();
  return new Map(
    text
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
      .map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}
