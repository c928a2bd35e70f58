/**
 * The entry point of the thread that archives days of the click log. Checksums and uploads take their time, and nobody
 * waits for them. It can be ended at any moment: what it had not finished, it does again.
 */
import { systemClock } from '../base/clock.ts';
import { answerCall } from '../base/thread-call.ts';
import { Archiver, type ArchiverFigures } from '../clicks/streams/embedded/archiver.ts';
import { type ArchivePlace, openArchive } from './archive.ts';
import { giveWay } from './background-thread.ts';
import { WorkInTurn } from './work-in-turn.ts';

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
const firstRoundMs = 1_000;

function start({ logFolder, ...place }: ArchiveThreadSettings) {
  const complain = (what: string, error: unknown): void =>
    self.postMessage({
      kind: 'problem',
      what,
      detail: error instanceof Error ? error.message : String(error),
    } satisfies ArchiveProblem);
  const archiver = new Archiver({
    archive: openArchive(place, systemClock),
    logFolder,
    clock: systemClock,
    onProblem: complain,
  });
  const work = new WorkInTurn(complain);
  const round = (): Promise<void> => archiver.round();
  work.every(systemClock, roundMs, 'a round of the archive failed', round);
  systemClock.after(firstRoundMs, () => void work.inBackground('a round of the archive failed', round));
  return { figures: (): ArchiverFigures => archiver.figures() };
}

export type ArchiveThreadFunctions = ReturnType<typeof start>;

self.onmessage = ({ data: settings }: MessageEvent<ArchiveThreadSettings>) => {
  const functions = start(settings);
  self.onmessage = ({ data }: MessageEvent<unknown>) => {
    answerCall(data, functions, self);
  };
};
