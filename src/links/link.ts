/** A link maps a code to a long URL. This record is what every store keeps and every cache holds. */
export interface Link {
  readonly code: string;
  readonly longUrl: string;
  /** Null for a link made anonymously: only an admin may change it. */
  readonly ownerId: string | null;
  readonly origin: LinkOrigin;
  readonly status: LinkStatus;
  readonly redirectType: RedirectType;
  readonly forwardQuery: boolean;
  /** Whether anyone may see the link's statistics, not only its owner. */
  readonly publicStats: boolean;
  readonly title: string | null;
  readonly tags: readonly string[];
  /** Milliseconds since the Unix epoch, like every time here. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
  /** Human clicks after which the link is gone; null for no limit. */
  readonly maxClicks: number | null;
  /** Human clicks counted against `maxClicks`; stays 0 for a link without a limit. */
  readonly usedClicks: number;
  /** What the judgement of the destination came to; null where nothing spoke against it. */
  readonly risk: LinkRisk | null;
  /** Grows by one with each change; an edit names the version it saw. */
  readonly version: number;
}

export const redirectTypes = [301, 302, 307, 308] as const;
export type RedirectType = (typeof redirectTypes)[number];

/** From 0, nothing known against it, to 100; `reasons` name the signals that fired. */
export interface LinkRisk {
  readonly score: number;
  readonly reasons: readonly string[];
}

/**
 * What is stored. `disabled` is the owner's own switch. `quarantined` (a warning first) and `blocked` (gone) are
 * held by moderation, which alone lifts them. `deleted` is a tombstone: the code answers 410 and is never issued
 * again.
 */
export const linkStatuses = ['active', 'disabled', 'deleted', 'quarantined', 'blocked'] as const;
export type LinkStatus = (typeof linkStatuses)[number];

export const isHeld = ({ status }: Pick<Link, 'status'>): boolean =>
  status === 'quarantined' || status === 'blocked';

export const linkOrigins = ['generated', 'custom'] as const;
export type LinkOrigin = (typeof linkOrigins)[number];

/** The state an owner sees: the stored status, or what time and clicks have made of it. */
export type LinkState = LinkStatus | 'expired' | 'exhausted';

export function stateOf(link: Link, now: number): LinkState {
  if (link.status !== 'active') return link.status;
  if (link.expiresAt !== null && link.expiresAt <= now) return 'expired';
  if (link.maxClicks !== null && link.usedClicks >= link.maxClicks) return 'exhausted';
  return 'active';
}

/** The whole alphabet of codes and aliases; anything else in a path is not a link of ours. */
export const codePattern = /^[0-9A-Za-z_-]{1,64}$/;
