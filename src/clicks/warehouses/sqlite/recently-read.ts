/** What was read before, as far as there is room: runs, their chunks and summaries never change once they are live. */
import type { Database } from 'bun:sqlite';

export class RecentlyRead<Value> {
  readonly #costOf: (value: Value) => number;
  readonly #costMax: number;
  readonly #of = new WeakMap<Database, { cost: number; readonly values: Map<string, Value> }>();

  constructor(costOf: (value: Value) => number, costMax: number) {
    this.#costOf = costOf;
    this.#costMax = costMax;
  }

  /** Undefined when there is nothing to read, which is not remembered. */
  get(database: Database, name: string, read: () => Value | undefined): Value | undefined {
    const kept = this.#of.getOrInsertComputed(database, () => ({ cost: 0, values: new Map() }));
    const known = kept.values.get(name);
    if (known !== undefined) {
      kept.values.delete(name);
      kept.values.set(name, known);
      return known;
    }
    const value = read();
    const cost = value === undefined ? 0 : this.#costOf(value);
    // One that is too large for all the room there is would only drive out the others.
    if (value === undefined || cost > this.#costMax) return value;
    for (const [oldest, each] of kept.values) {
      if (kept.cost + cost <= this.#costMax) break;
      kept.values.delete(oldest);
      kept.cost -= this.#costOf(each);
    }
    kept.values.set(name, value);
    kept.cost += cost;
    return value;
  }
}
