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
  'link_unsafe',
  'overloaded',
  'store_unavailable',
] as const;

export const redirectDescription: readonly RouteDescription[] = [
  {
    method: 'GET',
    path: '/{code}',
    name: 'followLink',
    summary: 'Follow a short link',
    description: 'Browsers get a page instead of JSON when there is nothing to follow.',
    auth: 'none',
    answers: Object.fromEntries(
      redirectTypes.map(status => [status, { description: 'On to the long URL, which is in `Location`.' }]),
    ),
    problems: nowhere,
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
