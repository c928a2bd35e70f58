/** Who watches which link, and what each gets to see. */
import type { LiveUpdate } from './live.ts';

export type Watcher = (update: LiveUpdate) => void;

interface Watching {
  readonly watcher: Watcher;
  readonly onEnd: () => void;
}

/** Watchers at once; past it a new one is refused. */
export const watchersMax = 1_000;

export class WatchList {
  readonly #byCode = new Map<string, Set<Watching>>();
  readonly #onCodes: (codes: readonly string[]) => void;
  #count = 0;
  #isOver = false;

  /** `onCodes` hears the whole list whenever it changes. */
  constructor(onCodes: (codes: readonly string[]) => void) {
    this.#onCodes = onCodes;
  }

  get codes(): readonly string[] {
    return [...this.#byCode.keys()];
  }

  /** Whether there is no place for another watcher, for now or because all is coming to its end. */
  get isFull(): boolean {
    return this.#isOver || this.#count >= watchersMax;
  }

  /** Returns the function that ends it; `onEnd` is called when somebody else ends it. */
  watch(code: string, watcher: Watcher, onEnd: () => void = () => {}): () => void {
    const watchers = this.#byCode.get(code) ?? new Set();
    const entry: Watching = { watcher, onEnd };
    watchers.add(entry);
    this.#count += 1;
    if (!this.#byCode.has(code)) {
      this.#byCode.set(code, watchers);
      this.#onCodes([...this.#byCode.keys()]);
    }
    let watching = true;
    return () => {
      if (!watching) return;
      watching = false;
      this.#count -= 1;
      watchers.delete(entry);
      if (watchers.size > 0) return;
      this.#byCode.delete(code);
      this.#onCodes([...this.#byCode.keys()]);
    };
  }

  /** Each watcher gets what concerns its link. */
  publish({ clicks, counts }: LiveUpdate): void {
    const byCode = Map.groupBy(clicks, ({ code }) => code);
    for (const [code, count] of Object.entries(counts)) {
      const update = { clicks: byCode.get(code) ?? [], counts: { [code]: count } };
      for (const { watcher } of this.#byCode.get(code) ?? []) watcher(update);
    }
  }

  /** Tells every watcher that it is over, and takes no more of them. */
  endAll(): void {
    this.#isOver = true;
    for (const { onEnd } of [...this.#byCode.values()].flatMap(watchers => [...watchers])) onEnd();
  }
}
