/** Sorted clicks into a run, with its summaries and what it adds to the totals. */
import type { Database } from 'bun:sqlite';
import { grainMs } from '../../warehouse.ts';
import { byList, isHuman, type LinkKey, type LinkRows, type ListName, type Rows } from './chunk.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { scopeOf } from './runs.ts';
import { SummaryBuilder, type SummaryRow } from './summary.ts';
import { SumsOfScopes, tagSpans } from './sums.ts';
import { ownerKey, type TotalsWriter, tagKey } from './totals.ts';

/** A scope with this many clicks in a run has a summary. */
const summaryClicksMin = 1_024;

/** Where the clicks that are appended come from. */
export interface Origin {
  readonly totalled: boolean;
  /** Whether summaries of the owner and its tags already have them. */
  readonly isInSummaries: boolean;
}

export interface RunWriterOptions {
  readonly database: Database;
  readonly run: number;
  readonly day: number;
  readonly makesSummaries: boolean;
  readonly rollsOff: boolean;
  /** Links whose clicks were deleted, and until which time; needed where clicks are rolled off. */
  readonly forgotten?: ReadonlyMap<string, number>;
  /** Where what is newly added up goes; undefined when totals stay as they are. */
  readonly totals: TotalsWriter | undefined;
}

interface Slice {
  readonly code: string;
  readonly rows: Rows;
  readonly from: number;
  readonly to: number;
}

/** Writes a run from clicks that come in order, with its summaries and what it adds to the totals. */
export class RunWriter {
  readonly #options: RunWriterOptions;
  readonly #chunks: ChunkWriter;
  readonly #link = new ScopeClicks(false);
  readonly #owner = new ScopeClicks(true);
  #tags = new Map<string, ScopeClicks>();
  #key: LinkKey | undefined;
  /** Of clicks that are new to the totals. */
  readonly #sums: SumsOfScopes | undefined;
  /** Clicks of the link that are not written yet, while its run is rolled off. */
  #held: Slice[] = [];
  rows = 0;

