/**
 * The cache that all processes share (L2). It may lose anything at any time; it must never return a record that was
 * already replaced. Two rules ensure that, and `cache.conformance.ts` defines both:
 * - A changed link is fenced: its cached entry is deleted and, until the fence expires, nothing is cached for it. A
 *   fence outlasts every read of the store that began before the change, so a slow one cannot bring the old record
 *   back.
 * - Without a fence, a record never replaces a newer version of itself.
 *
 * A cache can also lose fences: the last moments before a failover, or hours when it starts from an old copy of itself.
 * The checkpoint, kept beside the records and lost with them, says how far back its memory reaches.
 */
import type { Link } from '../links/link.ts';

export interface LinkCache {
  /**
   * Undefined when nothing is known of the code. `fenced` when it changed a moment ago: any copy in a process's memory
   * is stale. A caller that has nowhere else to ask is patient.
   */
  get(code: string, isPatient?: boolean): Promise<CacheEntry | undefined>;
  /** Caches a record, or its absence; false when that was rejected. A link with a click limit is never cached. */
  fill(code: string, link: Link | undefined, ttlMs: number): Promise<boolean>;
  /** Returns the codes that could not be fenced. Never fails and never waits long. */
  fence(codes: readonly string[]): Promise<string[]>;

  /** Whether the part of the cache that has the code answers. */
  isAvailableFor(code: string): boolean;

  readCheckpoint(): Promise<CheckpointReading>;
  /** Sets the checkpoint and returns its `trustFromMs`: the later of the given one and the existing one. */
  writeCheckpoint(seq: number, trustFromMs: number): Promise<number>;
  /** A part of the cache was down or replaced, and is in use from now on. Called before anything is read from it. */
  onReturn(listener: () => void): void;

  /** Publishes a message to the other processes: fast, without a delivery guarantee. */
  publish(message: string): Promise<void>;
  onMessage(listener: (message: string) => void): void;
}

export interface CacheEntry {
  /** Undefined when the store had no such link. */
  readonly link: Link | undefined;
  /** By the cache's own clock. */
  readonly filledAtMs: number;
  /** Counted from `filledAtMs`. */
  readonly ttlMs: number;
}

/**
 * In place of an entry for a code that changed a moment ago. Its time makes it invalid to a caller that takes it for
 * one.
 */
export const fenced: CacheEntry = { link: undefined, filledAtMs: Number.NEGATIVE_INFINITY, ttlMs: 0 };

export interface CheckpointReading {
  /** The cache's own clock. */
  readonly nowMs: number;
  /** Undefined when there is none: then the cache holds nothing that we put there. */
  readonly checkpoint: CacheCheckpoint | undefined;
}

export interface CacheCheckpoint {
  /** Every change up to this place in the store's feed was fenced. */
  readonly seq: number;
  /** Everything that was written longer ago than this is remembered. */
  readonly ageMs: number;
  /** Records that were cached before this are invalid. */
  readonly trustFromMs: number;
}

/**
 * The lifetime of a fence. Reads of the store end within a second or two, and a replica may be five behind; twice that
 * leaves room for a process that learns of the change late.
 */
export const fenceMsDefault = 10_000;

/** For installations without a shared cache: stores nothing, returns nothing, sends no messages. */
export function createNoCache(): LinkCache {
  return {
    get: async () => undefined,
    fill: async () => false,
    fence: async () => [],
    isAvailableFor: () => false,
    readCheckpoint: async () => ({ nowMs: 0, checkpoint: undefined }),
    writeCheckpoint: async (_seq, trustFromMs) => trustFromMs,
    onReturn: () => {},
    publish: async () => {},
    onMessage: () => {},
  };
}
