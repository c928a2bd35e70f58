/**
 * Which links' clicks were deleted, and up to when. The marks lie beside the log and not in the warehouse, because
 * the warehouse may be thrown away and counted again, and what was deleted must stay deleted. One line per
 * deletion, appended and made durable before anything else happens.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const fileOf = (folder: string): string => join(folder, 'forgotten');

export function markForgotten(folder: string, code: string, at: number): void {
  const file = openSync(fileOf(folder), 'a', 0o600);
  try {
    writeSync(file, `${code} ${at}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The latest mark of each link. A line that a crash cut off does not parse and is passed over. */
export function readForgotten(folder: string): Map<string, number> {
  const marks = new Map<string, number>();
  if (!existsSync(fileOf(folder))) return marks;
  for (const [, code, at] of readFileSync(fileOf(folder), 'utf8').matchAll(/^(\S+) (\d+)\n/gm)) {
    marks.set(code!, Math.max(marks.get(code!) ?? 0, Number(at)));
  }
  return marks;
}
