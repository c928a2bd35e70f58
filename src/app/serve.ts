/** `terse serve` in one process: start, say where to click, and stop well when told to. */
import { systemClock } from '../base/clock.ts';
import { createLog } from '../ops/log.ts';
import { startTerse } from './compose.ts';
import type { Config } from './config.ts';
import { closeDataFiles } from './data-files.ts';
import { switchLogBySignal } from './log-switch.ts';
import { dutiesOf } from './roles.ts';
import { onSignals } from './stop-signals.ts';
import { untilStoreAnswers } from './store-before-serving.ts';
import { announce, curlTo, welcome } from './welcome.ts';

export async function serve(config: Config): Promise<void> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    write: text => process.stderr.write(text),
  });
  switchLogBySignal(log);
  closeDataFiles(config, log);
  const doors = () => [{ hostname: config.host, port: config.port }];
  const room = await untilStoreAnswers(config, { doors, log });
  const terse = await startTerse(config, log, { beforeListening: () => room.close() });
  onSignals(log, {
    stop: () => terse.stop(),
    replace() {
      if (terse.renewCertificate !== undefined) void terse.renewCertificate();
      else log.warn('SIGHUP replaces workers, and there are none', { workers: config.workers });
    },
  }).then(() => process.exit(0));
  // Last, because whoever reads that the server is ready may tell it to stop.
  await announce(welcome(terse.baseUrl, dutiesOf(config.roles)), terse.newAdminKey, {
    dataFolder: config.data,
    stdout: process.stdout,
    log,
    curl: curlTo(config, terse.server.port),
  });
}
