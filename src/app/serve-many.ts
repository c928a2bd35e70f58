/** `terse serve` with several workers: opens the port, starts the processes that serve it, and stops with them. */
import { stayAlive, systemClock } from '../base/clock.ts';
import { duplicateFd } from '../http/wire/duplicate-fd.ts';
import { createLog } from '../ops/log.ts';
import type { Config } from './config.ts';
import { closeDataFiles } from './data-files.ts';
import { openListeningSockets } from './listening-socket.ts';
import { switchLogBySignal } from './log-switch.ts';
import { openMetricsPort } from './metrics-port.ts';
import { publicOrigin } from './public-origin.ts';
import { readIfPresent } from './read-if-present.ts';
import { dutiesOf } from './roles.ts';
import { onSignals } from './stop-signals.ts';
import { untilStoreAnswers } from './store-before-serving.ts';
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
  closeDataFiles(config, log);
  const count = workerCount(config.workers, readIfPresent);
  const sockets = openListeningSockets(config.host, config.port, count);
  const start = createWorkerProcesses({ ...origin, ...sockets });
  const supervisor = new Supervisor({ count, start, clock: systemClock, log });
  const closeMetricsPort = openMetricsPort(config, {
    metrics: () => supervisor.metricsOfAll(),
    clock: systemClock,
    log,
  });
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
  switchLogBySignal(log, level => supervisor.setLogLevel(level));
  const doors = () => sockets.fds.map(fd => ({ fd: duplicateFd(fd), port: sockets.port }));
  try {
    const room = await untilStoreAnswers(config, { doors, log, isGivenUp: () => isStopping });
    // From now on they wait in the sockets' queues, until a worker is there for them.
    await room.close();
    if (!isStopping) await supervisor.start();
    if (!isStopping)
      process.stdout.write(welcome(publicOrigin(config, sockets.port), dutiesOf(config.roles)));
    await stopped;
  } catch (error) {
    if (error instanceof WorkerFailed && error.hasSpoken) return error.exitCode;
    throw error;
  } finally {
    await closeMetricsPort();
    letGo();
    log.flush();
  }
  return 0;
}
