/**
 * The step between a quarantined link and its destination: a page that warns, and a way past it for whoever saw it.
 * The way past it is only good for a visitor who comes from that page: another site cannot hand it out as if it were
 * the link itself.
 */
import { Problem } from '../base/errors.ts';
import type { Link } from '../links/link.ts';
import { statusPageHeaders } from '../web/security-headers.ts';
import { warningPage } from '../web/warning-page.ts';
import { type ContinueTokens, continueParameter, splitQuery } from './continue-token.ts';
import { problemAnswer, wantsHtml } from './problem.ts';
import { type Answer, answerOf } from './wire/answer.ts';

/** What this needs to know of a request. */
export interface WarnedRequest {
  readonly query: string;
  readonly headers: Pick<Headers, 'get'>;
}

export interface Warning {
  /** Whether the visitor has seen the warning about this version of the link, and what else the query says. */
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
      return answerOf(200, statusPageHeaders, page);
    },
  };
}

/** Browsers say where a navigation began, and no page can make them say otherwise; what says nothing is let through. */
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
