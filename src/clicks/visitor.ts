/**
 * Tells people from machines. Bots, link previews and prefetches are redirected like anyone, but they are not
 * clicks: a one-time link must not be used up by the chat program that draws its preview.
 */
import { isbot } from 'isbot';

const fetchAheadHeaders = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const;

export function isHuman(request: Request): boolean {
  if (request.method !== 'GET') return false;
  const userAgent = request.headers.get('user-agent');
  if (userAgent === null || userAgent === '' || isbot(userAgent)) return false;
  return !fetchAheadHeaders.some(name => /prefetch|prerender|preview/i.test(request.headers.get(name) ?? ''));
}
