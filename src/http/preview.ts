/** Where a link leads, told instead of followed: a page for browsers, JSON for everyone else. */
import type { Link } from '../links/link.ts';
import { previewPage } from '../web/preview-page.ts';
import { statusPageHeaders } from '../web/security-headers.ts';
import { wantsHtml } from './problem.ts';
import { type Answer, answerOf } from './wire/answer.ts';
import type { WireRequest } from './wire/wire-request.ts';

export function previewAnswer(request: Pick<WireRequest, 'headers'>, link: Link, shortUrl: string): Answer {
  const view = previewOf(link, shortUrl);
  if (wantsHtml(request)) return answerOf(200, statusPageHeaders, previewPage(view));
  const { createdAt, expiresAt, code: shortCode, ...rest } = view;
  const shown = { shortCode, ...rest, createdAt: isoOrNull(createdAt), expiresAt: isoOrNull(expiresAt) };
  return answerOf(200, previewHeaders, JSON.stringify(shown));
}

const previewHeaders = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex',
};
const hiddenNotice =
  'The destination is shown once the link is followed, because the number of visits is limited.';

/** Looking must not be a way around a limit of visits. */
function previewOf(link: Link, shortUrl: string) {
  const { code, title, createdAt, expiresAt, maxClicks } = link;
  const shown =
    maxClicks === null ? { longUrl: link.longUrl, notice: null } : { longUrl: null, notice: hiddenNotice };
  return { code, shortUrl, ...shown, title, createdAt, expiresAt, state: link.status };
}

const isoOrNull = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString();
