/**
 * The manifest of a day in the archive: version 1 lists the files of the embedded log, version 2 ranges of a topic's
 * partitions. It is written last and names every part with its checksum, so a reader can check that the day is complete
 * and intact.
 */
import { type Archive, ArchiveDamaged, manifestKey } from './archive.ts';

export interface Manifest {
  readonly version: 1;
  readonly day: string;
  readonly files: readonly ManifestFile[];
}

export interface ManifestFile {
  /** The name of the log file, such as `<producer>.log`. */
  readonly name: string;
  readonly producer: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly clicks: number;
  /** Numbers of the first and last click; 0 when no click can be read. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly parts: readonly ManifestPart[];
}

export interface ManifestPart {
  readonly bytes: number;
  readonly sha256: string;
}

export async function putManifest(archive: Archive, manifest: Manifest): Promise<void> {
  await putJson(archive, manifestKey(manifest.day), manifest, 2);
}

/** Undefined when the day is not in the archive. */
export async function readManifest(archive: Archive, day: string): Promise<Manifest | undefined> {
  const given = await readJson(archive, manifestKey(day), `the manifest of ${day}`);
  if (given === undefined) return undefined;
  if (isManifest(given) && given.day === day) return given;
  throw new ArchiveDamaged(`the manifest of ${day} in the archive cannot be read`);
}

/** Names become paths when a day is restored, so only names of logs are accepted. */
const namePattern = /^[\w-]+(?:~\d+~[\w-]+)?\.log$/;
const sha256Pattern = /^[0-9a-f]{64}$/;

function isManifest(given: unknown): given is Manifest {
  const { version, files } = (given ?? {}) as Partial<Manifest>;
  return version === 1 && Array.isArray(files) && files.every(isFile);
}

function isFile(file: ManifestFile | null): boolean {
  const { name, sha256, bytes, parts } = file ?? ({} as Partial<ManifestFile>);
  return (
    name !== undefined &&
    sha256 !== undefined &&
    Array.isArray(parts) &&
    namePattern.test(name) &&
    sha256Pattern.test(sha256) &&
    parts.every(part => sha256Pattern.test(part.sha256) && Number.isSafeInteger(part.bytes)) &&
    parts.reduce((sum, part) => sum + part.bytes, 0) === bytes
  );
}

/**
 * The contents of a topic's day: a range of offsets for each partition, in parts that are named by their contents. A
 * day begins where the one before ended, so days have neither gaps nor overlaps, whatever the producers' clocks said
 * around midnight. The manifest is written last; without it the day does not exist.
 *
 * While a day is being archived, the progress of each partition is kept beside its parts, so that another process can
 * continue.
 */
export interface KafkaManifest {
  readonly version: 2;
  readonly day: string;
  readonly topic: string;
  /** False for the first archived day, if Kafka may have deleted a part of it before. */
  readonly isWhole: boolean;
  readonly partitions: readonly ArchivedPartition[];
}

/** A range of a partition; `to` is the offset after its last message. */
export interface ArchivedPartition {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  /** Messages that were lost before they could be archived. */
  readonly lost: number;
  readonly clicks: number;
  readonly parts: readonly ArchivedPart[];
}

export interface ArchivedPart {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  readonly sha256: string;
}

const progressKey = (day: string, partition: number): string => `clicks/${day}/partition-${partition}.json`;

export async function putKafkaManifest(archive: Archive, manifest: KafkaManifest): Promise<void> {
  await putJson(archive, manifestKey(manifest.day), manifest);
}

/** Undefined when the day is not in the archive. */
export async function readKafkaManifest(
  archive: Archive,
  topic: string,
  day: string,
): Promise<KafkaManifest | undefined> {
  const found = await readJson(archive, manifestKey(day));
  if (found === undefined) return undefined;
  const { version, day: named, topic: owner, isWhole, partitions } = found as Partial<KafkaManifest>;
  const isOne =
    version === 2 &&
    named === day &&
    typeof isWhole === 'boolean' &&
    Array.isArray(partitions) &&
    partitions.every(isPartition);
  if (!isOne) throw new ArchiveDamaged(`the manifest of ${day} in the archive cannot be read`);
  if (owner !== topic) throw new ArchiveDamaged(`the archive has clicks of ${owner}, not of ${topic}`);
  return found as KafkaManifest;
}

export async function putProgress(archive: Archive, day: string, progress: ArchivedPartition): Promise<void> {
  await putJson(archive, progressKey(day, progress.partition), progress);
}

/** Undefined when there is no progress that can be continued. */
export async function readProgress(
  archive: Archive,
  day: string,
  partition: number,
): Promise<ArchivedPartition | undefined> {
  const found = await readJson(archive, progressKey(day, partition)).catch(error => {
    if (error instanceof ArchiveDamaged) return undefined;
    throw error;
  });
  return isPartition(found) && found.partition === partition ? found : undefined;
}

async function putJson(archive: Archive, key: string, value: object, indent = 0): Promise<void> {
  const text = `${JSON.stringify(value, null, indent)}\n`;
  await archive.put(key, new TextEncoder().encode(text));
  const kept = await archive.get(key);
  if (kept === undefined || new TextDecoder().decode(kept) !== text)
    throw new ArchiveDamaged(`${key} is not in the archive as it was put there`);
}

async function readJson(archive: Archive, key: string, name = key): Promise<unknown> {
  const bytes = await archive.get(key);
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    throw new ArchiveDamaged(`${name} in the archive cannot be read`);
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/** Whether the parts follow each other and end where their range does. */
function isPartition(given: unknown): given is ArchivedPartition {
  if (typeof given !== 'object' || given === null) return false;
  const { partition, from, to, lost, clicks, parts } = given as Partial<ArchivedPartition>;
  if (![partition, from, to, lost, clicks].every(isCount) || !Array.isArray(parts)) return false;
  const list = parts as readonly ArchivedPart[];
  return (
    list.every(part => isCount(part.bytes) && sha256Pattern.test(part.sha256) && part.from < part.to) &&
    list.every((part, index) => part.from === (index === 0 ? from : list[index - 1]!.to)) &&
    (list.length === 0 || list.at(-1)!.to === to)
  );
}
