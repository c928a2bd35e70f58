/** Single clicks of a link: exported, watched as they happen, deleted; and whether all of them were counted. */
import { accountActor } from '../../accounts/whole-account.ts';
import { Problem } from '../../base/errors.ts';
import type { ClickReports, ExportCursor, ExportFilter } from '../../clicks/reports.ts';
import type { LinkContext } from '../../links/context.ts';
import { readLink } from '../../links/read.ts';
import { linkRecord } from '../../links/trace.ts';
import type { AuditLog } from '../../moderation/audit.ts';
import { isoTime } from '../link-view.ts';
import { liveStream } from '../live-stream.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { exportParameters, reconcileAnswer, reconcileParameters } from '../stats-schemas.ts';
import { WatchShares } from '../watch-shares.ts';
import { streamed } from '../wire/answer.ts';

export interface ClickRoutesOptions {
  readonly links: LinkContext;
  readonly reports: ClickReports;
  readonly audit: Pick<AuditLog, 'append'>;
}

const dayMs = 24 * 60 * 60_000;
const mediaTypes = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson' } as const;

export function clickRoutes({ links, reports, audit }: ClickRoutesOptions): Route[] {
  const shares = new WatchShares();
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
      async handle({ params, query, actor, identifyAgain }) {
        const { from = 0, to = Number.MAX_SAFE_INTEGER, format } = query;
        const { code } = await readLink(links, actor, params.code!);
        return streamed(exportStream(reports, { code, from, to, format }, identifyAgain), {
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
        const link = await readLink(links, actor, params.code!);
        const nothing = { before: null, after: null };
        // First, because what is deleted cannot be brought back when the trail turns out to be away.
        await audit.append([linkRecord(actor, 'link.clicksDeleted', link, links.clock.now(), nothing)]);
        await reports.forget(link.code);
        return new Response(null, { status: 204 });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/live',
      name: 'watchLink',
      summary: 'Watch the clicks of a link as they happen',
      description:
        'Server-sent events named `clicks`, each with `counts` and the newest `clicks`. The stream ends within ' +
        'seconds when you may not read the link any longer.',
      auth: 'required',
      scope: 'stats:read',
      answers: { 200: { description: 'The stream.', mediaTypes: ['text/event-stream'] } },
      problems: ['not_found', 'link_deleted'],
      async handle({ params, actor, identifyAgain, request: { signal } }) {
        const { code } = await readLink(links, actor, params.code!);
        const giveBack = reports.watchers.isFull ? undefined : shares.take(accountActor(actor).accountId);
        if (giveBack === undefined) {
          throw new Problem('overloaded', {
            detail: 'Too many are watching.',
            headers: { 'Retry-After': '30' },
          });
        }
        const confirm = async () => readLink(links, await identifyAgain(), code);
        const { watchers } = reports;
        return liveStream({ watchers, code, signal, clock: links.clock, confirm, onEnd: giveBack });
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

/** Pulled piece by piece, as fast as the client reads, and for as long as the client may. */
function exportStream(
  reports: ClickReports,
  filter: ExportFilter,
  confirm: () => Promise<unknown>,
): ReadableStream {
  const encoder = new TextEncoder();
  let cursor: ExportCursor | undefined;
  return new ReadableStream({
    async pull(controller) {
      await confirm();
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
