/** Registers engines with the watchdog, one per test process, so that they do not outlive us. */
import { join } from 'node:path';

export interface WatchedEngine {
  /** The engine's own folder, which names it; removed when we have ended. */
  readonly folder: string;
  /** Absent while it does not run. */
  readonly pid?: number;
  /** The engine has ended and its folder is removed. */
  readonly isOver?: true;
}

let watchdog: Bun.Subprocess<'pipe', 'ignore', 'inherit'> | undefined;

export function tellWatchdog(engine: WatchedEngine): void {
  watchdog ??= startWatchdog();
  watchdog.stdin.write(`${JSON.stringify(engine)}\n`);
  watchdog.stdin.flush();
}

function startWatchdog(): Bun.Subprocess<'pipe', 'ignore', 'inherit'> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'watchdog-process.ts')], {
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'inherit',
    // An interrupt from the terminal goes to the whole group, but the watchdog must survive it.
    detached: true,
  });
  child.unref();
  child.stdin.unref();
  return child;
}
