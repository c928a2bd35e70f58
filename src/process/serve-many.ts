/** `terse serve` with several workers: opens the port, starts the processes that serve it, and stops with them. */
import { stayAlive, systemClock } from '../base/clock.ts';
import { type Config, dutiesOf } from '../config/config.ts';
import { publicOrigin } from '../config/public-origin.ts';
import { openMetricsPort } from '../http/metrics-port.ts';
import { duplicateFd } from '../http/wire/listen-socket.ts';
import { createLog, switchLogBySignal } from '../telemetry/log.ts';
import { closeDataFiles } from './data-files.ts';
import { openListeningSockets } from './listening-socket.ts';
import { readIfPresent, workerCount } from './machine.ts';
import { createWorkerProcesses, type WorkerProcessOptions } from './running-worker.ts';
import { onSignals } from './shutdown.ts';
import { Supervisor, WorkerFailed } from './supervisor.ts';
import { untilStoreAnswers } from './waiting-room.ts';
import { welcome } from './welcome.ts';

export async function serveMany(
  config: Config,
  origin: Pick<WorkerProcessOptions, 'script' | 'flags' | 'environment'>,
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
      // New clients are refused instead of waiting forever.
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
  const listenAddresses = () => sockets.fds.map(fd => ({ fd: duplicateFd(fd), port: sockets.port }));
  try {
    const room = await untilStoreAnswers(config, { listenAddresses, log, isGivenUp: () => isStopping });
    // From now on clients wait in the sockets' queues, until a worker accepts them.
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
    log.finish();
  }
  return 0;
}
