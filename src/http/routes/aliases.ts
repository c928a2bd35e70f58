/** Whether an alias can be had, asked while somebody types it. */
import { aliasAvailability } from '../../links/alias-availability.ts';
import type { LinkContext } from '../../links/context.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { aliasAnswer } from '../schemas.ts';

export function aliasRoute(links: LinkContext): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/aliases/{alias}',
    name: 'checkAlias',
    summary: 'Whether an alias can be had',
    description:
      'As of now, and without a promise: creating a link with it is what claims it. What cannot be part of a short URL is not found.',
    auth: 'required',
    scope: 'links:write',
    limit: 'aliasCheck',
    answers: {
      200: { description: 'The answer, also for an alias that is reserved.', schema: aliasAnswer },
    },
    problems: ['not_found'],
    async handle({ params }) {
      const alias = params.alias!;
      const availability = await aliasAvailability(links, alias);
      return json({
        alias,
        available: availability.isFree,
        code: availability.isFree ? null : availability.code,
        reason: availability.isFree ? null : sentence(availability.detail),
      });
    },
  });
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
