/**
 * Clicks as they happen, for clients that watch a link. Own clicks are shown as they pass; those of other processes on
 * the same data folder are read from their logs as they grow. It costs nothing while there are no watchers.
 */
import { type ClickBatch, clickAt, clickCount } from './click.ts';
import { clickValuesAt, type ShownClick } from './dimensions.ts';
import { type ClickLog, type LogPartition, producerOf, readBatches } from './log.ts';

export interface LiveUpdate {
  readonly clicks: readonly ShownClick[];
  /** Clicks per code, also of those beyond the first few that are shown one by one. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface LiveFeedOptions {
  readonly log: Pick<ClickLog, 'partitionsOf' | 'read'>;
  readonly producer: string;
  /** How far each partition of a single producer has been counted, which is "now" for a new watcher. */
  readonly positions: () => Promise<ReadonlyMap<string, number>>;
}

/** Single clicks of a link that are shown per batch; a viral link is shown by its count. */
const shownPerLinkMax = 50;
/** Of all links together, shared evenly: clicks on one's own link cannot hide what others watch. */
const shownMax = 500;
/** Bytes read of each log per look; the rest is read at the next. */
const tailBytesMax = 1024 * 1024;

export class LiveFeed {
  readonly #options: LiveFeedOptions;
  #watched: ReadonlySet<string> = new Set();
  /** How far other producers' logs have been shown; undefined while there are no watchers. */
  #shown: Map<string, number> | undefined;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  watch(codes: readonly string[]): void {
    this.#watched = new Set(codes);
    if (codes.length === 0) this.#shown = undefined;
  }

  /** What watchers should see of a batch; undefined for nothing. */
  pick(batch: ClickBatch): LiveUpdate | undefined {
    if (this.#watched.size === 0) return undefined;
    const watchedLinks = batch.links.map(({ code }) => this.#watched.has(code));
    const clicks: ShownClick[] = [];
    // Without a prototype, because a code may be `__proto__`.
    const counts: Record<string, number> = Object.create(null);
    const share = Math.min(shownPerLinkMax, Math.ceil(shownMax / this.#watched.size));
    for (let index = 0; index < clickCount(batch); index += 1) {
      if (!watchedLinks[batch.link[index]!]) continue;
      const { code } = batch.links[batch.link[index]!]!;
      counts[code] = (counts[code] ?? 0) + 1;
      if (counts[code] <= share) clicks.push(liveClickAt(batch, index));
    }
    return Object.keys(counts).length === 0 ? undefined : { clicks, counts };
  }

  /** What other processes have logged since the last look. */
  async tail(): Promise<LiveUpdate[]> {
    if (this.#watched.size === 0) return [];
    const { log, producer: own, positions } = this.#options;
    const partitions = await log.partitionsOf([...this.#watched]);
    const before = this.#shown ?? (await positions());
    // What a partition had before it was watched is not shown; the only producer of a new one has just begun.
    const startOf = ({ name, end, producer }: LogPartition): number =>
      before.get(name) ?? (producer === undefined ? end : 0);
    const shown = new Map(partitions.map(partition => [partition.name, startOf(partition)]));
    this.#shown = shown;
    const updates: LiveUpdate[] = [];
    for (const { name: partition, end, producer } of partitions) {
      if (producer === own || end <= shown.get(partition)!) continue;
      const batches = await readBatches(log, partition, shown.get(partition)!, tailBytesMax).catch(() => []);
      if (batches.length === 0) continue;
      shown.set(partition, batches.at(-1)!.to);
      const others = batches.filter(each => producerOf(each.producer) !== own);
      updates.push(...others.flatMap(({ batch }) => this.pick(batch) ?? []));
    }
    return updates;
  }
}

function liveClickAt(batch: ClickBatch, index: number): ShownClick {
  const { code, at, kind, signal } = clickAt(batch, index);
  return { code, at, kind, signal, ...clickValuesAt(batch, index) };
}

/** Who watches which link, and what each gets to see. */
export type Watcher = (update: LiveUpdate) => void;

interface Watching {
  readonly watcher: Watcher;
  readonly onEnd: () => void;
}

/** Watchers at once; beyond it a new one is rejected. */
export const watchersMax = 1_000;

export class WatchList {
  readonly #byCode = new Map<string, Set<Watching>>();
  readonly #onCodes: (codes: readonly string[]) => void;
  #count = 0;
  #isOver = false;

  /** `onCodes` is called with the whole list whenever it changes. */
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

  /** Returns the function that ends it; `onEnd` is called when it is ended from elsewhere. */
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

  /** Notifies every watcher of the end, and accepts no more of them. */
  endAll(): void {
    this.#isOver = true;
    for (const { onEnd } of [...this.#byCode.values()].flatMap(watchers => [...watchers])) onEnd();
  }
}