  constructor(options: RunWriterOptions) {
    this.#options = options;
    const { database, run, day, makesSummaries, rollsOff, totals } = options;
    // Whole chunks are quicker to summarise than links with a click or two.
    const summarise = makesSummaries && !rollsOff;
    this.#chunks = new ChunkWriter(
      database,
      run,
      summarise ? (...chunk) => this.#summariseChunk(...chunk) : undefined,
    );
    this.#sums = totals && new SumsOfScopes(day, entry => totals.append(entry));
  }

  append(key: LinkKey, rows: Rows, from: number, to: number, origin: Origin): void {
    const { rollsOff } = this.#options;
    this.rows += to - from;
    if (!origin.totalled) this.#sums?.add(key, rows, from, to, !origin.isInSummaries);
    if (!rollsOff) {
      this.#chunks.append(key, rows, from, to);
      return;
    }
    this.#goTo(key);
    const slice = { code: key.code, rows, from, to };
    this.#held.push(slice);
    const since = this.#sinceOf(key.code);
    // Once there are only summaries, that of a link must not have what was deleted.
    this.#link.add(since === 0 ? slice : { ...slice, from: firstFrom(rows.at, from, to, since) });
    if (key.owner !== '' && !origin.isInSummaries) this.#addToOwner([slice], slice);
  }

  #summariseChunk(rows: Rows, links: readonly LinkRows[]): void {
    for (let first = 0; first < links.length; ) {
      const { owner } = links[first]!.key;
      const slices: Slice[] = [];
      let end = first;
      for (; end < links.length && links[end]!.key.owner === owner; end += 1) {
        const { key, from, to } = links[end]!;
        this.#goTo(key);
        const slice = { code: key.code, rows, from, to };
        this.#link.add(slice);
        slices.push(slice);
      }
      if (owner !== '')
        this.#addToOwner(slices, { code: '', rows, from: slices[0]!.from, to: slices.at(-1)!.to });
      first = end;
    }
  }

  /** Clicks of links of the owner; `all` of them together. Tags are summarised with their owner, from its first click on. */
  #addToOwner(links: readonly Slice[], all: Slice): void {
    const had = this.#owner.builder !== undefined;
    this.#owner.add(all, links);
    if (this.#owner.builder === undefined) return;
    for (const each of had ? links : this.#owner.takeReplayed()) this.#addToTags(each);
  }

  /** A link whose single clicks are gone. */
  appendSummary(key: LinkKey, summary: SummaryRow, origin: Origin): void {
    this.#goTo(key);
    if (!origin.totalled) this.#sums?.addSummary(key, summary);
    this.#link.addSummary(summary);
  }

  /** The summaries that the next owner has in a run that was rolled off before. */
  appendOwner(
    owner: string,
    summary: SummaryRow,
    tags: ReadonlyMap<string, SummaryRow>,
    origin: Origin,
  ): void {
    if (this.#key?.owner !== owner) this.#goTo({ owner, hash: -1, code: '' });
    if (!origin.totalled) this.#sums?.addOwner(owner, summary, tags);
    this.#owner.addSummary(summary);
    for (const [tag, row] of tags) this.#tag(tag).addSummary(row);
  }

  finish(): void {
    if (this.#options.rollsOff) this.#endLink();
    this.#chunks.flush();
    this.#endLink();
    this.#endOwner();
    this.#sums?.finish();
    this.#options.totals?.flush();
  }

  /** The first millisecond of the day whose clicks count for a link. */
  #sinceOf(code: string): number {
    return Math.max(0, (this.#options.forgotten?.get(code) ?? 0) - this.#options.day);
  }

  #goTo(key: LinkKey): void {
    const before = this.#key;
    if (before !== undefined && before.owner === key.owner && before.code === key.code) return;
    this.#endLink();
    if (before !== undefined && before.owner !== key.owner) this.#endOwner();
    this.#key = key;
  }

  #endLink(): void {
    const key = this.#key;
    if (key === undefined) return;
    const { makesSummaries, rollsOff } = this.#options;
    const { builder } = this.#link;
    if (builder !== undefined) this.#store(key.owner, key.code, this.#link);
    else if (rollsOff) this.#writeRolledOff(key);
    this.#held = [];
    if (makesSummaries) this.#link.clear();
  }

  #endOwner(): void {
    const owner = this.#key?.owner;
    if (owner === undefined) return;
    if (this.#owner.builder !== undefined) {
      this.#store(owner, ownerKey(owner).code, this.#owner);
      for (const [tag, clicks] of this.#tags) this.#store(owner, tagKey(owner, tag).code, clicks);
    }
    this.#owner.clear();
    this.#tags = new Map();
  }

  #addToTags({ code, rows, from, to }: Slice): void {
    for (const { tags, first, end } of tagSpans(rows, from, to)) {
      const slice = { code, rows, from: first, to: end };
      for (const tag of tags) this.#tag(tag).add(slice, [slice]);
    }
  }

  #tag(tag: string): ScopeClicks {
    const known = this.#tags.get(tag) ?? new ScopeClicks(true, 1);
    this.#tags.set(tag, known);
    return known;
  }

  #store(owner: string, code: string, clicks: ScopeClicks): void {
    const { database, run, rollsOff } = this.#options;
    const { minutes, whole, slots, visitors, slot_visitors } = clicks.finish(!rollsOff);
    database
      .query(
        'INSERT INTO summaries (run, scope, minutes, whole, slots, visitors, slot_visitors) VALUES (?, ?, ?, ?, ?, ?, ?)',
      )
      .run(run, scopeOf(owner, code), minutes, whole, slots, visitors, slot_visitors);
  }

  /**
   * Each quarter hour with its columns sorted by themselves: what a single click was cannot be told any more. Clicks with
   * different tags are kept apart, because they belong to different scopes.
   */
  #writeRolledOff(key: LinkKey): void {
    const since = this.#sinceOf(key.code);
    const clicks = this.#held.flatMap(({ rows, from, to }) =>
      Array.from({ length: to - from }, (_, index) => new HeldClick(rows, from + index, since)),
    );
    clicks.sort(
      (a, b) => a.at - b.at || a.kindOrder - b.kindOrder || (a.tags < b.tags ? -1 : a.tags > b.tags ? 1 : 0),
    );
    for (let first = 0; first < clicks.length; ) {
      let end = first + 1;
      while (end < clicks.length && clicks[end]!.isAlike(clicks[first]!)) end += 1;
      this.#chunks.append(key, mixed(clicks.slice(first, end)), 0, end - first);
      first = end;
    }
  }
}

