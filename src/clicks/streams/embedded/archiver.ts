/**
 * Archives the days of the log that are over, oldest first. Whatever goes wrong is counted and said, and tried again in
 * the next round; a day is marked only after all of it was read back.
 */
import type { Clock } from '../../../base/clock.ts';
import { type Archive, ArchiveAway, type ArchiverFigures, type DayArchiver, openDay } from '../../archive.ts';
import { archiveDay, verifyDay } from './archive-day.ts';
import { contentsOf, isArchived, markedDays, readMark, writeMark } from './archive-marks.ts';
import { listDays } from './stream.ts';

export interface ArchiverOptions {
  readonly archive: Archive;
  readonly logFolder: string;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
}

export class Archiver implements DayArchiver {
  readonly #options: ArchiverOptions;
  #failures = 0;

  constructor(options: ArchiverOptions) {
    this.#options = options;
  }

  /** Archives all that is due, unless the archive is away. */
  async round(): Promise<void> {
    for (const day of this.#due()) {
      try {
        await this.#archive(day);
      } catch (error) {
        this.#failures += 1;
        this.#options.onProblem(`clicks of ${day} cannot be archived`, error);
        if (error instanceof ArchiveAway) return;
      }
    }
  }

  figures(): ArchiverFigures {
    const { logFolder } = this.#options;
    const days = markedDays(logFolder);
    const inState = (state: string): string[] =>
      days.filter(day => readMark(logFolder, day)?.state === state);
    const archived = inState('verified');
    return {
      archived: archived.length,
      lost: inState('lost').length,
      waiting: this.#due().length,
      lastDayAt: Date.parse(archived.at(-1) ?? '1970-01-01'),
      failures: this.#failures,
    };
  }

  #due(): string[] {
    const { logFolder, clock } = this.#options;
    const open = openDay(clock.now());
    return listDays(logFolder).filter(day => day < open && !isArchived(logFolder, day));
  }

  async #archive(day: string): Promise<void> {
    const { archive, logFolder, onProblem } = this.#options;
    const contents = contentsOf(logFolder, day);
    if (contents === '') return;
    const archived = await archiveDay(archive, logFolder, day);
    await verifyDay(archive, day);
    const restoredAt = readMark(logFolder, day)?.restoredAt;
    writeMark(logFolder, day, {
      state: 'verified',
      contents,
      ...(restoredAt !== undefined && { restoredAt }),
    });
    if (archived === 'put') return;
    // Said once, because the day is marked: whoever brought a backup back may not know that there is more.
    onProblem(
      `the archive has more clicks of ${day} than the log`,
      new Error(`terse archive restore --day ${day} brings them back`),
    );
  }
}
