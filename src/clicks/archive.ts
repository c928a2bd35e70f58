/**
 * Where raw clicks go before their time in the log is over: objects under names, each written whole. An object's name
 * says what is in it or is written last, so an interrupted upload leaves nothing that could be taken for a day.
 * `archive.conformance.ts` is the meaning of this port.
 */
import { createHash } from 'node:crypto';

export interface Archive {
  /** Resolves when the object would survive a power cut; replaces one of the same name. */
  put(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Undefined when there is none. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** Names that begin with `start`, sorted. */
  list(start: string): Promise<string[]>;
}

/** Nothing can be put or got for now; what was asked may work later. */
export class ArchiveAway extends Error {
  override readonly name = 'ArchiveAway';
}

/** What lies in the archive is not what was put there. */
export class ArchiveDamaged extends Error {
  override readonly name = 'ArchiveDamaged';
}

export const manifestKey = (day: string): string => `days/${day}.json`;

/** Named by its contents: the same bytes have the same name, and other bytes never take their place. */
export const partKey = (day: string, sha256: string): string => `clicks/${day}/${sha256}`;

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Marks a day of which something was gone before it could be archived. */
export const lostKey = (day: string): string => `lost/${day}.json`;

const lostPattern = /^lost\/(\d{4}-\d{2}-\d{2})\.json$/;
const manifestPattern = /^days\/(\d{4}-\d{2}-\d{2})\.json$/;

/** Days that were archived as a whole, oldest first. */
export async function archivedDays(archive: Archive): Promise<string[]> {
  const keys = await archive.list('days/');
  return keys.flatMap(key => manifestPattern.exec(key)?.[1] ?? []);
}

/** Days in the archive that are not whole, oldest first. */
export async function lostDays(archive: Archive): Promise<string[]> {
  const keys = await archive.list('lost/');
  return keys.flatMap(key => lostPattern.exec(key)?.[1] ?? []);
}

/** Whoever archives days, wherever they come from. */
export interface DayArchiver {
  /** Archives what is due, unless the archive is away. */
  round(): Promise<void>;
  figures(): ArchiverFigures;
}

export interface ArchiverFigures {
  /** Days known to lie in the archive. */
  readonly archived: number;
  /** Days that were gone, or of which something was, before they were archived. */
  readonly lost: number;
  /** Days that are over and not in the archive yet. */
  readonly waiting: number;
  /** Start of the newest archived day; 0 for none. */
  readonly lastDayAt: number;
  readonly failures: number;
}

/** Whoever began to write before midnight may end after it, and clocks differ a little. */
const closedAfterMs = 60 * 60_000;

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The first day that is not over; those before it can be archived. */
export const openDay = (now: number): string => dayOf(now - closedAfterMs);