/** A click of a link whose run is rolled off. */
class HeldClick {
  readonly rows: Rows;
  readonly index: number;
  /** The start of its quarter hour, or, behind a deletion of clicks, the time of that. */
  readonly at: number;
  /** People first. */
  readonly kindOrder: number;
  readonly tags: string;

  constructor(rows: Rows, index: number, since: number) {
    this.rows = rows;
    this.index = index;
    const at = rows.at[index]!;
    const quarter = Math.floor(at / grainMs.quarter) * grainMs.quarter;
    this.at = at < since ? quarter : Math.max(quarter, since);
    this.kindOrder = isHuman(rows.kind[index]!) ? 0 : 1;
    this.tags = this.entry('tags');
  }

  entry(list: ListName): string {
    return this.rows.lists[list][this.rows.codes[list][this.index]!]!;
  }

  isAlike({ at, kindOrder, tags }: HeldClick): boolean {
    return this.at === at && this.kindOrder === kindOrder && this.tags === tags;
  }
}

/** Clicks whose columns are sorted by themselves. */
function mixed(clicks: readonly HeldClick[]): Rows {
  const numbers = (pick: (rows: Rows) => ArrayLike<number>): Uint32Array =>
    Uint32Array.from(clicks, ({ rows, index }) => pick(rows)[index]!).sort();
  const places = Uint32Array.from(clicks, (_, index) => index);
  return {
    at: new Uint32Array(clicks.length).fill(clicks[0]!.at),
    kind: Uint8Array.from(numbers(({ kind }) => kind)),
    token: numbers(({ token }) => token),
    codes: byList(() => places),
    lists: byList(name => clicks.map(click => click.entry(name)).sort()),
  };
}

/** Clicks of the scope that is being written: held until they are many, and summarised from then on. */
class ScopeClicks {
  readonly #listsLinks: boolean;
  readonly #clicksMin: number;
  #held: { readonly all: Slice; readonly links: readonly Slice[] }[] = [];
  #replayed: Slice[] = [];
  #count = 0;
  /** All that came of the last link. */
  #link: Slice[] = [];
  builder: SummaryBuilder | undefined;

  constructor(listsLinks: boolean, clicksMin = summaryClicksMin) {
    this.#listsLinks = listsLinks;
    this.#clicksMin = clicksMin;
  }

  /** `links` are the same clicks, link by link. */
  add(all: Slice, links: readonly Slice[] = noLinks): void {
    if (all.from === all.to) return;
    if (this.builder !== undefined) {
      this.#build(all, links);
      return;
    }
    this.#held.push({ all, links });
    this.#count += all.to - all.from;
    if (this.#count >= this.#clicksMin) this.#begin();
  }

  addSummary(summary: SummaryRow): void {
    if (this.builder === undefined) this.#begin();
    this.builder!.addSummary(summary);
  }

  /** What was held when it became a summary, once. */
  takeReplayed(): readonly Slice[] {
    const replayed = this.#replayed;
    this.#replayed = [];
    return replayed;
  }

  finish(keepsMinutes: boolean): SummaryRow {
    this.#endLink();
    return this.builder!.finish(keepsMinutes);
  }

  clear(): void {
    if (this.#held.length > 0) this.#held = [];
    this.#replayed = [];
    this.#count = 0;
    this.#link = [];
    this.builder = undefined;
  }

  #begin(): void {
    this.builder = new SummaryBuilder();
    const held = this.#held;
    this.#held = [];
    for (const { all, links } of held) this.#build(all, links);
    this.#replayed = held.flatMap(({ links }) => links);
  }

  #build({ rows, from, to }: Slice, links: readonly Slice[]): void {
    this.builder!.add(rows, from, to);
    if (!this.#listsLinks) return;
    for (const slice of links) {
      if (this.#link[0]?.code !== slice.code) this.#endLink();
      this.#link.push(slice);
    }
  }

  #endLink(): void {
    const [first] = this.#link;
    if (first === undefined) return;
    this.builder!.addLink(first.code, this.#link);
    this.#link = [];
  }
}

const noLinks: readonly Slice[] = [];

/** The first of clicks in the order of time that came at a time or later. */
function firstFrom(at: ArrayLike<number>, from: number, to: number, since: number): number {
  let index = from;
  while (index < to && at[index]! < since) index += 1;
  return index;
}
