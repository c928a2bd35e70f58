/**
 * A click: one followed link. It exists in two forms. A raw click is what the redirect noted, and holds the
 * visitor's address; it lives in memory only. An enriched click is what is kept: the address has become a
 * country and a keyed hash that nobody can turn back, and that changes its key every day.
 */

/** Why a visit is not a person's click; `human` is one that counts. */
export const visitKinds = ['human', 'bot', 'preview', 'prefetch', 'head'] as const;
export type VisitKind = (typeof visitKinds)[number];

/** Why a person's click is suspicious (steps/suspicion.ts). It counts all the same. */
export const clickSignals = ['none', 'address', 'agent'] as const;
export type ClickSignal = (typeof clickSignals)[number];

export const deviceKinds = ['desktop', 'mobile', 'tablet', 'tv', 'bot', 'other'] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** What a user agent string says; the same string always gives the same traits. */
export interface AgentTraits {
  readonly userAgent: string;
  /** Family names without versions, such as `Chrome`; empty when unknown. */
  readonly browser: string;
  readonly os: string;
  readonly device: DeviceKind;
  /** What the agent is by its name alone; the request's method and headers may say more. */
  readonly kind: 'human' | 'bot' | 'preview';
}

export interface ReferrerTraits {
  readonly referrer: string;
  /** The host without `www.`, such as `news.example.com`; empty for a direct visit. */
  readonly domain: string;
}

export interface Click {
  /** Place in its producer's numbering; with the producer's name it is the click's identity. */
  readonly sequence: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly code: string;
  readonly ownerId: string | null;
  readonly tags: readonly string[];
  readonly kind: VisitKind;
  readonly signal: ClickSignal;
  /** 64 bits of a keyed hash of address and agent, as 16 hex digits; the key changes every UTC day. */
  readonly visitor: string;
  /** ISO 3166-1 alpha-2; empty when unknown. */
  readonly country: string;
  readonly city: string;
  readonly agent: AgentTraits;
  readonly referrer: ReferrerTraits;
}
