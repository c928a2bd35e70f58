/**
 * Where raw clicks go before their time in the log is over: objects under names, each written whole. An object's name
 * says what is in it or is written last, so an interrupted upload leaves nothing that could be taken for a day.
 * `archive.conformance.ts` is the meaning of this port.
 */
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

const manifestPattern = /^days\/(\d{4}-\d{2}-\d{2})\.json$/;

/** Days that were archived as a whole, oldest first. */
export async function archivedDays(archive: Archive): Promise<string[]> {
  const keys = await archive.list('days/');
  return keys.flatMap(key => manifestPattern.exec(key)?.[1] ?? []);
}
