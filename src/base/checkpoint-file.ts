/**
 * A number in a small file that outlives the process. The file is replaced atomically and durably, so a reader finds
 * the old number or the new one. A missing or unreadable number is undefined, and every reader must be able to start
 * without one.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export class CheckpointFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  read(): number | undefined {
    try {
      const text = readFileSync(this.#path, 'utf8');
      return /^\d{1,15}\n$/.test(text) ? Number(text) : undefined;
    } catch {
      return undefined;
    }
  }

  write(value: number): void {
    const unfinished = `${this.#path}.new`;
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    writeFileSync(unfinished, `${value}\n`, { mode: 0o600, flush: true });
    renameSync(unfinished, this.#path);
  }

  forget(): void {
    rmSync(this.#path, { force: true });
  }
}
