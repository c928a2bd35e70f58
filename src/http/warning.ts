/**
 * The step between a quarantined link and its destination: a page that warns, and a continue link for a visitor who saw
 * it. The continue link is only valid for a visitor who comes from that page: another site cannot publish it as if it
 * were the link itself.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Link } from '../links/link.ts';
import { statusPageHeaders } from '../web/layout.ts';
import { warningPage } from '../web/preview-pages.ts';
import { problemAnswer, wantsHtml } from './problem.ts';
import { createSignedTokens } from './signed-tokens.ts';
import { type Answer, answerOf } from './wire/answer.ts';

/** The parts of a request that this needs. */
interface WarnedRequest {
  readonly query: string;
  readonly headers: Pick<Headers, 'get'>;
}

export interface Warning {
  /** Whether the visitor has seen the warning about this version of the link, and the rest of the query. */
  read(request: WarnedRequest, link: Link): { readonly query: string; readonly warned: boolean };
  answer(request: WarnedRequest, link: Link, location: string): Answer;
}

export function createWarning(tokens: ContinueTokens, baseUrl: string): Warning {
  return {
    read(request, { code, version }) {
      const { query, token } = splitQuery(request.query);
      const warned = token !== undefined && comesFromHere(request) && tokens.accepts(token, code, version);
      return { query, warned };
    },
    answer(request, link, location) {
      if (!wantsHtml(request)) return problemAnswer(quarantined(location));
      const { code, version } = link;
      const { query } = splitQuery(request.query);
      const token = `${continueParameter}=${tokens.issue(code, version)}`;
      const continuePath = `/${code}?${query === '' ? token : `${query}&${token}`}`;
      const page = warningPage({ code, shortUrl: `${baseUrl}/${code}`, location, continuePath });
      return answerOf(200, warningHeaders, page);
    },
  };
}

/** The page has the token beside a query that anyone can make up, so it must not be compressed. */
const warningHeaders = { ...statusPageHeaders, 'Cache-Control': 'no-store, no-transform' };

/** Browsers report where a navigation began, and no page can forge it; a request without this header is let through. */
function comesFromHere({ headers }: WarnedRequest): boolean {
  const site = headers.get('sec-fetch-site');
  return site === null || site === 'same-origin';
}

function quarantined(location: string): Problem {
  return new Problem('link_quarantined', {
    detail:
      'This link is being checked because it shows signs of abuse; look at `longUrl` before you go there.',
    fields: { longUrl: location },
  });
}

/**
 * Proof that a visitor has seen the warning about a quarantined link: bound to the link's code and version, valid for a
 * few minutes, and not stored in a cookie. A change of the link makes a new version, and with it a new warning.
 */
interface ContinueTokens {
  issue(code: string, version: number): string;
  accepts(token: string, code: string, version: number): boolean;
}

const lifeMs = 10 * 60_000;

/** The query parameter of the short URL; it is removed before the query is passed on to the destination. */
const continueParameter = 'terse-continue';

export function createContinueTokens(secret: Uint8Array, clock: Clock): ContinueTokens {
  const label = 'continue to a quarantined link';
  const tokens = createSignedTokens({ secret, label, clock, lifeMaxMs: lifeMs });
  return {
    issue: (code, version) => tokens.issue(`${code} ${version}`, clock.now() + lifeMs),
    accepts: (token, code, version) => tokens.accepts(token, `${code} ${version}`),
  };
}

interface SplitQuery {
  /** The query as it was sent, without our parameter. */
  readonly query: string;
  readonly token: string | undefined;
}

/** Keeps the visitor's query byte for byte, because destinations distinguish `%20` from `+`. */
export function splitQuery(query: string): SplitQuery {
  if (!query.includes(continueParameter)) return { query, token: undefined };
  const prefix = `${continueParameter}=`;
  const parts = query.split('&');
  const token = parts.findLast(part => part.startsWith(prefix))?.slice(prefix.length);
  return { query: parts.filter(part => !part.startsWith(prefix)).join('&'), token };
}
