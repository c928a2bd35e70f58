/**
 * The headers of a redirect. By default no cache stores it, because a link may be edited or killed at any moment; with
 * a CDN in front the shared cache may, under a key by which a change purges it.
 *
 * An edge may leave the query out of its cache key: a link whose answer depends on the query is never cached.
 */
import type { Config } from '../config/config.ts';
import type { Link, RedirectType } from '../links/link.ts';

export type RedirectHeaderSettings = Pick<Config, 'edgeTtlS' | 'edgeClicks' | 'robots'>;

/** The fields that headers depend on. */
type ShownLink = Pick<Link, 'code' | 'status' | 'maxClicks' | 'expiresAt' | 'forwardQuery'>;

/** A permanent redirect is meant to be cached; a minute and a half keeps it killable. */
const permanentMaxAgeS = 90;

export function redirectHeaders(
  redirect: { readonly status: RedirectType; readonly location: string; readonly link: ShownLink },
  now: number,
  config: RedirectHeaderSettings,
): Record<string, string> {
  const headers: Record<string, string> = {
    Location: redirect.location,
    'Cache-Control': cacheControl(redirect, now, config),
    'Referrer-Policy': 'strict-origin-when-cross-origin',
  };
  if (config.robots !== undefined) headers['X-Robots-Tag'] = config.robots;
  if (config.edgeTtlS > 0) headers['Surrogate-Key'] = redirect.link.code;
  return headers;
}

function cacheControl(
  { status, link }: { readonly status: RedirectType; readonly link: ShownLink },
  now: number,
  { edgeTtlS, edgeClicks }: RedirectHeaderSettings,
): string {
  // Each visit of a limited link must be counted here, and each visit of a quarantined link checked.
  if (link.maxClicks !== null || link.status === 'quarantined') return 'private, no-store';
  const leftS =
    link.expiresAt === null ? Number.POSITIVE_INFINITY : Math.floor((link.expiresAt - now) / 1_000);
  const maxAgeS = status === 301 || status === 308 ? Math.min(permanentMaxAgeS, leftS) : 0;
  if (edgeTtlS === 0 || link.forwardQuery) return `private, max-age=${maxAgeS}`;
  const keptS = Math.min(edgeTtlS, leftS);
  // A cache that revalidates before each use shows every click to us, and serves links itself only while no server answers.
  return edgeClicks === 'revalidate'
    ? `public, max-age=${maxAgeS}, s-maxage=0, stale-if-error=${keptS}`
    : `public, max-age=${maxAgeS}, s-maxage=${keptS}`;
}
