/**
 * Whether reads come from memory, where they take microseconds, or from a disk that may take its time: whoever serves
 * visitors reads for itself in the first case, and has it done by a thread in the second.
 *
 * A read that takes long has not always waited for the disk: a busy machine makes everything take long, and handing
 * reads over would give it more to do. Only when the process has read from the disk meanwhile does it count.
 */
import type { Clock } from '../../base/clock.ts';

export interface DiskWatchOptions {
  readonly clock: Clock;
  /** Grows with each read of the process from a disk. */
  readonly diskReads: () => number;
}

const slowMs = 1;
/** One read that waits stops everybody, so memory has to have proven itself for a good while. */
const calmAfterMs = 60_000;

export class DiskWatch {
  readonly #options: DiskWatchOptions;
  #slowAtMs = Number.NEGATIVE_INFINITY;
  #diskReads: number;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#diskReads = options.diskReads();
  }

  /** Whether a read may well have to wait for the disk. */
  get isSlow(): boolean {
    return this.#options.clock.monotonicMs() - this.#slowAtMs < calmAfterMs;
  }

  note(tookMs: number): void {
    if (tookMs < slowMs) return;
    const before = this.#diskReads;
    this.#diskReads = this.#options.diskReads();
    if (this.#diskReads > before) this.#slowAtMs = this.#options.clock.monotonicMs();
  }
}
