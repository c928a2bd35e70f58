/**
 * Clicks as they happen, for clients that watch a link. This process's own clicks are shown directly; those of other
 * processes on the same data folder are read from their growing logs. It costs nothing while there are no watchers.
 */
import { type ClickBatch, clickAt, clickCount } from './click.ts';
import { clickValuesAt, type ShownClick } from './dimensions.ts';
import { type ClickLog, type LogPartition, producerOf, readBatches } from './log.ts';

export interface LiveUpdate {
  readonly clicks: readonly ShownClick[];
  /** Clicks per code, including those beyond the first few that are shown one by one. */
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
/** The limit for all links together, shared evenly: one link's clicks cannot hide those of the others. */
const shownMax = 500;
/** Bytes read of each log per call; the next call reads on. */
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

  /** The clicks of a batch that watchers should see; undefined for none. */
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

  /** The clicks that other processes have logged since the last call. */
  async tail(): Promise<LiveUpdate[]> {
    if (this.#watched.size === 0) return [];
    const { log, producer: own, positions } = this.#options;
    const partitions = await log.partitionsOf([...this.#watched]);
    const before = this.#shown ?? (await positions());
    // Clicks from before a partition was watched are not shown; a new one with a single producer has only new clicks.
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

/** The watchers of each link; each gets only the clicks of its link. */
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

  /** Whether new watchers are rejected: because of the limit, or because the process is stopping. */
  get isFull(): boolean {
    return this.#isOver || this.#count >= watchersMax;
  }

  /** Returns the function that ends the watch; `onEnd` is called when it ends otherwise. */
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

  /** Sends each watcher the clicks of its link. */
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
