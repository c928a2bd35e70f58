import type { Problem } from '../base/errors.ts';
import { pendingLifeMs } from '../config/cache-settings.ts';
import type { Link, LinkState } from './link.ts';
import type { EventType, LinkEvent } from './outbox.ts';
import type { LinkTrace } from './trace.ts';

/** No link is stored this long after it was created: longer than that, none waits in the queue. */
export const storedAfterMaxMs = pendingLifeMs;

/**
 * Where links are stored. One port, several engines; `store.conformance.ts` defines the contract of this file.
 *
 * Invariants every driver keeps:
 * - A resolved write is durable.
 * - `insert` is one conditional write per link. It never overwrites, also not a tombstone.
 * - Ids within `spans` belong to range leases. A claim (an alias or an unleased code that has the shape of a generated
 *   code) is only granted outside of them, and a later lease leaves claimed ids out. Therefore a generated code and an
 *   alias never collide.
 * - A trace is stored together with its write, or neither is.
 */
export interface LinkStore {
  find(code: string): Promise<Link | undefined>;
  /**
   * An answer from nearby that may be some seconds old, or older while `find` is unavailable, where the engine has one;
   * undefined only means that `find` has to be asked.
   */
  readonly findNear?: (code: string) => Promise<Link | undefined>;
  /** Whether `findNear` would answer now, where that does not depend on the engine that `find` asks. */
  readonly isNearUsable?: () => boolean;
  /** A link that is so new that it is known without the engine, where such links exist; rejects when it cannot say. */
  readonly findNew?: (code: string) => Promise<Link | undefined>;
  /** One outcome per item, in order. Items do not affect one another. */
  insert(items: readonly InsertItem[]): Promise<InsertOutcome[]>;
  /** Whether all items of an insert share one commit, however many: a caller passes on at once what it has. */
  readonly sharesCommits?: boolean;
  /** Writes `link` when the stored version is `link.version - 1`; then, and only then, trace and event are stored too. */
  replace(link: Link, trace?: LinkTrace, event?: EventType): Promise<'replaced' | 'conflict' | 'missing'>;
  /**
   * Adds one click to a link with a limit; false when the limit is used up or the link cannot be followed. Taking the
   * last one is a change that is announced to every process.
   */
  useClick(code: string, at: number): Promise<boolean>;
  /**
   * Where a commit can be read before it is safe from the loss of the server that made it: resolves once all commits that
   * can be read now are.
   */
  readonly confirmCommits?: () => Promise<void>;
  /** The first answer given under an idempotency key, if it is still remembered. */
  recall(record: IdempotencyRecord): Promise<RememberedAnswer | undefined>;

  /** The owner's newest live link to exactly this URL, by index. */
  findByUrl(ownerId: string | null, longUrl: string, now: number): Promise<Link | undefined>;
  list(query: ListQuery): Promise<ListPage>;
  /** How many links a list has from the cursor on, out of a bounded number that is examined per call. */
  count(query: CountQuery): Promise<CountPage>;
  /** Links of all owners to a domain or below it, newest first; each call examines a bounded number. */
  listByDomain(query: DomainQuery): Promise<ListPage>;
  /**
   * Where links may be acknowledged before they are stored: stores the wanted ones at once, so that lists include them,
   * and returns how many.
   */
  readonly settle?: (isWanted: (link: Link) => boolean) => Promise<number>;

  /** Takes the next ids of a code space, from `first` (0 unless given) and below `limit`, for this process alone. */
  leaseRange(length: number, size: number, limit: number, first?: number): Promise<RangeLease>;
  /** The spans leased so far, by all regions; ids outside were never leased. */
  spans(length: number): Promise<LeasedSpan[]>;
  /** Claimed ids that are not leased. */
  claims(length: number): Promise<number[]>;

  /** Changes after `seq`, oldest first. */
  changes(afterSeq: number, limit: number): Promise<ChangePage>;
  /**
   * A cheap, synchronous "has anything been written since the last call?" where the engine offers one; undefined where
   * it does not and changes are only learned by message.
   */
  readonly changeToken?: () => number;

  /**
   * Events after a number that were not removed, oldest first; those of one link in the order of its changes. An event
   * may become visible after one of another link with a higher number, so a reader that has reached the end starts again.
   */
  events(afterSeq: number, limit: number): Promise<LinkEvent[]>;
  /** Removes events that were consumed. */
  removeEvents(seqs: readonly number[]): Promise<void>;

  /**
   * Removes or empties at most `limit` links that expired before `expiredBefore`; returns how many. Only a generated
   * code that was leased or has a claim is removed; any other leaves a tombstone, so that it is never issued again.
   */
  purgeExpired(expiredBefore: number, limit: number): Promise<number>;
  /** Drops at most `limit` each of old idempotency records and change entries; returns how many. */
  prune(age: PruneAge, limit: number): Promise<number>;

