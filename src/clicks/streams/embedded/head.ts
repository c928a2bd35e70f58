/**
 * How far a producer has numbered its clicks, in a small file mapped into memory. Writing it is a store to
 * memory, yet it survives `kill -9`, because the page belongs to the kernel and not to the process. So after a
 * crash it is known exactly how many clicks were noted, and thereby how many were lost.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const fields = { sequence: 0, lastClickAt: 1, aliveAt: 2 } as const;
const fileBytes = 4096;

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
