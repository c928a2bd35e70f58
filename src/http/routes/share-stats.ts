/** Tokens by which people without an account see the statistics of a link for a while. */
import type { Clock } from '../../base/clock.ts';
import { acceptExpiry, type LinkContext } from '../../links/context.ts';
import type { Link } from '../../links/link.ts';
import { readLink } from '../../links/read.ts';
import { updateLink } from '../../links/update.ts';
import { isoTime, viewOf } from '../link-view.ts';
import { defineRoute, json, type Route, secretHeaders } from '../route.ts';
import { createSignedTokens } from '../signed-tokens.ts';
import { statsTokenAnswer, statsTokenBody } from '../stats-schemas.ts';
import { bodyBytesMax } from './links.ts';

interface StatsTokens {
  issue(link: Link, endMs: number): string;
  accepts(token: string, link: Link): boolean;
}

export function createStatsTokens(secret: Uint8Array, clock: Clock): StatsTokens {
  const tokens = createSignedTokens({ secret, label: 'statistics of a link', clock });
  // Sharing after a revocation sets another time, so revoked tokens stay invalid.
  const subjectOf = ({ code, statsTokensFrom }: Link): string => `${code} ${statsTokensFrom}`;
  return {
    issue: (link, endMs) => tokens.issue(subjectOf(link), endMs),
    accepts: (token, link) => link.statsTokensFrom !== null && tokens.accepts(token, subjectOf(link)),
  };
}

interface ShareRouteOptions {
  readonly links: LinkContext;
  readonly baseUrl: string;
  readonly tokens: StatsTokens;
}

export function shareRoute({ links, baseUrl, tokens }: ShareRouteOptions): Route {
  return defineRoute({
    method: 'POST',
    path: '/api/v1/links/{code}/stats-tokens',
    name: 'shareLinkStats',
    summary: 'Share the statistics of a link for a while',
    description:
      'People with the token see what everyone could see if they were public, until it ends. Setting `statsTokensFrom` ' +
      'of the link to null revokes all its tokens.',
    scope: 'links:write',
    limit: 'change',
    body: { schema: statsTokenBody, bytesMax: bodyBytesMax },
    answers: { 201: { description: 'The token.', schema: statsTokenAnswer } },
    problems: ['not_found', 'link_deleted', 'invalid_expiry', 'edit_conflict'],
    async handle({ params, body: { expiresAt }, actor }) {
      const endMs = acceptExpiry(links, expiresAt)!;
      const known = await readLink(links, actor, params.code!);
      const now = links.clock.now();
      const link =
        known.statsTokensFrom === null
          ? await updateLink(links, actor, known.code, { statsTokensElse: now })
          : known;
      const token = tokens.issue(link, endMs);
      return json(
        { token, expiresAt: isoTime(endMs), link: viewOf(link, baseUrl, now, null) },
        201,
        secretHeaders,
      );
    },
  });
}
