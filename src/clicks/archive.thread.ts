/**
 * The entry point of the thread that archives days of clicks. Checksums and uploads are slow, and no request waits for
 * them. The thread can be stopped at any moment: the next one repeats unfinished work.
 */

import { systemClock } from '../base/clock.ts';
import { answerCalls, giveWay } from '../base/thread-call.ts';
import { Archiver, type ArchiverFigures } from './archive.ts';
import { createArchivableLog } from './logs/embedded-archive.ts';
import { type ArchivePlace, openArchive } from './open-archive.ts';

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
/** The pause after a round that left work, e.g. while the archiving process is elected. Failures in a row double it. */
const soonMs = 5_000;
/** Not immediately: the process that creates the topics has only just started, too. */
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
  /** Returns how long to wait before the next round. */
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
): Promise<Archiver> {
  const archive = openArchive(place, systemClock);
  if (place.stream === 'embedded') {
    const log = createArchivableLog({ archive, logFolder, clock: systemClock, onProblem });
    return new Archiver(log, onProblem);
  }
  const { openKafkaArchiver } = await import('./open-kafka.ts');
  return openKafkaArchiver(place.stream, archive, onProblem);
}

export type ArchiveThreadFunctions = ReturnType<typeof start>;

answerCalls(self, start);
