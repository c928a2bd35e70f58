/** `terse serve`: start, say where to click, and stop well when told to. */
import { systemClock } from '../base/clock.ts';
import { createLog } from '../ops/log.ts';
import { startTerse } from './compose.ts';
import type { Config } from './config.ts';

export async function serve(config: Config): Promise<void> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    write: text => process.stderr.write(text),
  });
  const terse = await startTerse(config, log);

  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    log.info('stopping', { signal });
    terse.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // Last, because whoever reads that the server is ready may tell it to stop.
  process.stdout.write(welcome(terse.baseUrl, terse.newAdminKey));
}

function welcome(baseUrl: string, adminKey: string | undefined): string {
  const lines = ['', `  Terse is ready at ${baseUrl}`, `  API reference at  ${baseUrl}/docs`, ''];
  if (adminKey !== undefined) {
    lines.push(
      '  Your admin key, shown this once:',
      '',
      `    ${adminKey}`,
      '',
      `  Try: TERSE_KEY=${adminKey} npx terse shorten https://example.com/`,
      '',
    );
  }
  return `${lines.join('\n')}\n`;
}
