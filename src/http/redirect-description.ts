/** How the OpenAPI document describes following a link; the redirect itself runs before any of this. */
import { redirectTypes } from '../links/link.ts';
import type { RouteDescription } from './route.ts';

export const redirectDescription: readonly RouteDescription[] = [
  {
    method: 'GET',
    path: '/{code}',
    name: 'followLink',
    summary: 'Follow a short link',
    description: 'Add `+` to the code to see where the link leads instead of going there.',
    auth: 'none',
    answers: Object.fromEntries(
      redirectTypes.map(status => [status, { description: 'On to the long URL, which is in `Location`.' }]),
    ),
    problems: [
      'not_found',
      'link_expired',
      'link_deleted',
      'link_disabled',
      'link_exhausted',
      'link_unsafe',
      'overloaded',
      'store_unavailable',
    ],
  },
];
