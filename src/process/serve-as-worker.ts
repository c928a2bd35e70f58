/** `terse serve` as one of several workers: serves the sockets it was given, for as long as it has a supervisor. */
import { closeSync } from 'node:fs';
import { systemClock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import { duplicateFd } from '../http/wire/listen-socket.ts';
import { createLog, describeFailure, switchLogBySignal } from '../telemetry/log.ts';
import type { StartTerse } from './serve.ts';
import { onSignals } from './shutdown.ts';
import { channelOfProcess, Supervised, socketFdOf, type WorkerPlace } from './supervised.ts';
import { announce, curlTo } from './welcome.ts';

export async function serveAsWorker(
  config: Config,
  place: WorkerPlace,
  startTerse: StartTerse,
): Promise<void> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    // Workers share one stderr, where a longer text could be interleaved with another's.
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
        log.error('the worker did not stop cleanly', { failure: describeFailure(error) });
        log.finish();
        process.exit(1);
      },
    );
  };
  onOrphaned = () => {
    log.error('the supervisor exited: this worker stops');
    leave(terse.stop());
  };
  // A terminal sends its signals to workers too, but their supervisor decides for them.
  onSignals(log, { stop: () => end(terse.stop()), replace() {} }).then(() => process.exit(0));
  // Only the first key: the supervisor prints the rest.
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

/** Splits text into parts that a pipe writes atomically, even with other writers: POSIX promises it up to this size. */
const atomicBytesMax = 4_096;

/** As many whole lines at a time as fit; a line that is longer goes alone. */
export function wholeLines(text: string, bytesMax = atomicBytesMax): string[] {
  const parts: string[] = [];
  let part = '';
  let partBytes = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const bytes = Buffer.byteLength(line);
    if (partBytes + bytes > bytesMax && part !== '') {
      parts.push(part);
      part = '';
      partBytes = 0;
    }
    part += line;
    partBytes += bytes;
  }
  return part === '' ? parts : [...parts, part];
}

/** Descriptors by place. */
export function socketsBeside({ index, count }: WorkerPlace): Map<number, number> {
  const others = Array.from({ length: count }, (_, place) => place).filter(place => place !== index);
  return new Map(others.map(place => [place, socketFdOf(place)]));
}

export class PlaceSockets {
  readonly #fds: Map<number, number>;
  readonly #serveAlso: (fd: number) => () => void;
  readonly #attended = new Map<number, () => void>();

  /** `serveAlso` serves a socket until the function that it returns is called, and closes it then. */
  constructor(fds: Map<number, number>, serveAlso: (fd: number) => () => void) {
    this.#fds = fds;
    this.#serveAlso = serveAlso;
  }

  /** Serves exactly the sockets of these places; on copies, because they may be needed again. */
  attend(places: readonly number[]): void {
    for (const [place, stop] of this.#attended) {
      if (places.includes(place)) continue;
      stop();
      this.#attended.delete(place);
    }
    for (const place of places) {
      const fd = this.#fds.get(place);
      if (fd === undefined || this.#attended.has(place)) continue;
      this.#attended.set(place, this.#serveAlso(duplicateFd(fd)));
    }
  }

  /** When all workers end, no process may hold a socket whose clients would wait forever. */
  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }
}
