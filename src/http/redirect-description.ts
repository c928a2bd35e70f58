/** How the OpenAPI document describes following a link; the redirect itself runs before any of this. */
import { redirectTypes } from '../links/link.ts';
import type { RouteDescription } from './route.ts';
import { previewAnswer } from './schemas.ts';

const nowhere = [
  'not_found',
  'link_expired',
  'link_deleted',
  'link_disabled',
  'link_exhausted',
  'link_blocked',
  'link_unsafe',
  'rate_limited',
  'overloaded',
  'store_unavailable',
] as const;

export const redirectDescription: readonly RouteDescription[] = [
  {
    method: 'GET',
    path: '/{code}',
    name: 'followLink',
    summary: 'Follow a short link',
    description:
      'Browsers get a page instead of JSON when there is nothing to follow, and one that warns and lets them go on ' +
      'when the link is quarantined.',
    auth: 'none',
    answers: {
      200: { description: 'A page that warns of a quarantined link.', mediaTypes: ['text/html'] },
      ...Object.fromEntries(
        redirectTypes.map(status => [status, { description: 'On to the long URL, which is in `Location`.' }]),
      ),
    },
    problems: ['link_quarantined', ...nowhere],
  },
  {
    method: 'GET',
    path: '/{code}+',
    name: 'previewLink',
    summary: 'See where a short link leads',
    description:
      'A page for browsers, JSON for everyone else. It does not count as a click; where clicks are limited by ' +
      '`maxClicks`, it does not show the destination.',
    auth: 'none',
    answers: {
      200: { description: 'Where the link leads.', schema: previewAnswer, mediaTypes: ['text/html'] },
    },
    problems: nowhere,
  },
];
