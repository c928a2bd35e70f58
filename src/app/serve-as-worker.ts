/** `terse serve` as one of several workers: serves the sockets it was given, for as long as somebody supervises it. */
import { closeSync } from 'node:fs';
import { systemClock } from '../base/clock.ts';
import { createLog, describeFailure } from '../ops/log.ts';
import { startTerse, type Terse } from './compose.ts';
import type { Config } from './config.ts';
import { duplicateFd } from './listening-socket.ts';
import { onSignals } from './stop-signals.ts';
import { channelOfProcess, Supervised } from './supervised.ts';
import { socketFdOf, type WorkerPlace } from './supervision.ts';
import { keyNotice, show } from './welcome.ts';
import { wholeLines } from './whole-lines.ts';

export async function serveAsWorker(config: Config, place: WorkerPlace): Promise<void> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    // Workers share one stderr, where a longer text could be cut in two by another's.
    write: text => wholeLines(text).forEach(lines => void process.stderr.write(lines)),
    fields: { worker: place.index + 1 },
  });
  let onOrphaned = (): void => process.exit(1);
  const supervised = new Supervised(channelOfProcess(), place, systemClock, () => onOrphaned());
  const terse = await startTerse(config, log, {
    place,
    metricsOfAll: own => supervised.metricsOfAll(own),
  });

  const sockets = new PlaceSockets(place, terse);
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
  if (terse.newAdminKey !== undefined)
    await show(keyNotice(terse.newAdminKey.secret), terse.newAdminKey, log);
  supervised.ready({
    retire: () => leave(terse.retire()),
    attend: places => sockets.attend(places),
    metrics: () => terse.metrics(),
  });
}

/** The sockets of the other places: all are here, and served while their workers cannot. */
class PlaceSockets {
  readonly #terse: Pick<Terse, 'serveAlso'>;
  /** Descriptors by place. */
  readonly #fds: Map<number, number>;
  readonly #attended = new Map<number, () => void>();

  constructor({ index, count }: WorkerPlace, terse: Pick<Terse, 'serveAlso'>) {
    this.#terse = terse;
    const others = Array.from({ length: count }, (_, place) => place).filter(place => place !== index);
    this.#fds = new Map(others.map(place => [place, socketFdOf(place)]));
  }

  /** Serves those of these places and no others; on copies, because serving one closes it at the end. */
  attend(places: readonly number[]): void {
    for (const [place, stop] of this.#attended) {
      if (places.includes(place)) continue;
      stop();
      this.#attended.delete(place);
    }
    for (const place of places) {
      const fd = this.#fds.get(place);
      if (fd === undefined || this.#attended.has(place)) continue;
      this.#attended.set(place, this.#terse.serveAlso(duplicateFd(fd)));
    }
  }

  /** When all workers end, nobody may hold what clients would wait at in vain. */
  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }
}
