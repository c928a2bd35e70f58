/**
 * Writes a CPU profile of each thread of a server, for `flame-graph.ts` and browsers. Used as Bun's `--preload`,
 * because `--cpu-prof` sees only the main thread. Threads write when the file `write` appears in the folder, because a
 * terminated thread cannot write at its end.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { basename, join } from 'node:path';

export const profileFolderVariable = 'BENCH_PROFILE_FOLDER';
const folder = process.env[profileFolderVariable];
const askedEveryMs = 200;

if (folder !== undefined) {
  const name = Bun.isMainThread ? 'main' : basename(Bun.main, '.ts');
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 200 });
  session.post('Profiler.start');
  const timer = setInterval(() => {
    if (!existsSync(join(folder, 'write'))) return;
    clearInterval(timer);
    session.post('Profiler.stop', (_error: Error | null, { profile }: { profile: unknown }) =>
      writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(profile)),
    );
  }, askedEveryMs);
  timer.unref();
  if (Bun.isMainThread) {
    const { Worker: OfRuntime } = globalThis;
    globalThis.Worker = class extends OfRuntime {
      constructor(entry: string | URL, options: WorkerOptions = {}) {
        super(entry, { ...options, preload: [import.meta.path] } as WorkerOptions);
      }
    };
  }
}
