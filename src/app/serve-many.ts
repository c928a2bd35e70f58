/** `terse serve` with several workers: opens the port, starts the processes that serve it, and stops with them. */
import { availableParallelism } from 'node:os';
import { stayAlive, systemClock } from '../base/clock.ts';
import { createLog, describeFailure } from '../ops/log.ts';
import { type Config, ConfigError } from './config.ts';
import { openListeningSockets } from './listening-socket.ts';
import { onStopSignals } from './stop-signals.ts';
import { placeText, type SupervisorMessage, supervisedVariable, type WorkerMessage } from './supervision.ts';
import { Supervisor, type Worker, WorkerFailed } from './supervisor.ts';
import { welcome } from './welcome.ts';

/** The place of the socket among a worker's descriptors: the first after the standard ones. */
const workerFd = 3;

export const workerCount = (workers: Config['workers']): number =>
  workers === 'auto' ? availableParallelism() : workers;

/** `flags` and `environment` are this process's own; a worker reads the same settings from them. */
export async function serveMany(
  config: Config,
  flags: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  if (config.links === 'memory') {
    throw new ConfigError(
      'links=memory is not allowed with several workers: each would have links of its own',
    );
  }
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    write: text => process.stderr.write(text),
  });
  const count = workerCount(config.workers);
  const { port, fds } = openListeningSockets(config.host, config.port, count);
  const entry = new URL('../main.ts', import.meta.url).pathname;
  const start = (place: number, onMessage: (message: WorkerMessage) => void): Worker => {
    const child = Bun.spawn([process.execPath, entry, 'serve', ...flags], {
      stdio: ['ignore', 'inherit', 'inherit', fds[place]!],
      env: { ...environment, [supervisedVariable]: placeText({ fd: workerFd, port }) },
      ipc: message => onMessage(message as WorkerMessage),
    });
    return {
      pid: child.pid,
      exited: child.exited.then(code => child.signalCode ?? code),
      retire: () => child.send({ kind: 'retire' } satisfies SupervisorMessage),
      kill: signal => child.kill(signal),
    };
  };
  const supervisor = new Supervisor({ count, start, clock: systemClock, log });
  const letGo = stayAlive();
  const stopped = onStopSignals(log, () => supervisor.stop());
  process.on('SIGHUP', () => {
    log.info('replacing the workers');
    supervisor
      .replaceAll()
      .catch(error => log.error('the workers were not replaced', { failure: describeFailure(error) }));
  });
  try {
    await supervisor.start();
  } catch (error) {
    if (!(error instanceof WorkerFailed)) throw error;
    letGo();
    return error.exitCode;
  }
  const baseUrl = config.sources.baseUrl === 'default' ? `http://localhost:${port}` : config.baseUrl;
  process.stdout.write(welcome(baseUrl, undefined));
  await stopped;
  letGo();
  return 0;
}
