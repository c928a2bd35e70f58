/**
 * How the runtime's garbage collector works, which it reads from its environment when it begins, and never again. So a
 * server that was started without these settings begins once more with them, as the same process. Its threads have them
 * too, and so have its workers.
 *
 * By default a heap grows to up to six times of what is in use before old objects are looked at, and links in memory count
 * as heap. With these it is up to twice as much.
 */
import { type Environment, supervisedVariable } from '../config/sources.ts';

export const collectorSettings = {
  /** Of what is in use, how much may be added before it is collected. */
  BUN_JSC_heapGrowthMaxIncrease: '0.3',
  /** Old objects are looked at once there is less room than this share for new ones. */
  BUN_JSC_minEdenToOldGenerationRatio: '0.18',
} as const;

/** The environment to begin again with, with the operator's own settings; undefined when that is not needed. */
export function environmentToBeginWith(environment: Environment): Environment | undefined {
  // Beginning again would close the sockets of a worker, whose supervisor may be of an earlier version.
  if (environment[supervisedVariable] !== undefined) return undefined;
  const isComplete = Object.keys(collectorSettings).every(name => environment[name] !== undefined);
  return isComplete ? undefined : { ...collectorSettings, ...environment };
}

/** Does not return where the process begins again, about 20 ms of CPU time later. */
export function beginWithCollectorSettings(environment: Environment): void {
  const complete = environmentToBeginWith(environment);
  if (complete === undefined || process.execve === undefined || process.platform === 'win32') return;
  // What an operator preloads, or a debugger, may hold a socket or a file already.
  if (process.execArgv.length > 0) return;
  const [, script = '', ...args] = process.argv;
  // An executable is its own script.
  const start = Bun.isStandaloneExecutable ? [] : [script];
  try {
    process.execve(
      process.execPath,
      [process.execPath, ...start, ...args],
      complete as Record<string, string>,
    );
  } catch {
    // Where the system does not allow it, a server only takes more memory.
  }
}
