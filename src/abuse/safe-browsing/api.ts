/**
 * The port to a Safe Browsing server. The two versions of the protocol differ in how they write things down; what
 * they say is the same: here is what your lists must become, and here are the full hashes behind a prefix.
 */
import type { HostSuffixes } from './expressions.ts';
import type { Prefixes } from './prefix-list.ts';

export interface SafeBrowsingApi {
  readonly version: ApiVersion;
  /** Whom we ask; lists of one server are not continued with another's. */
  readonly server: string;
  /** The lists that are kept. Every list here has four-byte prefixes, or longer ones in version 4. */
  readonly listNames: readonly string[];
  readonly hostSuffixes: HostSuffixes;
  /** Asks for what changed since the versions held. Rejects with a `SafeBrowsingFault`. */
  fetchLists(held: readonly HeldList[]): Promise<ListUpdate[]>;
  /**
   * Asks for the full hashes behind four-byte prefixes, of which there are at most thirty. Nothing else of a URL
   * ever leaves the machine. Rejects with a `SafeBrowsingFault`.
   */
  findHashes(prefixes: readonly Uint8Array[], held: readonly HeldList[]): Promise<HashAnswer>;
}

export const apiVersions = ['v5', 'v4'] as const;
export type ApiVersion = (typeof apiVersions)[number];

export interface HeldList {
  readonly name: string;
  /** What the server called the state of the list; opaque, and empty for none. */
  readonly version: Uint8Array;
}

export interface ListUpdate {
  readonly name: string;
  /** Whether the list held is changed, or replaced by the additions. */
  readonly kind: 'partial' | 'full';
  /** Positions in the list held, ascending. */
  readonly removals: Uint32Array;
  readonly additions: Prefixes;
  readonly version: Uint8Array;
  /** SHA-256 of the list that must come out; undefined where the server says that nothing changed. */
  readonly checksum: Uint8Array | undefined;
  /** How long not to ask again; undefined leaves it to us. */
  readonly waitMs: number | undefined;
}

export const threats = {
  1: 'malware',
  2: 'social_engineering',
  3: 'unwanted_software',
  4: 'potentially_harmful_application',
} as const;
export type Threat = (typeof threats)[keyof typeof threats];

/** Undefined for what a later version of the protocol may name. */
export function threatOf(number: number): Threat | undefined {
  return (threats as Readonly<Record<number, Threat>>)[number];
}

export interface HashAnswer {
  readonly found: readonly FoundHash[];
  /** How long it is known of the prefixes that nothing else is behind them. */
  readonly cacheMs: number;
  /** How long not to ask for hashes again. */
  readonly waitMs: number;
}

export interface FoundHash {
  readonly hash: Uint8Array;
  readonly threat: Threat;
  readonly cacheMs: number;
}
