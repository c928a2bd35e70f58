/** `terse serve`: start, say where to click, and stop well when told to. */
import { systemClock } from '../base/clock.ts';
import { createLog, describeFailure } from '../ops/log.ts';
import { startTerse } from './compose.ts';
import type { Config } from './config.ts';

/** A terminal and whatever started the server may both pass one signal on; a later one is somebody out of patience. */
const sameWishMs = 500;

export async function serve(config: Config): Promise<void> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    write: text => process.stderr.write(text),
  });
  const terse = await startTerse(config, log);

  let toldAtMs: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    const nowMs = systemClock.monotonicMs();
    if (toldAtMs !== undefined) {
      if (nowMs - toldAtMs > sameWishMs) process.exit(1);
      return;
    }
    toldAtMs = nowMs;
    log.info('stopping', { signal });
    terse.stop().then(
      () => process.exit(0),
      error => {
        log.error('the server did not stop well', { failure: describeFailure(error) });
        log.flush();
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // Last, because whoever reads that the server is ready may tell it to stop.
  const { baseUrl, newAdminKey } = terse;
  const isShown = await print(welcome(baseUrl, newAdminKey?.secret));
  // Without this note the next start makes another key, so a key that nobody saw is not the end.
  if (isShown) {
    await newAdminKey
      ?.noteShown()
      .catch(error => log.error('the printed key was not noted', { failure: describeFailure(error) }));
  }
}

/** Whether the text left this process. */
function print(text: string): Promise<boolean> {
  return new Promise(resolve => {
    process.stdout.write(text, error => resolve(error === undefined || error === null));
  });
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
