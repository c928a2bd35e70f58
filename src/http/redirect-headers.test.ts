import { describe, expect, test } from 'bun:test';
import type { Link, RedirectType } from '../links/link.ts';
import { sampleLink } from '../links/store-samples.ts';
import { type RedirectHeaderSettings, redirectHeaders } from './redirect-headers.ts';

const now = Date.UTC(2026, 5, 1);
const cacheControl = (
  status: RedirectType,
  edgeTtlS: number,
  link: Partial<Link> = {},
  edgeClicks: RedirectHeaderSettings['edgeClicks'] = 'log',
): string | undefined =>
  redirectHeaders({ status, location: 'https://example.com/', link: sampleLink('abc', link) }, now, {
    edgeTtlS,
    edgeClicks,
    robots: undefined,
  })['Cache-Control'];

describe('redirect headers', () => {
  test.each<[string, RedirectType, number, Partial<Link>, string]>([
    ['temporary', 302, 0, {}, 'private, max-age=0'],
    ['temporary, method kept', 307, 0, {}, 'private, max-age=0'],
    ['permanent, for a moment only', 301, 0, {}, 'private, max-age=90'],
    ['permanent, method kept', 308, 0, {}, 'private, max-age=90'],
    ['permanent, but expiring sooner', 301, 0, { expiresAt: now + 30_500 }, 'private, max-age=30'],
    ['behind a CDN', 302, 300, {}, 'public, max-age=0, s-maxage=300'],
    [
      'behind a CDN, but expiring sooner',
      302,
      300,
      { expiresAt: now + 10_000 },
      'public, max-age=0, s-maxage=10',
    ],
    ['behind a CDN, but each click counts', 302, 300, { maxClicks: 5 }, 'private, no-store'],
    [
      'behind a CDN, but the answer depends on the query',
      301,
      300,
      { forwardQuery: true },
      'private, max-age=90',
    ],
  ])('%s', (_name, status, edgeTtlS, link, expected) => {
    expect(cacheControl(status, edgeTtlS, link)).toBe(expected);
  });

  test.each<[string, RedirectType, Partial<Link>, string]>([
    ['temporary', 302, {}, 'public, max-age=0, s-maxage=0, stale-if-error=300'],
    ['permanent', 301, {}, 'public, max-age=90, s-maxage=0, stale-if-error=300'],
    ['expiring sooner', 302, { expiresAt: now + 10_000 }, 'public, max-age=0, s-maxage=0, stale-if-error=10'],
    ['each click counts', 302, { maxClicks: 5 }, 'private, no-store'],
    ['the answer depends on the query', 302, { forwardQuery: true }, 'private, max-age=0'],
  ])('behind a CDN that must revalidate each time: %s', (_name, status, link, expected) => {
    expect(cacheControl(status, 300, link, 'revalidate')).toBe(expected);
  });

  test('the surrogate key names the link, only where an edge may cache it', () => {
    const redirect = { status: 302 as const, location: 'https://example.com/', link: sampleLink('abc') };
    expect(redirectHeaders(redirect, now, { edgeTtlS: 60, edgeClicks: 'log', robots: 'noindex' })).toEqual({
      Location: 'https://example.com/',
      'Cache-Control': 'public, max-age=0, s-maxage=60',
      'Referrer-Policy': 'strict-origin-when-cross-origin',
      'X-Robots-Tag': 'noindex',
      'Surrogate-Key': 'abc',
    });
    const plainly = redirectHeaders(redirect, now, { edgeTtlS: 0, edgeClicks: 'log', robots: undefined });
    expect(plainly).not.toHaveProperty('Surrogate-Key');
  });
});
