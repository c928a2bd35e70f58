/** Public reports of bad links, the page for them, and the owner's appeal. */
import { addressGroups } from '../../base/addresses.ts';
import { appealLink, reportLink } from '../../moderation/report.ts';
import type { ModerationContext } from '../../moderation/store.ts';
import { pageHeaders } from '../../web/layout.ts';
import { reportPage } from '../../web/public-pages.ts';
import type { ApiRequest } from '../api-request.ts';
import {
  appealAnswer,
  appealBody,
  reportAnswer,
  reportBody,
  reportPageParameters,
} from '../moderation-schemas.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { bodyBytesMax } from './links.ts';

interface ReportRoutesOptions {
  readonly moderation: ModerationContext;
  readonly addressOf: (request: ApiRequest) => string;
}

export function reportRoutes({ moderation, addressOf }: ReportRoutesOptions): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/reports',
      name: 'reportLink',
      summary: 'Report abuse',
      description:
        'Needs no account. The reporter is not stored; a second report of the same link adds nothing.',
      auth: 'optional',
      limit: 'report',
      body: { schema: reportBody, bytesMax: bodyBytesMax },
      answers: { 202: { description: 'The report was received.', schema: reportAnswer } },
      problems: ['not_found', 'link_deleted'],
      async handle({ actor, request, body: { shortCode, category, text } }) {
        const words = text === undefined || text.trim() === '' ? null : text;
        const who = addressGroups(addressOf(request)).site;
        await reportLink(moderation, actor, who, { code: shortCode, category, text: words });
        return json({ status: 'received' }, 202);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/report',
      name: 'readReportPage',
      summary: 'Page to report abuse',
      auth: 'none',
      query: reportPageParameters,
      answers: { 200: { description: 'A page for browsers.', mediaTypes: ['text/html'] } },
      handle: ({ query }) => new Response(reportPage({ code: query.code ?? '' }), { headers: pageHeaders }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/links/{code}/appeal',
      name: 'appealLink',
      summary: 'Appeal against a link being quarantined or blocked',
      scope: 'links:write',
      limit: 'change',
      body: { schema: appealBody, bytesMax: bodyBytesMax },
      answers: { 202: { description: 'The appeal was received.', schema: appealAnswer } },
      problems: ['not_found', 'link_deleted', 'appeal_refused'],
      async handle({ actor, params, body }) {
        await appealLink(moderation, actor, params.code!, body.text);
        return json({ status: 'received' }, 202);
      },
    }),
  ];
}
