/**
 * What a visitor gets for a link, as a pure function of the record, the visit and the time. Every state of a
 * link is judged here and nowhere else, from the record itself, whatever was cached and for how long.
 */
import { fieldRows } from '../links/fields.ts';
import type { Link, RedirectType } from '../links/link.ts';

/** A link as the resolver keeps it: its destination was checked again when it was read. */
export interface ResolvedLink extends Link {
  /** False when the destination would not be accepted today, for example because it became one of our hosts. */
  readonly followable: boolean;
}

export interface Visit {
  /** The visitor's query without the question mark; may be empty. */
  readonly query: string;
  readonly now: number;
  /** Whether the visitor has seen the warning about this version of the link and chose to go on. */
  readonly warned?: boolean;
}

export type GoneReason = 'expired' | 'deleted' | 'disabled' | 'exhausted' | 'unsafe' | 'blocked';

export type Decision =
  | {
      readonly kind: 'redirect';
      readonly status: RedirectType;
      readonly location: string;
      readonly link: ResolvedLink;
    }
  | { readonly kind: 'warn'; readonly location: string; readonly link: ResolvedLink }
  | { readonly kind: 'gone'; readonly reason: GoneReason }
  | { readonly kind: 'missing' };

const missing: Decision = { kind: 'missing' };

export function decide(link: ResolvedLink | undefined, visit: Visit): Decision {
  if (link === undefined) return missing;
  const reason = goneReason(link, visit.now);
  if (reason !== undefined) return { kind: 'gone', reason };
  const location = link.forwardQuery ? withQuery(link.longUrl, withoutQr(visit.query)) : link.longUrl;
  if (link.status !== 'quarantined') return { kind: 'redirect', status: link.redirectType, location, link };
  // A browser that cached the redirect permanently would never ask again, whatever is decided about the link.
  return visit.warned ? { kind: 'redirect', status: 302, location, link } : { kind: 'warn', location, link };
}

/** Fields that do not affect a visitor, or that `isPlain` checks itself. A redirect may depend on any other field. */
const judgedApart: readonly (keyof Link)[] = [
  'code',
  'longUrl',
  'redirectType',
  'ownerId',
  'origin',
  'status',
  'createdAt',
  'updatedAt',
  'usedClicks',
  'risk',
  'version',
  'title',
  'tags',
  'publicStats',
  'statsTokensFrom',
];
const decisiveFields = fieldRows.filter(([name]) => !judgedApart.includes(name));
/** A header is one line of ASCII. */
const headerText = /^[\x21-\x7e]*$/;

/** Whether `decide` says the same for every visit and at any time: a redirect to the destination as it is stored. */
export const isPlain = (link: ResolvedLink): boolean =>
  link.status === 'active' &&
  link.followable &&
  headerText.test(link.longUrl) &&
  decisiveFields.every(([name, field]) => link[name] === field.default);

function goneReason(link: ResolvedLink, now: number): GoneReason | undefined {
  if (link.status === 'deleted') return 'deleted';
  if (link.status === 'blocked') return 'blocked';
  if (link.status === 'disabled') return 'disabled';
  if (link.expiresAt !== null && link.expiresAt <= now) return 'expired';
  if (link.maxClicks !== null && link.usedClicks >= link.maxClicks) return 'exhausted';
  if (!link.followable) return 'unsafe';
  return undefined;
}

/** QR codes add `qr` to the short URL for the statistics; the destination must not see it. */
function withoutQr(query: string): string {
  if (!query.includes('qr')) return query;
  return query
    .split('&')
    .filter(part => part !== 'qr' && !part.startsWith('qr='))
    .join('&');
}

/**
 * Appends the visitor's query. A stored URL is serialised, so its host always ends at a slash before the place where
 * the query is inserted: nothing the visitor sends can reach the host.
 */
export function withQuery(longUrl: string, query: string): string {
  if (query === '') return longUrl;
  const hashAt = longUrl.indexOf('#');
  const base = hashAt === -1 ? longUrl : longUrl.slice(0, hashAt);
  const fragment = hashAt === -1 ? '' : longUrl.slice(hashAt);
  const joint = !base.includes('?') ? '?' : base.endsWith('?') || base.endsWith('&') ? '' : '&';
  return `${base}${joint}${query.replaceAll('#', '%23')}${fragment}`;
}
