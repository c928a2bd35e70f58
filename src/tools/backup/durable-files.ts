/**
 * Copies files durably: hashed on the way, and synced to disk before anything depends on them. A log may grow while it
 * is copied; the copy has what the log had at the beginning.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

export interface FileSum {
  readonly bytes: number;
  readonly sha256: string;
}

const chunkBytes = 1024 * 1024;

/** Copies into a new file; creates its parent folders. */
export function copyFile(from: string, to: string): FileSum {
  const source = openSync(from, 'r');
  try {
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    const target = openSync(to, 'wx', 0o600);
    try {
      const sum = walk(source, chunk => writeFileSync(target, chunk));
      fsyncSync(target);
      return sum;
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

export function sumOfFile(path: string): FileSum {
  const file = openSync(path, 'r');
  try {
    return walk(file, () => {});
  } finally {
    closeSync(file);
  }
}

/** Paths of all files below a folder, relative to it, sorted. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap(entry =>
      entry.isDirectory()
        ? filesBelow(join(folder, entry.name)).map(name => join(entry.name, name))
        : entry.isFile()
          ? [entry.name]
          : [],
    )
    .sort();
}

/** Makes the names in a folder, and in all folders below it, as durable as what they name. */
export function syncFolders(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) syncFolders(join(folder, entry.name));
  }
  syncFolder(folder);
}

/** Makes the names in a folder durable. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: string }).code === 'ENOENT';

function walk(file: number, take: (chunk: Uint8Array) => void): FileSum {
  const hash = createHash('sha256');
  const { size } = fstatSync(file);
  const buffer = new Uint8Array(Math.max(1, Math.min(chunkBytes, size)));
  let position = 0;
  while (position < size) {
    const read = readSync(file, buffer, 0, Math.min(buffer.length, size - position), position);
    if (read === 0) break;
    const chunk = buffer.subarray(0, read);
    hash.update(chunk);
    take(chunk);
    position += read;
  }
  return { bytes: position, sha256: hash.digest('hex') };
}
