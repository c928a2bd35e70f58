/**
 * The entry point of the thread that archives days of clicks. Checksums and uploads take their time, and nobody
 * waits for them. It can be ended at any moment: what it had not finished, it does again.
 */
import { systemClock } from '../base/clock.ts';
import { answerCall } from '../base/thread-call.ts';
import type { ArchiverFigures, DayArchiver } from '../clicks/archive.ts';
import { Archiver } from '../clicks/streams/embedded/archiver.ts';
import { type ArchivePlace, openArchive } from './archive.ts';
import { giveWay } from './background-thread.ts';

declare const self: Worker;

giveWay();

export interface ArchiveThreadSettings extends ArchivePlace {
  readonly logFolder: string;
}

export interface ArchiveProblem {
  readonly kind: 'problem';
  readonly what: string;
  readonly detail: string;
}

const roundMs = 60_000;
/** After a round that left something to do: it is being found out who does it, say. Doubles with each failure in a row. */
const soonMs = 5_000;
/** Not at once: whoever makes the topics has only begun, too. */
const firstRoundMs = 2_000;

function start(settings: ArchiveThreadSettings) {
  const complain = (what: string, error: unknown): void =>
    self.postMessage({
      kind: 'problem',
      what,
      detail: error instanceof Error ? error.message : String(error),
    } satisfies ArchiveProblem);
  const opening = openArchiver(settings, complain);
  const roundAfter = (pauseMs: number): void =>
    void systemClock.after(pauseMs, () => {
      round().then(roundAfter, error => {
        complain('a round of the archive failed', error);
        roundAfter(roundMs);
      });
    });
  let failedInARow = 0;
  /** Tells how long to wait for the next. */
  const round = async (): Promise<number> => {
    const archiver = await opening;
    const failuresBefore = archiver.figures().failures;
    await archiver.round();
    const { waiting, failures } = archiver.figures();
    failedInARow = failures === failuresBefore ? 0 : failedInARow + 1;
    const hasMore = waiting > 0 || failedInARow > 0;
    return hasMore ? Math.min(roundMs, soonMs * 2 ** failedInARow) : roundMs;
  };
  roundAfter(firstRoundMs);
  return { figures: async (): Promise<ArchiverFigures> => (await opening).figures() };
}

/** Kafka's client is loaded only where it is used. */
async function openArchiver(
  { logFolder, ...place }: ArchiveThreadSettings,
  onProblem: (what: string, error: unknown) => void,
): Promise<DayArchiver> {
  const archive = openArchive(place, systemClock);
  if (place.stream === 'embedded') return new Archiver({ archive, logFolder, clock: systemClock, onProblem });
  const { openKafkaArchiver } = await import('./kafka-archive.ts');
  return openKafkaArchiver(place.stream, archive, onProblem);
}

export type ArchiveThreadFunctions = ReturnType<typeof start>;

self.onmessage = ({ data: settings }: MessageEvent<ArchiveThreadSettings>) => {
  const functions = start(settings);
  self.onmessage = ({ data }: MessageEvent<unknown>) => {
    answerCall(data, functions, self);
  };
};
