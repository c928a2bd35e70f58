/**
 * How far each producer of a machine has numbered its clicks, in small files mapped into memory. Writing one is a store
 * to memory, yet it survives `kill -9`, because the page belongs to the kernel and not to the process. So after a
 * crash it is known exactly how many clicks were noted, and thereby how many were lost.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { ProducerHead } from './stream.ts';

const fields = { sequence: 0, lastClickAt: 1, aliveAt: 2 } as const;
const fileBytes = 4096;
/** Where the numbers begin that were given for each partition, where there are such. */
const numbersField = 8;
/** A producer silent for this long is taken for dead; it beats several times a second. */
const aliveMs = 10_000;

export const headsFolder = (folder: string): string => join(folder, 'heads');
export const headPath = (folder: string, producer: string): string =>
  join(headsFolder(folder), `${producer}.head`);

export function makeHeadsFolder(folder: string): void {
  mkdirSync(headsFolder(folder), { recursive: true, mode: 0o700 });
}

export class ProducerHeadFile {
  readonly #values: Float64Array;

  constructor(path: string) {
    if (!existsSync(path)) writeFileSync(path, new Uint8Array(fileBytes), { mode: 0o600 });
    const bytes = Bun.mmap(path, { shared: true });
    this.#values = new Float64Array(bytes.buffer, bytes.byteOffset, fileBytes / 8);
  }

  note(sequence: number, at: number): void {
    this.#values[fields.sequence] = sequence;
    this.#values[fields.lastClickAt] = at;
  }

  beat(now: number): void {
    this.#values[fields.aliveAt] = now;
  }

  read(): HeadReading {
    const [sequence = 0, lastClickAt = 0, aliveAt = 0] = this.#values;
    return { sequence, lastClickAt, aliveAt };
  }

  /** How many clicks were numbered for each of so many partitions; written where it stands. */
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
}

export function readHead(path: string): HeadReading {
  const bytes = readFileSync(path);
  const read = (field: number): number =>
    bytes.length >= (field + 1) * 8 ? bytes.readDoubleLE(field * 8) : 0;
  return {
    sequence: read(fields.sequence),
    lastClickAt: read(fields.lastClickAt),
    aliveAt: read(fields.aliveAt),
  };
}

/** All producers of a machine that are not forgotten yet. */
export function readHeads(folder: string, clock: Clock): ProducerHead[] {
  const now = clock.now();
  return readdirSync(headsFolder(folder)).flatMap(name => {
    if (!name.endsWith('.head')) return [];
    const { sequence, lastClickAt, aliveAt } = readHead(join(headsFolder(folder), name));
    const alive = Math.abs(now - aliveAt) < aliveMs;
    return [{ producer: name.slice(0, -'.head'.length), sequence, lastClickAt, alive }];
  });
}
