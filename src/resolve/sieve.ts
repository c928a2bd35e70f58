/**
 * A bounded map with SIEVE eviction: a queue in order of arrival and a hand that sweeps from the oldest to the newest
 * and spares every key that was read since its last pass. A hit sets one bit and moves nothing, so it is cheaper than
 * LRU, and a scan of cold keys does not evict the warm ones.
 */
interface Node<Value> {
  readonly key: string;
  value: Value;
  visited: boolean;
  newer: Node<Value> | undefined;
  older: Node<Value> | undefined;
}

export class SieveCache<Value> {
  readonly #capacity: number;
  readonly #nodes = new Map<string, Node<Value>>();
  #newest: Node<Value> | undefined;
  #oldest: Node<Value> | undefined;
  #hand: Node<Value> | undefined;

  constructor(capacity: number) {
    this.#capacity = Math.max(1, capacity);
  }

  get size(): number {
    return this.#nodes.size;
  }

  get(key: string): Value | undefined {
    const node = this.#nodes.get(key);
    if (node === undefined) return undefined;
    node.visited = true;
    return node.value;
  }

  set(key: string, value: Value): void {
    const existing = this.#nodes.get(key);
    if (existing !== undefined) {
      existing.value = value;
      existing.visited = true;
      return;
    }
    if (this.#nodes.size >= this.#capacity) this.#evictOne();
    const node: Node<Value> = { key, value, visited: false, newer: undefined, older: this.#newest };
    if (this.#newest !== undefined) this.#newest.newer = node;
    this.#newest = node;
    this.#oldest ??= node;
    this.#nodes.set(key, node);
  }

  delete(key: string): void {
    const node = this.#nodes.get(key);
    if (node !== undefined) this.#remove(node);
  }

  clear(): void {
    this.#nodes.clear();
    this.#newest = this.#oldest = this.#hand = undefined;
  }

  #evictOne(): void {
    let node = this.#hand ?? this.#oldest;
    // Each step clears a bit, so a victim is found within one full turn.
    while (node?.visited) {
      node.visited = false;
      node = node.newer ?? this.#oldest;
    }
    if (node === undefined) return;
    this.#hand = node.newer;
    this.#remove(node);
  }

  #remove(node: Node<Value>): void {
    if (this.#hand === node) this.#hand = node.newer;
    if (node.newer !== undefined) node.newer.older = node.older;
    else this.#newest = node.older;
    if (node.older !== undefined) node.older.newer = node.newer;
    else this.#oldest = node.newer;
    this.#nodes.delete(node.key);
  }
}
