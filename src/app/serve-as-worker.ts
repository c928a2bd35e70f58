/** `terse serve` as one of several workers: serves the sockets it was given, for as long as somebody supervises it. */
import { systemClock } from '../base/clock.ts';
import { createLog, describeFailure } from '../ops/log.ts';
import { startTerse } from './compose.ts';
import type { Config } from './config.ts';
import { switchLogBySignal } from './log-switch.ts';
import { PlaceSockets, socketsBeside } from './place-sockets.ts';
import { onSignals } from './stop-signals.ts';
import { channelOfProcess, Supervised } from './supervised.ts';
import type { WorkerPlace } from './supervision.ts';
import { announce, curlTo } from './welcome.ts';
import { wholeLines } from './whole-lines.ts';

export async function serveAsWorker(config: Config, place: WorkerPlace): Promise<void> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    // Workers share one stderr, where a longer text could be cut in two by another's.
    write: text => wholeLines(text).forEach(lines => void process.stderr.write(lines)),
    fields: { worker: place.index + 1 },
  });
  switchLogBySignal(log);
  let onOrphaned = (): void => process.exit(1);
  const supervised = new Supervised(channelOfProcess(), place, systemClock, () => onOrphaned());
  const terse = await startTerse(config, log, {
    place,
    metricsOfAll: own => supervised.metricsOfAll(own),
  });

  const sockets = new PlaceSockets(socketsBeside(place), fd => terse.serveAlso(fd));
  const end = async (ending: Promise<void>): Promise<void> => {
    supervised.leaving();
    sockets.close();
    await ending;
    await supervised.lastWords(terse.metrics());
  };
  const leave = (ending: Promise<void>): void => {
    end(ending).then(
      () => process.exit(0),
      error => {
        log.error('the worker did not stop well', { failure: describeFailure(error) });
        log.flush();
        process.exit(1);
      },
    );
  };
  onOrphaned = () => {
    log.error('the supervisor is gone: this worker stops');
    leave(terse.stop());
  };
  // A terminal tells workers too what it tells their supervisor, and that is what decides for them.
  onSignals(log, { stop: () => end(terse.stop()), replace() {} }).then(() => process.exit(0));
  // The first key alone: its supervisor says the rest.
  if (terse.newAdminKey !== undefined)
    await announce('\n', terse.newAdminKey, {
      dataFolder: config.data,
      stdout: process.stdout,
      log,
      curl: curlTo(config, place.port),
    });
  supervised.ready({
    retire: () => leave(terse.retire()),
    attend: places => sockets.attend(places),
    setLogLevel: level => log.setLevel(level),
    metrics: () => terse.metrics(),
  });
}