  /** The installation's secret: the candidate of the first caller, the same for every later one. */
  installationSecret(candidate: Uint8Array): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** A code with the shape of a generated one: `id` is the result of decoding it with the permutation of its length. */
export interface Claim {
  readonly length: number;
  readonly id: number;
}

export interface InsertItem {
  readonly link: Link;
  /**
   * Whether the code's id was leased. Then no client can have requested it before, and the mark protects it forever;
   * any other insert is a change that is announced to every process.
   */
  readonly leased: boolean;
  /** Present when the code was not leased but has the shape of a generated code. */
  readonly claim: Claim | undefined;
  readonly existing: ExistingRule;
  readonly idempotency: IdempotencyRecord | undefined;
  /** Stored only if the item is inserted. */
  readonly trace?: LinkTrace | undefined;
  /** Appended to the outbox if the item is inserted. */
  readonly event?: EventType | undefined;
}

/**
 * Whether the outcome of an insert is known in advance: its code was leased, so it cannot be taken, and nothing else
 * has to be found, remembered or stored together with it.
 */
export const isPlain = ({ leased, claim, existing, idempotency, trace, event }: InsertItem): boolean =>
  leased && existing === 'ignored' && (claim ?? idempotency ?? trace ?? event) === undefined;

/**
 * Which existing link is the answer instead of a new one. `same-url` is the result of `findByUrl`. `same-code` is for
 * aliases and for codes derived from the URL: the link that has the code, if `isSameLink` says so.
 */
export type ExistingRule = 'ignored' | 'same-url' | 'same-code';

/** The first answer to a keyed request, stored in the transaction that created or found its link. */
export interface IdempotencyRecord {
  readonly ownerId: string;
  readonly key: string;
  /** Distinguishes a repeat from a different request under the same key. */
  readonly fingerprint: string;
  readonly createdAt: number;
  /** Records made before this count as expired. */
  readonly validAfter: number;
}

export interface RememberedAnswer {
  readonly outcome: 'created' | 'found';
  readonly link: Link;
  readonly fingerprint: string;
}

export type InsertOutcome =
  | { readonly kind: 'inserted' }
  | { readonly kind: 'found'; readonly link: Link }
  | { readonly kind: 'taken' }
  /** Rejected beside items that were not, where they take different paths; otherwise `insert` rejects. */
  | { readonly kind: 'failed'; readonly problem: Problem }
  | ({ readonly kind: 'replayed' } & RememberedAnswer);

export interface ListQuery extends ListFilter {
  readonly ownerId: string | null;
  readonly limit: number;
  readonly order: 'newest' | 'oldest';
  readonly cursor: string | undefined;
  readonly now: number;
}

/** Every given field has to match. */
export interface ListFilter {
  readonly tag?: string | undefined;
  readonly state?: Exclude<LinkState, 'deleted'> | undefined;
  /** Part of the code, title or long URL; the case of ASCII letters does not matter. */
  readonly search?: string | undefined;
  /** Leads to this host or to one below it; see `DomainQuery`. */
  readonly domain?: string | undefined;
  /** Leads exactly there; found by index. */
  readonly longUrl?: string | undefined;
  /** Created at this time or later. */
  readonly createdFrom?: number | undefined;
  /** Created before this time. */
  readonly createdTo?: number | undefined;
}

export type CountQuery = Omit<ListQuery, 'limit'>;

export interface CountPage {
  readonly count: number;
  /** Where to continue; undefined at the end. */
  readonly nextCursor: string | undefined;
}

export interface DomainQuery {
  /** In the parser's spelling: lower case, punycode, no trailing dot. */
  readonly domain: string;
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface ListPage {
  readonly links: Link[];
  /**
   * Where to continue; undefined at the end. A filter that matches little may return a short page with a cursor: a
   * driver examines a bounded number of rows per call and never scans.
   */
  readonly nextCursor: string | undefined;
}

export interface PruneAge {
  readonly answersBefore: number;
  readonly changesBefore: number;
}

export interface RangeLease {
  readonly from: number;
  /** Exclusive. Equal to `from` when the space is used up. */
  readonly to: number;
  /** Ids inside the lease that aliases took first. */
  readonly claimed: readonly number[];
}

/** Ids that were leased: one span for each start of leases, which is the start of a region's share. */
export interface LeasedSpan {
  readonly first: number;
  /** Exclusive, and never lowered. */
  readonly mark: number;
}

export interface Change {
  readonly seq: number;
  readonly code: string;
  /** Set when the change is a new claim. */
  readonly claim: Claim | undefined;
}

export interface ChangePage {
  readonly changes: Change[];
  /** The newest sequence number there is. */
  readonly lastSeq: number;
  /** The page has every change up to here that can be read now; below `lastSeq` when there are more. */
  readonly endSeq: number;
  /**
   * The `afterSeq` to continue with. Where numbers can become visible out of order it stays before the gap, and the
   * changes after it are reported again: a repeated change is harmless.
   */
  readonly resumeSeq: number;
  /** True when entries after the requested one were already pruned: the reader must drop all it cached. */
  readonly gap: boolean;
}
