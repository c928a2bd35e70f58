/** Single clicks of a link: exported, watched as they happen, deleted; and whether all of them were counted. */
import { Problem } from '../../base/errors.ts';
import type { ClickReports, ExportCursor, ExportFilter } from '../../clicks/reports.ts';
import type { LinkContext } from '../../links/context.ts';
import { readLink } from '../../links/read.ts';
import { isoTime } from '../link-view.ts';
import { liveStream } from '../live-stream.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { exportParameters, reconcileAnswer, reconcileParameters } from '../stats-schemas.ts';
import { streamed } from '../wire/answer.ts';

export interface ClickRoutesOptions {
  readonly links: LinkContext;
  readonly reports: ClickReports;
}

const dayMs = 24 * 60 * 60_000;
const mediaTypes = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson' } as const;

export function clickRoutes({ links, reports }: ClickRoutesOptions): Route[] {
  const accountOf = async ({ from, to }: { from?: number | undefined; to?: number | undefined }) => {
    const now = links.clock.now();
    const { hours, ...account } = await reports.reconcile(from ?? now - 30 * dayMs, to ?? now + dayMs);
    return { ...account, hours: hours.map(row => ({ ...row, hour: isoTime(row.hour) })) };
  };
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/clicks',
      name: 'exportClicks',
      summary: 'Download the clicks of a link',
      description:
        'One line per click, for as long as single clicks are kept. Visitors are hashes that change daily.',
      auth: 'required',
      scope: 'stats:read',
      query: exportParameters,
      answers: { 200: { description: 'The clicks.', mediaTypes: ['application/x-ndjson', 'text/csv'] } },
      problems: ['not_found', 'link_deleted'],
      async handle({ params, query: { from = 0, to = Number.MAX_SAFE_INTEGER, format }, actor }) {
        const { code } = await readLink(links, actor, params.code!);
        return streamed(exportStream(reports, { code, from, to, format }), {
          'Content-Type': mediaTypes[format],
          'Content-Disposition': `attachment; filename="${code}-clicks.${format}"`,
          'Cache-Control': 'no-store',
        });
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/links/{code}/clicks',
      name: 'deleteClicks',
      summary: 'Delete the clicks of a link',
      description: 'Its counts start at zero again. What they added to the account’s totals stays.',
      auth: 'required',
      scope: 'links:write',
      answers: { 204: { description: 'The clicks are gone.' } },
      problems: ['not_found', 'link_deleted'],
      async handle({ params, actor }) {
        const { code } = await readLink(links, actor, params.code!);
        await reports.forget(code);
        return new Response(null, { status: 204 });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/live',
      name: 'watchLink',
      summary: 'Watch the clicks of a link as they happen',
      description: 'Server-sent events named `clicks`, each with `counts` and the newest `clicks`.',
      auth: 'required',
      scope: 'stats:read',
      answers: { 200: { description: 'The stream.', mediaTypes: ['text/event-stream'] } },
      problems: ['not_found', 'link_deleted'],
      async handle({ params, actor, request }) {
        const { code } = await readLink(links, actor, params.code!);
        if (reports.watchers.isFull) {
          throw new Problem('overloaded', {
            detail: 'Too many are watching.',
            headers: { 'Retry-After': '30' },
          });
        }
        return liveStream(reports.watchers, code, request.signal, links.clock);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/reconcile',
      name: 'reconcileClicks',
      summary: 'Whether every click was counted',
      description: 'Compares what processes noted with what was counted, by producer and hour. For admins.',
      auth: 'required',
      scope: 'admin',
      query: reconcileParameters,
      answers: { 200: { description: 'The account.', schema: reconcileAnswer } },
      problems: [],
      handle: async ({ query }) => json(await accountOf(query)),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/reconcile',
      name: 'repairClicks',
      summary: 'Count all clicks anew',
      description:
        'Replays the log in place of what was counted, in one step; then gives the account. For admins.',
      auth: 'required',
      scope: 'admin',
      answers: { 200: { description: 'The account after it.', schema: reconcileAnswer } },
      problems: [],
      async handle() {
        await reports.rebuild();
        return json(await accountOf({}));
      },
    }),
  ];
}

/** Pulled piece by piece, as fast as the client reads. */
function exportStream(reports: ClickReports, filter: ExportFilter): ReadableStream {
  const encoder = new TextEncoder();
  let cursor: ExportCursor | undefined;
  return new ReadableStream({
    async pull(controller) {
      for (let text = ''; text === ''; ) {
        const part = await reports.exportPart(filter, cursor);
        text = part.text;
        cursor = part.next;
        if (text !== '') controller.enqueue(encoder.encode(text));
        if (cursor === undefined) return controller.close();
      }
    },
  });
}
