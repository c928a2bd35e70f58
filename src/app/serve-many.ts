/** `terse serve` with several workers: opens the port, starts the processes that serve it, and stops with them. */
import { stayAlive, systemClock } from '../base/clock.ts';
import { createLog } from '../ops/log.ts';
import type { Config } from './config.ts';
import { openListeningSockets } from './listening-socket.ts';
import { readIfPresent } from './read-if-present.ts';
import { onSignals } from './stop-signals.ts';
import { Supervisor, WorkerFailed } from './supervisor.ts';
import { welcome } from './welcome.ts';
import { workerCount } from './worker-count.ts';
import { createWorkerProcesses, type WorkerProcessOptions } from './worker-process.ts';

export async function serveMany(
  config: Config,
  origin: Pick<WorkerProcessOptions, 'flags' | 'environment'>,
): Promise<number> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    write: text => process.stderr.write(text),
  });
  const count = workerCount(config.workers, readIfPresent);
  const sockets = openListeningSockets(config.host, config.port, count);
  const start = createWorkerProcesses({ ...origin, ...sockets });
  const supervisor = new Supervisor({ count, start, clock: systemClock, log });
  const letGo = stayAlive();
  let isStopping = false;
  const stopped = onSignals(log, {
    async stop() {
      isStopping = true;
      // Whoever comes now is refused instead of waiting for nobody.
      sockets.close();
      await supervisor.stop();
    },
    abandon: () => supervisor.abandon(),
    replace() {
      log.info('replacing the workers');
      supervisor.replaceAll();
    },
  });
  try {
    await supervisor.start();
    if (!isStopping) process.stdout.write(welcome(baseUrlOf(config, sockets.port), undefined));
    await stopped;
  } catch (error) {
    if (error instanceof WorkerFailed && error.hasSpoken) return error.exitCode;
    throw error;
  } finally {
    letGo();
    log.flush();
  }
  return 0;
}

function baseUrlOf({ sources, baseUrl }: Config, port: number): string {
  return sources.baseUrl === 'default' ? `http://localhost:${port}` : baseUrl;
}
