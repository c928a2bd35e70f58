/**
 * The cache that all processes share (L2). It may lose anything at any time; what it must never do is give a record that
 * was already replaced. Two rules see to that, and `cache.conformance.ts` is the meaning of both:
 * - A changed link is fenced: what was cached is gone and, for as long as the fence stands, nothing is cached anew. A
 *   fence outlasts every read of the store that began before the change, so a slow one cannot bring the old record back.
 * - Where no fence stands, a record never replaces a newer version of itself.
 *
 * A cache can also lose fences: its last moments in a failover, or hours when it starts from an old copy of itself. The
 * mark, kept beside the records and lost with them, tells how far back its memory ends.
 */
import type { Link } from '../links/link.ts';

export interface LinkCache {
  /** Undefined when nothing is known of the code, or it is fenced. Who has nowhere else to ask is patient. */
  get(code: string, isPatient?: boolean): Promise<CacheEntry | undefined>;
  /** Caches a record, or that there is none; false when that was refused. A link with a click limit is never cached. */
  fill(code: string, link: Link | undefined, ttlMs: number): Promise<boolean>;
  /** Returns the codes that could not be fenced. Never fails and never waits long. */
  fence(codes: readonly string[]): Promise<string[]>;

  readMark(): Promise<MarkReading>;
  /** Sets the mark and returns its `trustFromMs`: of the one given and the one that was there, the later. */
  writeMark(seq: number, trustFromMs: number): Promise<number>;
  /** A part of the cache was away, or was replaced, and is in use from now on. Told before anything is read from it. */
  onReturn(listener: () => void): void;

  /** Tells the other processes something, quickly and without a promise that they hear it. */
  publish(message: string): Promise<void>;
  onMessage(listener: (message: string) => void): void;
}

export interface CacheEntry {
  /** Undefined when the store had no such link. */
  readonly link: Link | undefined;
  /** By the cache's own clock. */
  readonly filledAtMs: number;
  /** Counted from then. */
  readonly ttlMs: number;
}

export interface MarkReading {
  /** The cache's own clock. */
  readonly nowMs: number;
  /** Undefined when there is none: then the cache holds nothing that we put there. */
  readonly mark: CacheMark | undefined;
}

export interface CacheMark {
  /** Every change up to this place in the store's feed was fenced. */
  readonly seq: number;
  /** Everything that was written longer ago than this is remembered. */
  readonly ageMs: number;
  /** Records that were cached before this are worth nothing. */
  readonly trustFromMs: number;
}

/**
 * How long a fence stands. Reads of the store end within a second or two, and a replica may be five behind; twice that
 * leaves room for whoever learns of the change late.
 */
export const fenceMsDefault = 10_000;
