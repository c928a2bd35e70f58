/**
 * Ends the engines that a test process leaves behind, however that ended. It reads the processes to watch from its
 * standard input, whose end means that the test process has ended. That works for any user and also after a kill.
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { familyOf } from '../../../bench/kit/process-family.ts';
import type { WatchedEngine } from './watchdog.ts';

// A signal may go to the whole process group, but then the watchdog still has to end the engines.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);

const watched = new Map<string, number | undefined>();

for await (const line of createInterface({ input: process.stdin })) {
  const { folder, pid, isOver }: WatchedEngine = JSON.parse(line);
  if (isOver === true) watched.delete(folder);
  else watched.set(folder, pid);
}

for (const [folder, pid] of watched) {
  if (pid !== undefined) for (const member of familyOf(pid)) endAtOnce(member);
  // One that is just ending still writes there.
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

function endAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
