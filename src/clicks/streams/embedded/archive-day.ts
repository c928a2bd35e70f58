/**
 * Puts a day of the log into an archive and checks that it is there. Logs go as they are, frames and all, since frames
 * are compressed already and a log that comes back must be the same to the byte. A day can be put any number of times,
 * also when an earlier attempt was interrupted: parts are named by their contents and the manifest comes last.
 * Invariant: no manifest is replaced by one that has less of any log. A log here may have less than the archive when it came
 * back from a backup; since a log only grows, the longer one of two has all of the other.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Archive, ArchiveDamaged, partKey, sha256Of } from '../../archive.ts';
import {
  type Manifest,
  type ManifestFile,
  type ManifestPart,
  putManifest,
  readManifest,
} from '../../archive-manifest.ts';
import { clickCount } from '../../batch.ts';
import { logsOf } from './archive-marks.ts';
import { producerOf, readFrames } from './stream.ts';

/** What is in memory at once, and what is sent again when sending fails. */
const partBytesMax = 8 * 1024 * 1024;
const readBytesMax = 4 * 1024 * 1024;

/** `found` when the archive has all that the log has, and more; then nothing was put. */
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
  const here = statSync(join(folder, day, name), { throwIfNoEntry: false });
  return here !== undefined && here.size >= bytes;
}

/** Two installations under one prefix would each overwrite what the other put there. */
function requireKnown(known: readonly ManifestFile[], folder: string, partition: string): void {
  const name = basename(partition);
  const bytes = known.find(file => file.name === name)?.bytes ?? -1;
  if (statSync(join(folder, partition)).size <= bytes) return;
  const day = partition.slice(0, 10);
  throw new Error(
    `the archive has clicks of ${day} that are not here, and not all of ${name}, which is here: each data folder ` +
      `needs a prefix of its own; if both are of this one, join them with terse archive restore --day ${day}`,
  );
}

/** One that cannot be read is as good as none: putting the day again repairs it. */
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
  const { size } = statSync(path);
  const file = openSync(path, 'r');
  try {
    for (let position = 0; position < size; ) {
      const bytes = new Uint8Array(Math.min(partBytes, size - position));
      if (readSync(file, bytes, 0, bytes.length, position) !== bytes.length)
        throw new Error(`${partition} became shorter while it was archived`);
      const sha256 = sha256Of(bytes);
      await archive.put(partKey(partition.slice(0, 10), sha256), bytes);
      whole.update(bytes);
      parts.push({ bytes: bytes.length, sha256 });
      position += bytes.length;
    }
  } finally {
    closeSync(file);
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

/** What can be counted of a log. Half a frame at its end is archived with the rest and counts for nothing. */
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

/** Reads every byte of an archived day back, and gives what its manifest says. */
export async function verifyDay(archive: Archive, day: string): Promise<Manifest> {
  const manifest = await readManifest(archive, day);
  if (manifest === undefined) throw new ArchiveDamaged(`the archive has no manifest of ${day}`);
  for (const file of manifest.files) for await (const _ of readParts(archive, day, file));
  return manifest;
}

/** The bytes of an archived log, part by part; throws instead of giving a part that is not as it was. */
export async function* readParts(
  archive: Archive,
  day: string,
  { name, parts, sha256 }: ManifestFile,
): AsyncGenerator<Uint8Array> {
  const whole = createHash('sha256');
  for (const part of parts) {
    const bytes = await archive.get(partKey(day, part.sha256));
    if (bytes === undefined) throw new ArchiveDamaged(`a part of ${day}/${name} is missing in the archive`);
    if (sha256Of(bytes) !== part.sha256)
      throw new ArchiveDamaged(`a part of ${day}/${name} in the archive is damaged`);
    whole.update(bytes);
    yield bytes;
  }
  if (whole.digest('hex') !== sha256)
    throw new ArchiveDamaged(`the parts of ${day}/${name} in the archive do not belong together`);
}
