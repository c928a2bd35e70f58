/**
 * Terse with an injected fault: it never polls the change feed, as if every message about changes were lost. Otherwise
 * like `terse serve`.
 */

import { type Clock, systemClock } from '../../src/base/clock.ts';
import { startTerse } from '../../src/compose.ts';
import { environmentOfProcess, loadConfig } from '../../src/config/config.ts';
import { pollMsDefault } from '../../src/resolve/change-follower.ts';
import { createLog } from '../../src/telemetry/log.ts';

const deafClock: Clock = {
  ...systemClock,
  every: (periodMs, task) =>
    periodMs === pollMsDefault ? () => undefined : systemClock.every(periodMs, task),
};

const config = loadConfig({ argv: [], env: environmentOfProcess(), readFile: () => '{}' });
const log = createLog({
  level: config.logLevel,
  clock: systemClock,
  write: text => process.stderr.write(text),
});
const terse = await startTerse(config, log, { clock: deafClock });
process.on('SIGTERM', () => terse.stop().then(() => process.exit(0)));
process.stdout.write(`ready at http://localhost:${terse.server.port}\n`);
