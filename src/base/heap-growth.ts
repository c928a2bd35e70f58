/**
 * Decides when a thread should collect its garbage itself. The runtime lets a heap grow several times over before it
 * collects old objects, and in a thread that works in batches all garbage becomes old. Between two batches a collection
 * delays nobody.
 */
export interface Heap {
  /** Bytes, with buffers outside of the heap. */
  size(): number;
  /** Collects everything there is to collect before it returns. */
  collect(): void;
}

/** Below it a collection costs more than the memory is worth. */
const growthMinBytes = 24 * 1024 * 1024;
/** Growth as a share of the memory in use: the more is in use, the longer a collection takes. */
const growthShare = 0.5;

export class HeapGrowth {
  readonly #heap: Heap;
  /** The smallest size since the last collection. */
  #usedBytes: number;

  constructor(heap: Heap) {
    this.#heap = heap;
    this.#usedBytes = heap.size();
  }

  /** Call it where a pause does no harm. */
  bound(): void {
    const bytes = this.#heap.size();
    if (bytes < this.#usedBytes) this.#usedBytes = bytes;
    if (bytes - this.#usedBytes < Math.max(growthMinBytes, this.#usedBytes * growthShare)) return;
    this.#heap.collect();
    this.#usedBytes = this.#heap.size();
  }
}
