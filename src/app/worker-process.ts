/** Starts a worker: the same program again, with the sockets of all places right after the standard streams. */
import type { StartWorker } from './running-worker.ts';
import { placeText, supervisedVariable, type WorkerMessage } from './supervision.ts';

export interface WorkerProcessOptions {
  /** This process's own flags and environment: a worker reads the same settings from them. */
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly port: number;
  readonly fds: readonly number[];
}

/** An executable is its own script. */
const program = Bun.isStandaloneExecutable
  ? [process.execPath]
  : [process.execPath, new URL('../main.ts', import.meta.url).pathname];

export function createWorkerProcesses({ flags, environment, port, fds }: WorkerProcessOptions): StartWorker {
  return (index, onMessage) => {
    const child = Bun.spawn([...program, 'serve', ...flags], {
      stdio: ['ignore', 'inherit', 'inherit', ...fds],
      env: { ...environment, [supervisedVariable]: placeText({ index, count: fds.length, port }) },
      ipc: message => onMessage(message as WorkerMessage),
    });
    return {
      pid: child.pid,
      exited: child.exited.then(code => child.signalCode ?? code),
      send: message => child.send(message),
      kill: signal => child.kill(signal),
    };
  };
}
