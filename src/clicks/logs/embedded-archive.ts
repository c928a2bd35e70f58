/**
 * Puts a day of the log into an archive and checks that it is there. Logs are archived byte for byte: frames are
 * compressed already, and a restored log must be identical. A day can be put any number of times, also after an
 * interrupted attempt: parts are named by their contents and the manifest is written last.
 * Invariant: no manifest is replaced by one that has less of any log. A log that was restored from a backup may have
 * less than the archive; since logs only grow, the longer one of two contains the other.
 */

import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { files } from '../../base/files.ts';
import { type ArchivableLog, type Archive, ArchiveDamaged, openDay, putPart, readPart } from '../archive.ts';
import {
  type Manifest,
  type ManifestFile,
  type ManifestPart,
  putManifest,
  readManifest,
} from '../archive-manifest.ts';
import { clickCount } from '../click.ts';
import { listDays, listLogs, producerOf, readFrames } from './embedded.ts';

/** How much is in memory at once, and is sent again if sending fails. */
const partBytesMax = 8 * 1024 * 1024;
const readBytesMax = 4 * 1024 * 1024;

/** `found`: the archive has more than the log, so nothing was put. */
export type Archived = 'put' | 'found';

export async function archiveDay(
  archive: Archive,
  folder: string,
  day: string,
  partBytes = partBytesMax,
): Promise<Archived> {
  const partitions = logsOf(folder, day);
  const known = (await readableManifest(archive, day))?.files ?? [];
  if (!known.every(file => isWholeHere(folder, day, file))) {
    for (const partition of partitions) requireKnown(known, folder, partition);
    return 'found';
  }
  const files: ManifestFile[] = [];
  for (const partition of partitions) files.push(await putLog(archive, folder, partition, partBytes));
  await putManifest(archive, { version: 1, day, files });
  return 'put';
}

/** Whether the log has all that the archive has of a file. */
export function isWholeHere(folder: string, day: string, { name, bytes }: ManifestFile): boolean {
  const here = files.statSync(join(folder, day, name), { throwIfNoEntry: false });
  return here !== undefined && here.size >= bytes;
}

/** Detects two installations under one prefix, which would overwrite each other's archive. */
function requireKnown(known: readonly ManifestFile[], folder: string, partition: string): void {
  const name = basename(partition);
  const bytes = known.find(file => file.name === name)?.bytes ?? -1;
  if (files.statSync(join(folder, partition)).size <= bytes) return;
  const day = partition.slice(0, 10);
  throw new Error(
    `the archive has clicks of ${day} that are not here, and not all of ${name}, which is here: each data folder ` +
      `needs a prefix of its own; if both are of this one, join them with terse archive restore --day ${day}`,
  );
}

/** An unreadable manifest counts as missing: writing the day again repairs it. */
async function readableManifest(archive: Archive, day: string): Promise<Manifest | undefined> {
  try {
    return await readManifest(archive, day);
  } catch (error) {
    if (error instanceof ArchiveDamaged) return undefined;
    throw error;
  }
}

async function putLog(
  archive: Archive,
  folder: string,
  partition: string,
  partBytes: number,
): Promise<ManifestFile> {
  const whole = createHash('sha256');
  const parts: ManifestPart[] = [];
  const path = join(folder, partition);
  const { size } = files.statSync(path);
  const file = files.openSync(path, 'r');
  try {
    for (let position = 0; position < size; ) {
      const bytes = new Uint8Array(Math.min(partBytes, size - position));
      if (files.readSync(file, bytes, 0, bytes.length, position) !== bytes.length)
        throw new Error(`${partition} became shorter while it was archived`);
      const sha256 = await putPart(archive, partition.slice(0, 10), bytes);
      whole.update(bytes);
      parts.push({ bytes: bytes.length, sha256 });
      position += bytes.length;
    }
  } finally {
    files.closeSync(file);
  }
  return {
    name: basename(partition),
    producer: producerOf(partition),
    bytes: size,
    sha256: whole.digest('hex'),
    ...accountOf(folder, partition),
    parts,
  };
}

/** The clicks of a log. Half a frame at its end is archived with the rest, but has no clicks. */
function accountOf(
  folder: string,
  partition: string,
): Pick<ManifestFile, 'clicks' | 'firstSequence' | 'lastSequence'> {
  let [clicks, firstSequence, lastSequence] = [0, 0, 0];
  for (let position = 0; ; ) {
    const batches = readFrames(folder, partition, position, readBytesMax);
    const end = batches.at(-1)?.to;
    if (end === undefined) return { clicks, firstSequence, lastSequence };
    for (const { batch } of batches) {
      if (clicks === 0) firstSequence = batch.firstSequence;
      clicks += clickCount(batch);
      lastSequence = batch.firstSequence + clickCount(batch) - 1;
    }
    position = end;
  }
}

/** Reads every byte of an archived day back; returns its manifest. */
export async function verifyDay(archive: Archive, day: string): Promise<Manifest> {
  const manifest = await readManifest(archive, day);
  if (manifest === undefined) throw new ArchiveDamaged(`the archive has no manifest of ${day}`);
  for (const file of manifest.files) for await (const _ of readParts(archive, day, file));
  return manifest;
}

