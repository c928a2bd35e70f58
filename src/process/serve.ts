/** `terse serve` in one process: start, print the addresses, and stop gracefully on request. */
import type { NewAdminKey } from '../accounts/api-key.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Config, dutiesOf } from '../config/config.ts';
import type { HttpServer } from '../http/server.ts';
import { createLog, type Log, switchLogBySignal } from '../telemetry/log.ts';
import type { Metric } from '../telemetry/metrics.ts';
import { closeDataFiles } from './data-files.ts';
import { onSignals } from './shutdown.ts';
import type { WorkerPlace } from './supervised.ts';
import { untilStoreAnswers } from './waiting-room.ts';
import { announce, curlTo, welcome } from './welcome.ts';

export interface Terse {
  readonly server: HttpServer;
  readonly baseUrl: string;
  /** Set when this start created the first admin key, which only a process with the API does; to be shown once. */
  readonly newAdminKey: NewAdminKey | undefined;
  /** Finishes what is in progress, then closes everything. */
  stop(): Promise<void>;
  /** The same while other processes keep serving the port: no client is rejected during the handover. */
  retire(): Promise<void>;
  /** The metrics of this process. */
  metrics(): readonly Metric[];
  /** Serves another socket too, until the returned function is called. */
  serveAlso(fd: number): () => void;
  /** Checks the files of the certificate immediately; undefined where there is none. */
  readonly renewCertificate: (() => Promise<void>) | undefined;
}

export interface StartOptions {
  readonly clock?: Clock;
  /** Whose socket to serve, when a supervisor has opened them. */
  readonly place?: WorkerPlace;
  /** The process that holds the port until now releases it. */
  readonly beforeListening?: () => Promise<void>;
  /** The metrics to show, which are those of all workers; `own` are those of this process. */
  readonly metricsOfAll?: (own: () => readonly Metric[]) => Promise<readonly Metric[]>;
}

export type StartTerse = (config: Config, log: Log, options?: StartOptions) => Promise<Terse>;

export async function serve(config: Config, startTerse: StartTerse): Promise<void> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    write: text => process.stderr.write(text),
  });
  switchLogBySignal(log);
  closeDataFiles(config, log);
  const listenAddresses = () => [{ hostname: config.host, port: config.port }];
  const room = await untilStoreAnswers(config, { listenAddresses, log });
  const terse = await startTerse(config, log, { beforeListening: () => room.close() });
  onSignals(log, {
    stop: () => terse.stop(),
    replace() {
      if (terse.renewCertificate !== undefined) void terse.renewCertificate();
      else log.warn('SIGHUP restarts workers, and there are none', { workers: config.workers });
    },
  }).then(() => process.exit(0));
  // Last, because a process that reads that the server is ready may stop it.
  await announce(welcome(terse.baseUrl, dutiesOf(config.roles)), terse.newAdminKey, {
    dataFolder: config.data,
    stdout: process.stdout,
    log,
    curl: curlTo(config, terse.server.port),
  });
}
