/**
 * Clicks as they happen, for whoever watches a link. Own clicks are shown as they pass; those of other processes
 * on the same data folder are read from their logs as they grow. Watching costs nothing while nobody does.
 */
import { type ClickBatch, clickAt, clickCount } from './batch.ts';
import type { Click } from './click.ts';
import { type ClickSource, noterOf } from './stream.ts';

/** What is shown of a click: nothing that tells one visitor from another. */
export interface LiveClick {
  readonly code: string;
  readonly at: number;
  readonly kind: Click['kind'];
  readonly signal: Click['signal'];
  readonly country: string;
  readonly city: string;
  readonly browser: string;
  readonly os: string;
  readonly device: string;
  readonly referrer: string;
}

export interface LiveUpdate {
  readonly clicks: readonly LiveClick[];
  /** Clicks per code, also of those beyond the first few that are shown one by one. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface LiveFeedOptions {
  readonly stream: Pick<ClickSource, 'behind' | 'read'>;
  readonly producer: string;
  /** How far each partition has been counted, which is where "now" is when somebody begins to watch. */
  readonly positions: () => Promise<ReadonlyMap<string, number>>;
}

/** Single clicks of a link that are shown per batch; a viral link is shown by its count. */
const shownPerLinkMax = 50;
/** Of all links together, shared evenly: nobody can hide what others watch by clicking on a link of their own. */
const shownMax = 500;
/** Read of each log at a look; whatever is left is read at the next. */
const tailBytesMax = 1024 * 1024;

export class LiveFeed {
  readonly #options: LiveFeedOptions;
  #watched: ReadonlySet<string> = new Set();
  /** How far other producers' logs have been shown; undefined while nobody watches. */
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
    const clicks: LiveClick[] = [];
    // Without a prototype, because a code may be `__proto__`.
    const counts: Record<string, number> = Object.create(null);
    const share = Math.min(shownPerLinkMax, Math.ceil(shownMax / this.#watched.size));
    for (let index = 0; index < clickCount(batch); index += 1) {
      if (!watchedLinks[batch.link[index]!]) continue;
      const { code } = batch.links[batch.link[index]!]!;
      counts[code] = (counts[code] ?? 0) + 1;
      if (counts[code] <= share) clicks.push(liveClickOf(clickAt(batch, index)));
    }
    return Object.keys(counts).length === 0 ? undefined : { clicks, counts };
  }

  /** What other processes have logged since the last look. */
  async tail(): Promise<LiveUpdate[]> {
    if (this.#watched.size === 0) return [];
    const { stream, producer: own, positions } = this.#options;
    const shown = new Map(this.#shown ?? (await positions()));
    this.#shown = shown;
    const updates: LiveUpdate[] = [];
    for (const { name: partition, producer } of await stream.behind(shown)) {
      if (producer === own) continue;
      const batches = await stream.read(partition, shown.get(partition) ?? 0, tailBytesMax).catch(() => []);
      if (batches.length === 0) continue;
      shown.set(partition, batches.at(-1)!.to);
      const others = batches.filter(each => noterOf(each.producer) !== own);
      updates.push(...others.flatMap(({ batch }) => this.pick(batch) ?? []));
    }
    return updates;
  }
}

function liveClickOf({ code, at, kind, signal, country, city, agent, referrer }: Click): LiveClick {
  const { browser, os, device } = agent;
  return { code, at, kind, signal, country, city, browser, os, device, referrer: referrer.domain };
}
