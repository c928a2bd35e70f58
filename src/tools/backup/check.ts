/** Reads a whole backup and checks it against its manifest, file by file and table by table. */
import { join } from 'node:path';
import { RequestError } from '../../cli/command.ts';
import { damageOf } from '../../engines/sqlite/snapshot.ts';
import { type FileSum, isMissing, sumOfFile } from './durable-files.ts';
import type { Manifest } from './manifest.ts';

/** Throws what is wrong with the first file that changed. */
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

/** Reads the file and compares it with what was written. */
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
