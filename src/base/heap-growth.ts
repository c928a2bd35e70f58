/**
 * When a thread should collect its garbage by itself. The runtime lets a heap grow several times before it looks at old
 * objects, and a thread that lives by the batch ages all of its garbage. Between two batches a collection delays nobody.
 */
export interface Heap {
  /** Bytes, with buffers outside of the heap. */
  size(): number;
  /** Collects everything there is to collect before it returns. */
  collect(): void;
}

/** Below it a collection costs more than the memory is worth. */
const growthMinBytes = 24 * 1024 * 1024;
/** Of what is in use: where much is, collecting takes longer, and is done less often. */
const growthShare = 0.5;

export class HeapGrowth {
  readonly #heap: Heap;
  /** The least it had since the last collection. */
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
