/** Sorted clicks into a run, with its summaries and what it adds to the totals. */
import type { Database } from 'bun:sqlite';
import { grainMs } from '../../warehouse.ts';
import {
  byList,
  chunkRowsMax,
  isHuman,
  type LinkKey,
  type LinkRows,
  type ListName,
  type Rows,
} from './chunk.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { scopeOf } from './runs.ts';
import { ScopeClicks, type Slice } from './scope-clicks.ts';
import type { SummaryRow } from './summary.ts';
import { SumsOfScopes, tagSpans } from './sums.ts';
import { ownerKey, type TotalsWriter, tagKey } from './totals.ts';

/** Bounds of what summaries of an owner's tags hold while a run is written; some 500 bytes a value. */
const tagsMax = 64;
const tagValuesMax = 100_000;
/** Clicks between two looks at how many values there are. */
const tagRowsPerLook = 4_096;
/** Stands among the summaries of an owner with more tags; no tag has this name. */
export const manyTags = '::';
const noBytes = new Uint8Array(0);
const noSummary: SummaryRow = {
  minutes: noBytes,
  whole: noBytes,
  slots: noBytes,
  visitors: noBytes,
  slot_visitors: noBytes,
};

/** Where the clicks that are appended come from. */
export interface Origin {
  readonly totalled: boolean;
  /** Whether a summary of the owner already has them. */
  readonly isInSummaries: boolean;
  /** Whether a summary of the link already has them. */
  readonly isLinkSummarised?: boolean;
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
  /** An owner with very many tags, or values in them, has no summaries of them. */
  #hasManyTags = false;
  #tagRows = 0;
  /** Clicks of the link that are not written yet, while its run is rolled off. */
  #held: Slice[] = [];
  #heldRows = 0;
  #holdsTagged = false;
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
    const { isLinkSummarised = false, isInSummaries } = origin;
    if (!origin.totalled)
      this.#sums?.add(key, rows, from, to, { isOfLink: !isLinkSummarised, isOfOwner: !isInSummaries });
    if (!rollsOff) {
      this.#chunks.append(key, rows, from, to);
      return;
    }
    this.#goTo(key);
    const slice = { code: key.code, rows, from, to };
    const since = this.#sinceOf(key.code);
    // Once there are only summaries, that of a link must not have what was deleted.
    if (!isLinkSummarised)
      this.#link.add(since === 0 ? slice : { ...slice, from: firstFrom(rows.at, from, to, since) });
    this.#hold(key, slice, isLinkSummarised || this.#link.builder !== undefined);
    if (key.owner === '') return;
    if (!isInSummaries) this.#addToOwner([slice], slice);
    else if (this.#owner.builder !== undefined) this.#addToTags(slice);
  }

  /** Of a link that has a summary only clicks with tags are kept, for tags that have none. */
  #hold(key: LinkKey, slice: Slice, isSummarised: boolean): void {
    const added = isSummarised ? taggedIn(slice) : [slice];
    if (isSummarised && !this.#holdsTagged) this.#held = this.#held.flatMap(taggedIn);
    this.#holdsTagged = isSummarised;
    this.#held.push(...added);
    this.#heldRows += rowsIn(added);
    if (this.#heldRows >= chunkRowsMax) this.#writeRolledOff(key);
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

  /** The summary that the next owner has in a run that was rolled off before. */
  appendOwner(owner: string, summary: SummaryRow, origin: Origin): void {
    if (this.#key?.owner !== owner) this.#goTo({ owner, hash: -1, code: '' });
    if (!origin.totalled) this.#sums?.addOwner(owner, summary);
    this.#owner.addSummary(summary);
    for (const each of this.#owner.takeReplayed()) this.#addToTags(each);
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
    if (this.#link.builder !== undefined) this.#store(key.owner, key.code, this.#link);
    if (rollsOff) this.#writeRolledOff(key);
    this.#holdsTagged = false;
    if (makesSummaries) this.#link.clear();
  }

  #endOwner(): void {
    const owner = this.#key?.owner;
    if (owner === undefined) return;
    if (this.#owner.builder !== undefined) {
      this.#store(owner, ownerKey(owner).code, this.#owner);
      for (const [tag, clicks] of this.#tags) this.#store(owner, tagKey(owner, tag).code, clicks);
      if (this.#hasManyTags) this.#storeRow(scopeOf(owner, manyTags), noSummary);
    }
    this.#owner.clear();
    this.#tags = new Map();
    this.#hasManyTags = false;
  }

  #addToTags({ code, rows, from, to }: Slice): void {
    if (this.#hasManyTags) return;
    for (const { tags, first, end } of tagSpans(rows, from, to)) {
      const slice = { code, rows, from: first, to: end };
      for (const tag of tags) this.#tag(tag).add(slice, [slice]);
    }
    this.#tagRows += to - from;
    this.#hasManyTags = this.#tags.size > tagsMax || this.#hasManyTagValues();
    if (this.#hasManyTags) this.#tags = new Map();
  }

  #hasManyTagValues(): boolean {
    if (this.#tagRows < tagRowsPerLook) return false;
    this.#tagRows = 0;
    return this.#tags.values().reduce((sum, { builder }) => sum + (builder?.size ?? 0), 0) > tagValuesMax;
  }

  #tag(tag: string): ScopeClicks {
    const known = this.#tags.get(tag);
    if (known !== undefined) return known;
    const fresh = new ScopeClicks(true, 1);
    this.#tags.set(tag, fresh);
    return fresh;
  }

  #store(owner: string, code: string, clicks: ScopeClicks): void {
    this.#storeRow(scopeOf(owner, code), clicks.finish(!this.#options.rollsOff));
  }

  #storeRow(scope: string, { minutes, whole, slots, visitors, slot_visitors }: SummaryRow): void {
    const { database, run } = this.#options;
    database
      .query(
        'INSERT INTO summaries (run, scope, minutes, whole, slots, visitors, slot_visitors) VALUES (?, ?, ?, ?, ?, ?, ?)',
      )
      .run(run, scope, minutes, whole, slots, visitors, slot_visitors);
  }

  /**
   * Each quarter hour with its columns sorted by themselves, so that clicks cannot be told apart where there are several.
   * Clicks with different tags are kept apart, because they belong to different scopes.
   */
  #writeRolledOff(key: LinkKey): void {
    const since = this.#sinceOf(key.code);
    const clicks = this.#held.flatMap(({ rows, from, to }) =>
      Array.from({ length: to - from }, (_, index) => new HeldClick(rows, from + index, since)),
    );
    this.#held = [];
    this.#heldRows = 0;
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

const taggedIn = ({ code, rows, from, to }: Slice): Slice[] =>
  Array.from(tagSpans(rows, from, to), ({ first, end }) => ({ code, rows, from: first, to: end }));
const rowsIn = (slices: readonly Slice[]): number => slices.reduce((sum, { from, to }) => sum + to - from, 0);

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

/** The first of clicks in the order of time that came at a time or later. */
export function firstFrom(at: ArrayLike<number>, from: number, to: number, since: number): number {
  let index = from;
  while (index < to && at[index]! < since) index += 1;
  return index;
}
