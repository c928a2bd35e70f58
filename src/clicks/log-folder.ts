/**
 * The newest click number of each producer of a machine, in small files mapped into memory. Writing one is a store to
 * memory, yet it survives `kill -9`, because the page belongs to the kernel and not to the process. So after a crash it
 * is known exactly how many clicks were recorded, and therefore how many were lost.
 */

import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { files } from '../base/files.ts';
import type { ProducerHead } from './log.ts';

const fields = { sequence: 0, lastClickAt: 1, aliveAt: 2, storedUntil: 3 } as const;
const fileBytes = 4096;
/** Where the numbers of each partition begin, if partitions are numbered separately. */
const numbersField = 8;
/** A producer that is silent for this long is considered dead; a living one beats several times a second. */
const aliveMs = 10_000;

export const headsFolder = (folder: string): string => join(folder, 'heads');
export const headPath = (folder: string, producer: string): string =>
  join(headsFolder(folder), `${producer}.head`);

export function makeHeadsFolder(folder: string): void {
  files.mkdirSync(headsFolder(folder), { recursive: true, mode: 0o700 });
}

export class ProducerHeadFile {
  readonly #values: Float64Array;

  constructor(path: string) {
    if (!files.existsSync(path)) files.writeFileSync(path, new Uint8Array(fileBytes), { mode: 0o600 });
    const bytes = files.mapFile(path);
    this.#values = new Float64Array(bytes.buffer, bytes.byteOffset, fileBytes / 8);
  }

  note(sequence: number, at: number): void {
    this.#values[fields.sequence] = sequence;
    this.#values[fields.lastClickAt] = at;
  }

  beat(now: number): void {
    this.#values[fields.aliveAt] = now;
  }

  /** The stored time never decreases, even if a new thread starts with an earlier one. */
  stored(until: number): void {
    this.#values[fields.storedUntil] = Math.max(until, this.#values[fields.storedUntil]!);
  }

  read(): HeadReading {
    const [sequence = 0, lastClickAt = 0, aliveAt = 0, storedUntil = 0] = this.#values;
    return { sequence, lastClickAt, aliveAt, storedUntil };
  }

  /** How many clicks were numbered for each partition; the caller updates the array in place. */
  numbers(partitions: number): Float64Array {
    if (partitions > this.#values.length - numbersField)
      throw new Error(`${partitions} partitions are too many`);
    return this.#values.subarray(numbersField, numbersField + partitions);
  }
}

export interface HeadReading {
  readonly sequence: number;
  readonly lastClickAt: number;
  readonly aliveAt: number;
  readonly storedUntil: number;
}

export function readHead(path: string): HeadReading {
  const bytes = files.readFileSync(path);
  const read = (field: number): number =>
    bytes.length >= (field + 1) * 8 ? bytes.readDoubleLE(field * 8) : 0;
  return {
    sequence: read(fields.sequence),
    lastClickAt: read(fields.lastClickAt),
    aliveAt: read(fields.aliveAt),
    storedUntil: read(fields.storedUntil),
  };
}

/** All producers of a machine that are not forgotten yet. */
export function readHeads(folder: string, clock: Clock): ProducerHead[] {
  const now = clock.now();
  return files.readdirSync(headsFolder(folder)).flatMap(name => {
    if (!name.endsWith('.head')) return [];
    const { aliveAt, ...reading } = readHead(join(headsFolder(folder), name));
    const alive = Math.abs(now - aliveAt) < aliveMs;
    return [{ producer: name.slice(0, -'.head'.length), ...reading, alive }];
  });
}

/**
 * The links whose clicks were deleted, and up to which time. This is kept beside the log and not in the warehouse,
 * because the warehouse may be discarded and recounted, and deleted clicks must stay deleted. One line per deletion,
 * appended and synced before anything else happens.
 */
const fileOf = (folder: string): string => join(folder, 'forgotten');

export function markForgotten(folder: string, code: string, at: number): void {
  const file = files.openSync(fileOf(folder), 'a', 0o600);
  try {
    files.writeSync(file, `${code} ${at}\n`);
    files.fsyncSync(file);
  } finally {
    files.closeSync(file);
  }
}

/** The latest deletion of each link. A line that a crash cut off does not parse and is skipped. */
export function readForgotten(folder: string): Map<string, number> {
  const marks = new Map<string, number>();
  if (!files.existsSync(fileOf(folder))) return marks;
  for (const [, code, at] of files.readFileSync(fileOf(folder), 'utf8').matchAll(/^(\S+) (\d+)\n/gm)) {
    marks.set(code!, Math.max(marks.get(code!) ?? 0, Number(at)));
  }
  return marks;
}
