/**
 * The list of a backup's contents. Its file is written last: if it exists, everything in it was written, synced and
 * read back. Paths in it come from a disk that others may write to, so none may lead out of the folder.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RequestError } from '../../cli/command.ts';
import { damageOf, type TableSum } from '../../engines/sqlite/snapshot.ts';
import { type FileSum, isMissing, sumOfFile } from './durable-files.ts';

export interface Manifest {
  readonly format: 1;
  /** The version of Terse that made it. */
  readonly version: string;
  /** When it began: everything acknowledged before is in it. */
  readonly startedAt: number;
  readonly databases: readonly SavedDatabase[];
  readonly files: readonly SavedFile[];
}

export interface SavedDatabase extends FileSum {
  readonly name: string;
  /** The contents of the tables at the moment of the snapshot, read from the source itself. */
  readonly tables: readonly TableSum[];
}

export interface SavedFile extends FileSum {
  /** From the backup's folder, such as `clicks/2026-11-15/….log`. */
  readonly path: string;
}

export const manifestName = 'backup.json';

export function writeManifest(folder: string, manifest: Manifest): void {
  const text = `${JSON.stringify(manifest, undefined, 1)}\n`;
  writeFileSync(join(folder, manifestName), text, { mode: 0o600, flag: 'wx', flush: true });
}

export function readManifest(folder: string): Manifest {
  let text: string;
  try {
    text = readFileSync(join(folder, manifestName), 'utf8');
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new RequestError(`${folder} is not a backup: it has no ${manifestName}`);
  }
  const manifest = parsed(text);
  if (manifest?.format !== 1) {
    throw new RequestError(`${manifestName} in ${folder} is damaged, or of a newer Terse`);
  }
  const names = [...manifest.databases.map(({ name }) => name), ...manifest.files.map(({ path }) => path)];
  const stray = names.find(name => !isInside(name));
  if (stray !== undefined)
    throw new RequestError(`${manifestName} in ${folder} names ${stray}: it is damaged`);
  return manifest;
}

function parsed(text: string): Manifest | undefined {
  try {
    const value = JSON.parse(text) as Partial<Manifest>;
    return Array.isArray(value.databases) && Array.isArray(value.files) && Number.isFinite(value.startedAt)
      ? (value as Manifest)
      : undefined;
  } catch {
    return undefined;
  }
}

const isInside = (path: unknown): boolean =>
  typeof path === 'string' &&
  path.split('/').every(part => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'));

/** Reads a whole backup and compares it with its manifest. Throws the problem of the first file that differs. */
export function checkBackup(folder: string, { databases, files }: Manifest): void {
  for (const { name, ...saved } of databases) {
    requireSame(folder, name, saved);
    requireSound(join(folder, name), saved.tables);
  }
  for (const { path, ...saved } of files) requireSame(folder, path, saved);
}

export function requireSound(path: string, tables: Manifest['databases'][number]['tables']): void {
  const damage = damageOf(path, tables);
  if (damage !== undefined) throw new RequestError(`${path} is damaged: ${damage}`);
}

/** Reads a file and throws if it differs from the manifest. */
export function requireSame(folder: string, name: string, saved: FileSum): void {
  const path = join(folder, name);
  try {
    requireSum(path, sumOfFile(path), saved);
  } catch (error) {
    if (isMissing(error)) throw new RequestError(`${path} is missing`);
    throw error;
  }
}

export function requireSum(path: string, found: FileSum, saved: FileSum): void {
  if (found.bytes !== saved.bytes)
    throw new RequestError(`${path} has ${found.bytes} bytes instead of ${saved.bytes}`);
  if (found.sha256 !== saved.sha256)
    throw new RequestError(`${path} is not what it was: its checksum differs`);
}
