/**
 * A process and all its descendants: a server is all processes that work for it. Read from /proc; on systems without it
 * a family is the process alone.
 */
import { readdirSync, readFileSync } from 'node:fs';

export function familyOf(pid: number): number[] {
  const byParent = Map.groupBy(everyProcess(), ({ parent }) => parent);
  const family = [pid];
  // Grows while it is iterated. No process is its own ancestor, so this ends.
  for (const member of family) family.push(...(byParent.get(member) ?? []).map(child => child.pid));
  return family;
}

export function childrenOf(pid: number): number[] {
  return everyProcess()
    .filter(({ parent }) => parent === pid)
    .map(child => child.pid);
}

/** False also for a zombie. */
export function isRunning(pid: number): boolean {
  return parentOf(String(pid)) !== undefined;
}

/** Whether no thread of it runs after SIGSTOP; also for one that has ended, and on systems without /proc. */
export function isStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every(thread => {
      const state = stateOf(`${pid}/task/${thread}`);
      return state === undefined || 'TtZX'.includes(state);
    });
  } catch {
    return true;
  }
}

function everyProcess(): { readonly pid: number; readonly parent: number }[] {
  try {
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .flatMap(name => {
        const parent = parentOf(name);
        return parent === undefined ? [] : [{ pid: Number(name), parent }];
      });
  } catch {
    return [];
  }
}

/** Undefined when the process has ended or is a zombie. */
function parentOf(name: string): number | undefined {
  try {
    const [state, parent] = fieldsOf(name);
    return state === 'Z' ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

function stateOf(name: string): string | undefined {
  try {
    return fieldsOf(name)[0];
  } catch {
    return undefined;
  }
}

function fieldsOf(name: string): string[] {
  const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
  // The name in parentheses may contain anything, so the fields are counted after it.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
