import type { Problem } from '../base/errors.ts';
import type { Link, LinkState } from './link.ts';
import type { LinkTrace } from './trace.ts';

/**
 * Where links live. One port, several engines; `store.conformance.ts` is the meaning of this file.
 *
 * Invariants every driver keeps:
 * - A resolved write is durable.
 * - `insert` is one conditional write per link. It never overwrites, also not a tombstone.
 * - Ids within `spans` belong to range leases. A claim (an alias or an unleased code that has the shape of a
 *   generated code) is only granted outside of them, and a later lease leaves claimed ids out.
 *   Therefore a generated code and an alias never meet.
 * - A trace is kept together with the write that it belongs to, or neither is.
 */
export interface LinkStore {
  find(code: string): Promise<Link | undefined>;
  /**
   * An answer from nearby that may be some seconds old (`nearAgeMaxMs`), or older while `find` has none, where the engine
   * has one; undefined says only that `find` has to be asked.
   */
  readonly findNear?: (code: string) => Promise<Link | undefined>;
  /** Whether `findNear` would answer now, where that does not depend on the engine that `find` asks. */
  readonly isNearUsable?: () => boolean;
  /** One outcome per item, in order. Items do not affect one another. */
  insert(items: readonly InsertItem[]): Promise<InsertOutcome[]>;
  /** Writes `link` when the stored version is `link.version - 1`; then, and only then, its trace is kept too. */
  replace(link: Link, trace?: LinkTrace): Promise<'replaced' | 'conflict' | 'missing'>;
  /**
   * Adds one click to a link with a limit; false when the limit is used up or nobody may follow the link. Taking the
   * last one is a change that every process hears of.
   */
  useClick(code: string, at: number): Promise<boolean>;
  /** The first answer given under an idempotency key, if it is still remembered. */
  recall(record: IdempotencyRecord): Promise<RememberedAnswer | undefined>;

  /** The owner's newest live link to exactly this URL, by index. */
  findByUrl(ownerId: string | null, longUrl: string, now: number): Promise<Link | undefined>;
  list(query: ListQuery): Promise<ListPage>;
  /** How many links a list has from the cursor on, out of a bounded number that is looked at per call. */
  count(query: CountQuery): Promise<CountPage>;
  /** Whoever's links to a domain or below it, newest first, a bounded number looked at per call. */
  listByDomain(query: DomainQuery): Promise<ListPage>;
  /**
   * Where links may be promised before they are stored: stores those that are wanted at once, so that lists have them, and
   * says how many.
   */
  readonly settle?: (isWanted: (link: Link) => boolean) => Promise<number>;

  /** Takes the next ids of a code space, from `first` (0 unless given) and below `limit`, for this process alone. */
  leaseRange(length: number, size: number, limit: number, first?: number): Promise<RangeLease>;
  /** What was leased so far, by all regions; ids outside were never leased. */
  spans(length: number): Promise<LeasedSpan[]>;
  /** Claimed ids that are not leased. */
  claims(length: number): Promise<number[]>;

  /** What changed after `seq`, oldest first. */
  changes(afterSeq: number, limit: number): Promise<ChangePage>;
  /**
   * A cheap, synchronous "has anyone written since I last asked?" where the engine offers one; undefined
   * where it does not and changes are only learned by message.
   */
  readonly changeToken?: () => number;

  /**
   * Removes or empties at most `limit` links that expired before `expiredBefore`; returns how many. Only a generated
   * code that was leased or has a claim is removed; of any other a tombstone stays, so that it is never given again.
   */
  purgeExpired(expiredBefore: number, limit: number): Promise<number>;
  /** Drops at most `limit` each of old idempotency records and change entries; returns how many. */
  prune(age: PruneAge, limit: number): Promise<number>;

  /** The installation's secret: the candidate of whoever asks first, the same for everyone after. */
  installationSecret(candidate: Uint8Array): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** How old the answer of `findNear` may be while changes are heard of. */
export const nearAgeMaxMs = 5_000;

/** A code with the shape of a generated one: `id` is what the permutation of its length decodes it to. */
export interface Claim {
  readonly length: number;
  readonly id: number;
}

export interface InsertItem {
  readonly link: Link;
  /**
   * Whether the code's id was leased. Then nobody can have asked for it before, and the mark protects it for ever;
   * any other insert is a change that every process hears of.
   */
  readonly leased: boolean;
  /** Present when the code was not leased but has the shape of a generated code. */
  readonly claim: Claim | undefined;
  readonly existing: ExistingRule;
  readonly idempotency: IdempotencyRecord | undefined;
  /** Kept only if the item is inserted. */
  readonly trace?: LinkTrace | undefined;
}

/**
 * Which link that exists already is the answer instead of a new one. `same-url` is what `findByUrl` gives.
 * `same-code` is for codes that follow from the URL: the link that has the code, if `isSameLink` says so.
 */
export type ExistingRule = 'ignored' | 'same-url' | 'same-code';

/** The first answer to a keyed request, kept in the transaction that created or found its link. */
export interface IdempotencyRecord {
  readonly ownerId: string;
  readonly key: string;
  /** Tells a repeat from a different request under the same key. */
  readonly fingerprint: string;
  readonly createdAt: number;
  /** Records made before this count as forgotten. */
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
  /** Refused beside items that were not, where they go different ways; otherwise `insert` rejects. */
  | { readonly kind: 'failed'; readonly problem: Problem }
  | ({ readonly kind: 'replayed' } & RememberedAnswer);

export interface ListQuery extends ListFilter {
  readonly ownerId: string | null;
  readonly limit: number;
  readonly order: 'newest' | 'oldest';
  readonly cursor: string | undefined;
  readonly now: number;
}

/** Each that is given has to match. */
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
  /** Where to go on; undefined at the end. */
  readonly nextCursor: string | undefined;
}

export interface DomainQuery {
  /** In the parser's spelling: lower case, punycode, no dot at the end. */
  readonly domain: string;
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface ListPage {
  readonly links: Link[];
  /**
   * Where to go on; undefined at the end. A filter that matches little may return a short page with a cursor:
   * a driver examines a bounded number of rows per call and never scans.
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

/** Ids that were leased: one span for each place that leases began at, which is where a region's share begins. */
export interface LeasedSpan {
  readonly first: number;
  /** Exclusive, and only ever raised. */
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
  /**
   * The `afterSeq` to go on with. Where numbers can become visible out of their order it stays behind the gap, and
   * what lies after is told again: to hear of a change twice is harmless.
   */
  readonly resumeSeq: number;
  /** True when entries after the requested one were already pruned: the reader must forget all it cached. */
  readonly gap: boolean;
}
