/** Single clicks of a link: export, live view, deletion. */
import { accountActor } from '../../accounts/account.ts';
import type { AuditLog } from '../../audit/audit-log.ts';
import { Problem } from '../../base/errors.ts';
import type { ClickReports, ExportFilter, ExportPart } from '../../clicks/stats.ts';
import type { LinkContext } from '../../links/context.ts';
import { readLink } from '../../links/read.ts';
import { isByOwner, linkRecord } from '../../links/trace.ts';
import { isoTime } from '../link-view.ts';
import { liveStream, WatchShares } from '../live-stream.ts';
import { defineRoute, type Route } from '../route.ts';
import { exportParameters } from '../stats-schemas.ts';
import { streamed } from '../wire/answer.ts';
import { filtering, filtersOf } from './stats.ts';

interface ClickRoutesOptions {
  readonly links: LinkContext;
  readonly reports: ClickReports;
  readonly audit: Pick<AuditLog, 'append'>;
}

/** Scans single clicks, which takes at least as long as twenty pages of numbers. */
const exportCost = 20;
const mediaTypes = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson' } as const;

export function clickRoutes({ links, reports, audit }: ClickRoutesOptions): Route[] {
  const shares = new WatchShares();
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/clicks',
      name: 'exportClicks',
      summary: 'Download the clicks of a link',
      description:
        'One line per click, bots included, for as long as single clicks are stored. Where clicks of the range are no longer ' +
        'stored, the header `Covered-From` says since when they are. Visitors are hashes that change daily. ' +
        filtering,
      scope: 'stats:read',
      limit: 'read',
      limitCost: () => exportCost,
      work: 'statistics',
      query: exportParameters,
      answers: {
        200: {
          description: 'The clicks.',
          mediaTypes: ['application/x-ndjson', 'text/csv'],
          headers: {
            'Covered-From': {
              description:
                'Present if clicks of the range are no longer stored: those from this time on are.',
              schema: { type: 'string', format: 'date-time' },
            },
          },
        },
      },
      problems: ['not_found', 'link_deleted', 'stats_unavailable'],
      async handle({ params, query, actor, identifyAgain }) {
        const { from = 0, to = Number.MAX_SAFE_INTEGER, format } = query;
        const link = await readLink(links, actor, params.code!);
        const { code, ownerId } = link;
        const filter = { code, ownerId, from, to, format, filters: filtersOf(query) };
        // Read before the answer begins, so that a failure or missing clicks can still be reported.
        const first = await reports.exportPart(filter, undefined);
        const coveredFrom = Math.min(first.coveredFrom ?? 0, links.clock.now());
        return streamed(exportStream(reports, filter, first, identifyAgain), {
          ...(coveredFrom > from && { 'Covered-From': isoTime(coveredFrom) }),
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
      scope: 'links:write',
      limit: 'change',
      answers: { 204: { description: 'The clicks are gone.' } },
      problems: ['not_found', 'link_deleted', 'stats_unavailable'],
      async handle({ params, actor }) {
        const link = await readLink(links, actor, params.code!);
        const nothing = { before: null, after: null, isRoutine: isByOwner(actor, link) };
        // First, because deleted clicks cannot be restored if the audit log turns out to be unavailable.
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
      scope: 'stats:read',
      limit: 'read',
      answers: { 200: { description: 'The stream.', mediaTypes: ['text/event-stream'] } },
      problems: ['not_found', 'link_deleted'],
      async handle({ params, actor, identifyAgain }) {
        const { code } = await readLink(links, actor, params.code!);
        const giveBack = reports.watchers.isFull ? undefined : shares.take(accountActor(actor).accountId);
        if (giveBack === undefined) {
          throw new Problem('overloaded', {
            detail: 'Too many live subscribers.',
            headers: { 'Retry-After': '30' },
          });
        }
        const confirm = async () => readLink(links, await identifyAgain(), code);
        const { watchers } = reports;
        return liveStream({ watchers, code, clock: links.clock, confirm, onEnd: giveBack });
      },
    }),
  ];
}

/** Read piece by piece, as fast as the client reads, and only while the client has access. */
function exportStream(
  reports: ClickReports,
  filter: ExportFilter,
  first: ExportPart,
  confirm: () => Promise<unknown>,
): ReadableStream {
  const encoder = new TextEncoder();
  let ahead: ExportPart | undefined = first;
  let cursor = first.next;
  return new ReadableStream({
    async pull(controller) {
      await confirm();
      for (let text = ''; text === ''; ) {
        const part: ExportPart = ahead ?? (await reports.exportPart(filter, cursor));
        ahead = undefined;
        text = part.text;
        cursor = part.next;
        if (text !== '') controller.enqueue(encoder.encode(text));
        if (cursor === undefined) return controller.close();
      }
    },
  });
}
