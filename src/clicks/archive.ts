/**
 * The archive of raw clicks whose retention in the log ends: objects under names, each written as a whole. Parts are
 * named by their contents and manifests are written last, so an interrupted upload leaves nothing that looks like a
 * day. `archive.conformance.ts` defines the contract.
 */
import { createHash } from 'node:crypto';

export interface Archive {
  /** Resolves when the object would survive a power cut; replaces one of the same name. */
  put(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Undefined when there is no such object. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** Names that begin with `start`, sorted. */
  list(start: string): Promise<string[]>;
}

/** Nothing can be written or read for now; the call may succeed later. */
export class ArchiveUnavailable extends Error {
  override readonly name = 'ArchiveUnavailable';
}

/** The contents of the archive differ from what was written there. */
export class ArchiveDamaged extends Error {
  override readonly name = 'ArchiveDamaged';
}

export const manifestKey = (day: string): string => `days/${day}.json`;

/** Named by its contents: the same bytes have the same name, and other bytes never replace them. */
export const partKey = (day: string, sha256: string): string => `clicks/${day}/${sha256}`;

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The object that marks a day as (partly) lost before it was archived. */
export const lostKey = (day: string): string => `lost/${day}.json`;

const lostPattern = /^lost\/(\d{4}-\d{2}-\d{2})\.json$/;
const manifestPattern = /^days\/(\d{4}-\d{2}-\d{2})\.json$/;

/** Days that were archived completely, oldest first. */
export async function archivedDays(archive: Archive): Promise<string[]> {
  const keys = await archive.list('days/');
  return keys.flatMap(key => manifestPattern.exec(key)?.[1] ?? []);
}

/** Days in the archive that are incomplete, oldest first. */
export async function lostDays(archive: Archive): Promise<string[]> {
  const keys = await archive.list('lost/');
  return keys.flatMap(key => lostPattern.exec(key)?.[1] ?? []);
}

export interface ArchiverFigures {
  /** Days known to be in the archive. */
  readonly archived: number;
  /** Days that were lost, in whole or in part, before they were archived. */
  readonly lost: number;
  /** Days that are over and not in the archive yet. */
  readonly waiting: number;
  /** Start of the newest archived day; 0 for none. */
  readonly lastDayAt: number;
  readonly failures: number;
}

/** A producer that starts a write before midnight may finish it after midnight, and clocks differ a little. */
const closedAfterMs = 60 * 60_000;

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The first day that is not over; those before it can be archived. */
export const openDay = (now: number): string => dayOf(now - closedAfterMs);

/** Puts a part, and reads it back to check that it is unchanged. Returns its checksum, which names it. */
export async function putPart(
  archive: Archive,
  day: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const sha256 = sha256Of(bytes);
  await archive.put(partKey(day, sha256), bytes);
  await readPart(archive, day, sha256);
  return sha256;
}

/** Throws if the part is missing or damaged; `of` names the object that it belongs to. */
export async function readPart(archive: Archive, day: string, sha256: string, of = day): Promise<Uint8Array> {
  const bytes = await archive.get(partKey(day, sha256));
  if (bytes === undefined) throw new ArchiveDamaged(`a part of ${of} is missing in the archive`);
  if (sha256Of(bytes) !== sha256) throw new ArchiveDamaged(`a part of ${of} in the archive is damaged`);
  return bytes;
}

/** What the archiver needs of a log of any kind. */
export interface ArchivableLog {
  /** Days that are over and not archived, oldest first; none while another process archives. */
  due(): Promise<readonly string[]>;
  /** Resolves when the day is in the archive and was read back; false when another process has taken over archiving. */
  archiveDay(day: string): Promise<boolean>;
  figures(): Omit<ArchiverFigures, 'failures'>;
  /** Whether a day can be archived only after the one before it. */
  readonly isInOrder: boolean;
}

/** The limit of one round; the next follows a minute later. */
const daysAtOnceMax = 31;

/** Archives the days that are over, oldest first. Every failure is counted, reported and tried again in the next round. */
export class Archiver {
  readonly #log: ArchivableLog;
  readonly #onProblem: (what: string, error: unknown) => void;
  #failures = 0;

  constructor(log: ArchivableLog, onProblem: (what: string, error: unknown) => void) {
    this.#log = log;
    this.#onProblem = onProblem;
  }

  figures(): ArchiverFigures {
    return { ...this.#log.figures(), failures: this.#failures };
  }

  async round(): Promise<void> {
    const days = await this.#log.due().catch(error => this.#fail('clicks cannot be archived', error));
    // If days need not be in order, failing ones must not block newer ones.
    const limit = this.#log.isInOrder ? daysAtOnceMax : days?.length;
    for (const day of days?.slice(0, limit) ?? []) {
      try {
        if (!(await this.#log.archiveDay(day))) return;
      } catch (error) {
        this.#fail(`clicks of ${day} cannot be archived`, error);
        if (this.#log.isInOrder || error instanceof ArchiveUnavailable) return;
      }
    }
  }

  #fail(what: string, error: unknown): undefined {
    this.#failures += 1;
    this.#onProblem(what, error);
  }
}
