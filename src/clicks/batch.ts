/**
 * Many enriched clicks, kept as columns. What repeats (links, agents, referrers, places) stands once in a list
 * and clicks point to it by position, so a batch of thousands costs a few typed arrays instead of thousands of
 * objects, and packs to a handful of bytes per click.
 */
import {
  type AgentTraits,
  type Click,
  type ClickSignal,
  clickSignals,
  type ReferrerTraits,
  type VisitKind,
  visitKinds,
} from './click.ts';

export interface LinkEntry {
  readonly code: string;
  readonly ownerId: string | null;
  readonly tags: readonly string[];
}

export interface Place {
  readonly country: string;
  readonly city: string;
}

export interface ClickBatch {
  /** Clicks are numbered on from here without a gap. */
  readonly firstSequence: number;
  readonly at: Float64Array;
  readonly kind: Uint8Array;
  /** Places in `clickSignals`; 0 for a click that nothing is said against. */
  readonly signal: Uint8Array;
  readonly visitorHigh: Uint32Array;
  readonly visitorLow: Uint32Array;
  /** Positions in the lists below. */
  readonly link: Uint32Array;
  readonly agent: Uint32Array;
  readonly referrer: Uint32Array;
  readonly place: Uint32Array;
  readonly links: readonly LinkEntry[];
  readonly agents: readonly AgentTraits[];
  readonly referrers: readonly ReferrerTraits[];
  readonly places: readonly Place[];
  /**
   * For a stream whose partitions are numbered apart: how many clicks each had been given before these, see
   * partition-numbers.ts.
   */
  readonly givenBefore?: readonly number[];
}

/** No clicks at all, for a stretch of a stream in which nothing can be read. */
export const emptyBatch: ClickBatch = {
  firstSequence: 1,
  at: new Float64Array(0),
  kind: new Uint8Array(0),
  signal: new Uint8Array(0),
  visitorHigh: new Uint32Array(0),
  visitorLow: new Uint32Array(0),
  link: new Uint32Array(0),
  agent: new Uint32Array(0),
  referrer: new Uint32Array(0),
  place: new Uint32Array(0),
  links: [],
  agents: [],
  referrers: [],
  places: [],
};

export const kindNumber = (kind: VisitKind): number => visitKinds.indexOf(kind);
export const humanKind = kindNumber('human');
export const signalNumber = (signal: ClickSignal): number => clickSignals.indexOf(signal);

export const clickCount = (batch: ClickBatch): number => batch.at.length;

/** One click as an object, for whoever looks at single clicks: export, live view, tests. */
export function clickAt(batch: ClickBatch, index: number): Click {
  const { code, ownerId, tags } = batch.links[batch.link[index]!]!;
  const { country, city } = batch.places[batch.place[index]!]!;
  return {
    sequence: batch.firstSequence + index,
    at: batch.at[index]!,
    code,
    ownerId,
    tags,
    kind: visitKinds[batch.kind[index]!] ?? 'bot',
    signal: clickSignals[batch.signal[index]!] ?? 'none',
    visitor: hex32(batch.visitorHigh[index]!) + hex32(batch.visitorLow[index]!),
    country,
    city,
    agent: batch.agents[batch.agent[index]!]!,
    referrer: batch.referrers[batch.referrer[index]!]!,
  };
}

function hex32(word: number): string {
  return word.toString(16).padStart(8, '0');
}

/** A batch with only the clicks from a time on. Its numbers are no longer without gaps. */
export function clicksFrom(batch: ClickBatch, from: number): ClickBatch {
  if (batch.at.every(at => at >= from)) return batch;
  const keep = <Column extends Uint8Array | Uint32Array | Float64Array>(column: Column): Column =>
    column.filter((_: number, index: number) => batch.at[index]! >= from) as Column;
  return {
    ...batch,
    at: keep(batch.at),
    kind: keep(batch.kind),
    signal: keep(batch.signal),
    visitorHigh: keep(batch.visitorHigh),
    visitorLow: keep(batch.visitorLow),
    link: keep(batch.link),
    agent: keep(batch.agent),
    referrer: keep(batch.referrer),
    place: keep(batch.place),
  };
}

/** A batch without its first clicks, for a reader that has counted them already. */
export function withoutFirst(batch: ClickBatch, skipped: number): ClickBatch {
  return {
    ...batch,
    firstSequence: batch.firstSequence + skipped,
    at: batch.at.subarray(skipped),
    kind: batch.kind.subarray(skipped),
    signal: batch.signal.subarray(skipped),
    visitorHigh: batch.visitorHigh.subarray(skipped),
    visitorLow: batch.visitorLow.subarray(skipped),
    link: batch.link.subarray(skipped),
    agent: batch.agent.subarray(skipped),
    referrer: batch.referrer.subarray(skipped),
    place: batch.place.subarray(skipped),
  };
}

/** A batch with only some of its clicks. Its numbers are no longer without gaps. */
export function clicksAt(batch: ClickBatch, rows: Uint32Array): ClickBatch {
  if (rows.length === batch.at.length) return batch;
  const bytes = (column: Uint8Array): Uint8Array => Uint8Array.from(rows, row => column[row]!);
  const words = (column: Uint32Array): Uint32Array => rows.map(row => column[row]!);
  return {
    ...batch,
    at: Float64Array.from(rows, row => batch.at[row]!),
    kind: bytes(batch.kind),
    signal: bytes(batch.signal),
    visitorHigh: words(batch.visitorHigh),
    visitorLow: words(batch.visitorLow),
    link: words(batch.link),
    agent: words(batch.agent),
    referrer: words(batch.referrer),
    place: words(batch.place),
  };
}
