/**
 * What travels with a redirect. By default nobody keeps it, because a link may be edited or killed at any
 * moment; with a CDN in front the shared cache may, under a key by which a change purges it.
 *
 * An edge may leave the query out of what it compares: a link whose answer depends on it is kept by nobody.
 */
import type { Link, RedirectType } from '../links/link.ts';

export interface RedirectHeaderOptions {
  /** Seconds a shared cache may keep a redirect; 0 for not at all. */
  readonly edgeTtlS: number;
  /**
   * `revalidate` when a shared cache has to ask before each use, so that every click is seen here; what it keeps is
   * for the time when nobody answers.
   */
  readonly edgeClicks: 'log' | 'revalidate';
  /** The value of X-Robots-Tag; undefined to send none. */
  readonly robots: string | undefined;
}

/** Whoever chose a permanent redirect wants it remembered; a minute and a half keeps it killable. */
const permanentMaxAgeS = 90;

export function redirectHeaders(
  redirect: { readonly status: RedirectType; readonly location: string; readonly link: Link },
  now: number,
  options: RedirectHeaderOptions,
): Record<string, string> {
  const headers: Record<string, string> = {
    Location: redirect.location,
    'Cache-Control': cacheControl(redirect, now, options),
    'Referrer-Policy': 'strict-origin-when-cross-origin',
  };
  if (options.robots !== undefined) headers['X-Robots-Tag'] = options.robots;
  if (options.edgeTtlS > 0) headers['Surrogate-Key'] = redirect.link.code;
  return headers;
}

function cacheControl(
  { status, link }: { readonly status: RedirectType; readonly link: Link },
  now: number,
  { edgeTtlS, edgeClicks }: Pick<RedirectHeaderOptions, 'edgeTtlS' | 'edgeClicks'>,
): string {
  // Each visit of a limited link has to be counted here, and each of a quarantined one judged.
  if (link.maxClicks !== null || link.status === 'quarantined') return 'private, no-store';
  const leftS =
    link.expiresAt === null ? Number.POSITIVE_INFINITY : Math.floor((link.expiresAt - now) / 1_000);
  const maxAgeS = status === 301 || status === 308 ? Math.min(permanentMaxAgeS, leftS) : 0;
  if (edgeTtlS === 0 || link.forwardQuery) return `private, max-age=${maxAgeS}`;
  const keptS = Math.min(edgeTtlS, leftS);
  return edgeClicks === 'revalidate'
    ? `public, max-age=${maxAgeS}, s-maxage=0, stale-if-error=${keptS}`
    : `public, max-age=${maxAgeS}, s-maxage=${keptS}`;
}
