/**
 * What a day in the archive consists of. The manifest is put last and names every part with its checksum, so whoever
 * has it can tell whether the rest is there and whole.
 */
import { type Archive, ArchiveDamaged, manifestKey } from './archive.ts';

export interface Manifest {
  readonly version: 1;
  readonly day: string;
  readonly files: readonly ManifestFile[];
}

export interface ManifestFile {
  /** Of the log, such as `<producer>.log`. */
  readonly name: string;
  readonly producer: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly clicks: number;
  /** Numbers of its first and last click; 0 when it has none that can be read. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly parts: readonly ManifestPart[];
}

export interface ManifestPart {
  readonly bytes: number;
  readonly sha256: string;
}

export async function putManifest(archive: Archive, manifest: Manifest): Promise<void> {
  await archive.put(
    manifestKey(manifest.day),
    new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`),
  );
}

/** Undefined when the day is not in the archive. */
export async function readManifest(archive: Archive, day: string): Promise<Manifest | undefined> {
  const bytes = await archive.get(manifestKey(day));
  if (bytes === undefined) return undefined;
  try {
    const given: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (isManifest(given) && given.day === day) return given;
  } catch {
    // No JSON is as bad as the wrong JSON.
  }
  throw new ArchiveDamaged(`the manifest of ${day} in the archive cannot be read`);
}

/** Names become paths when a day is restored, so nothing but a log's name is one. */
const namePattern = /^[\w-]+(?:~\d+~[\w-]+)?\.log$/;
const sha256Pattern = /^[0-9a-f]{64}$/;

function isManifest(given: unknown): given is Manifest {
  const { version, files } = given as Partial<Manifest>;
  return version === 1 && Array.isArray(files) && files.every(isFile);
}

function isFile({ name, sha256, bytes, parts }: ManifestFile): boolean {
  return (
    namePattern.test(name) &&
    sha256Pattern.test(sha256) &&
    parts.every(part => sha256Pattern.test(part.sha256) && Number.isSafeInteger(part.bytes)) &&
    parts.reduce((sum, part) => sum + part.bytes, 0) === bytes
  );
}