/** The bytes of an archived log, part by part; throws if a part is missing or damaged. */
export async function* readParts(
  archive: Archive,
  day: string,
  { name, parts, sha256 }: ManifestFile,
): AsyncGenerator<Uint8Array> {
  const whole = createHash('sha256');
  for (const part of parts) {
    const bytes = await readPart(archive, day, part.sha256, `${day}/${name}`);
    whole.update(bytes);
    yield bytes;
  }
  if (whole.digest('hex') !== sha256)
    throw new ArchiveDamaged(`the parts of ${day}/${name} in the archive do not belong together`);
}

/**
 * Whether each day of the log is archived, kept beside the log: a day may be removed here only when it is known to be
 * in the archive. A mark names the contents that it refers to, so a day that changes afterwards counts as not archived.
 *
 *   clicks/archived/2026-11-15.json
 *
 * Marks stay when their day is removed; they are a line per day and show operators what can be restored.
 */
export interface ArchiveMark {
  /** `lost` when the day was removed without having been archived. */
  readonly state: 'verified' | 'lost';
  /** See `contentsOf`. */
  readonly contents: string;
  /** When the day was restored from the archive, if it was. */
  readonly restoredAt?: number;
}

/** How long a day may wait for its archive beyond its retention; then it is removed, and marked as lost. */
export const overdueDaysMax = 30;
/** How long a restored day is kept, although its retention is over. */
export const restoredDays = 7;

const dayMs = 24 * 60 * 60_000;
const markPattern = /^(\d{4}-\d{2}-\d{2})\.json$/;

const marksFolder = (folder: string): string => join(folder, 'archived');
const markPath = (folder: string, day: string): string => join(marksFolder(folder), `${day}.json`);

/** Names and sizes of a day's logs. They only ever grow, so the same sizes are the same contents. */
export function contentsOf(folder: string, day: string): string {
  return logsOf(folder, day)
    .map(partition => `${partition} ${files.statSync(join(folder, partition)).size}`)
    .join('\n');
}

export function logsOf(folder: string, day: string): string[] {
  return listLogs(folder).filter(partition => partition.startsWith(`${day}/`));
}

export function readMark(folder: string, day: string): ArchiveMark | undefined {
  const path = markPath(folder, day);
  if (!files.existsSync(path)) return undefined;
  try {
    return JSON.parse(files.readFileSync(path, 'utf8')) as ArchiveMark;
  } catch {
    // A crash cut the mark off: the day is archived again, which does no harm.
    return undefined;
  }
}

export function writeMark(folder: string, day: string, mark: ArchiveMark): void {
  files.mkdirSync(marksFolder(folder), { recursive: true, mode: 0o700 });
  const path = markPath(folder, day);
  files.writeFileSync(`${path}.new`, JSON.stringify(mark), { mode: 0o600, flush: true });
  files.renameSync(`${path}.new`, path);
}

/** Days with a mark, oldest first. */
export function markedDays(folder: string): string[] {
  if (!files.existsSync(marksFolder(folder))) return [];
  return files
    .readdirSync(marksFolder(folder))
    .flatMap(name => markPattern.exec(name)?.[1] ?? [])
    .sort();
}

/** Whether the whole day, as it is in the log now, is known to be in the archive. */
export function isArchived(folder: string, day: string): boolean {
  const mark = readMark(folder, day);
  return mark?.state === 'verified' && mark.contents === contentsOf(folder, day);
}

/** Whether a day must be kept although its retention is over. */
export function isHeld(
  folder: string,
  day: string,
  { now, rawDays, archives }: { now: number; rawDays: number; archives: boolean },
): boolean {
  const { restoredAt } = readMark(folder, day) ?? {};
  if (restoredAt !== undefined && now < restoredAt + restoredDays * dayMs) return true;
  const isOverdue = Date.parse(day) + (rawDays + overdueDaysMax) * dayMs < now;
  return archives && !isOverdue && !isArchived(folder, day);
}

/** Must be called before a day is removed. */
export function noteRemoval(folder: string, day: string): void {
  if (!isArchived(folder, day)) writeMark(folder, day, { state: 'lost', contents: contentsOf(folder, day) });
}

export interface EmbeddedArchiveOptions {
  readonly archive: Archive;
  readonly logFolder: string;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
}

/** A day is marked only after all of it was read back. */
export function createArchivableLog(options: EmbeddedArchiveOptions): ArchivableLog {
  const { archive, logFolder, clock, onProblem } = options;
  const due = (): string[] => {
    const open = openDay(clock.now());
    return listDays(logFolder).filter(day => day < open && !isArchived(logFolder, day));
  };
  return {
    isInOrder: false,
    due: async () => due(),
    async archiveDay(day) {
      const contents = contentsOf(logFolder, day);
      if (contents === '') return true;
      const archived = await archiveDay(archive, logFolder, day);
      await verifyDay(archive, day);
      const restoredAt = readMark(logFolder, day)?.restoredAt;
      writeMark(logFolder, day, {
        state: 'verified',
        contents,
        ...(restoredAt !== undefined && { restoredAt }),
      });
      // Reported once, because the day is marked. An operator who restored a backup may not know that there is more.
      if (archived === 'found')
        onProblem(
          `the archive has more clicks of ${day} than the log`,
          new Error(`terse archive restore --day ${day} brings them back`),
        );
      return true;
    },
    figures() {
      const days = markedDays(logFolder);
      const inState = (state: string): string[] =>
        days.filter(day => readMark(logFolder, day)?.state === state);
      const archived = inState('verified');
      return {
        archived: archived.length,
        lost: inState('lost').length,
        waiting: due().length,
        lastDayAt: Date.parse(archived.at(-1) ?? '1970-01-01'),
      };
    },
  };
}
