/** The clicks of several links at once, for lists of them. */
import { type Actor, mayManage } from '../../accounts/account.ts';
import { bucketStarts, endOf, startOfLast } from '../../base/zone.ts';
import type { ClickReports, CountedLink } from '../../clicks/stats.ts';
import type { LinkContext } from '../../links/context.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { linkTotalsAnswer, linkTotalsParameters } from '../stats-schemas.ts';

interface TotalsRouteOptions {
  readonly links: LinkContext;
  readonly reports: Pick<ClickReports, 'totals' | 'clicksBy'>;
}

/** Links whose totals cost one token of the limit; each is one row. */
const totalsPerCost = 25;
/** Days, summed over all links, that cost one token. */
const daysPerCost = 250;

export function totalsRoute({ links, reports }: TotalsRouteOptions): Route {
  const dailyClicks = (own: readonly CountedLink[], days: number, timeZone: string): Promise<number[][]> => {
    const end = endOf(links.clock.now(), 'day', timeZone);
    const from = startOfLast(days, end, 'day', timeZone);
    return reports.clicksBy(own, bucketStarts(from, end, 'day', timeZone, days), end);
  };
  return defineRoute({
    method: 'GET',
    path: '/api/v1/stats/links',
    name: 'readLinkTotals',
    summary: 'Clicks of several links',
    description:
      'In the order of `codes`, and for each day if `days` says how many. A link that is not yours, or is gone, is left out.',
    scope: 'stats:read',
    work: 'statistics',
    limit: 'read',
    limitCost: ({ query: { codes = [], days } }) =>
      Math.max(1, Math.ceil(codes.length / totalsPerCost) + Math.ceil((codes.length * days) / daysPerCost)),
    query: linkTotalsParameters,
    answers: { 200: { description: 'The totals.', schema: linkTotalsAnswer } },
    problems: ['stats_unavailable'],
    async handle({ query, actor }) {
      const { codes = [], days, timeZone } = query;
      const own = await ownAmong(links, actor, codes);
      const [totals, daily] = await Promise.all([
        reports.totals(own),
        days === 0 ? undefined : dailyClicks(own, days, timeZone),
      ]);
      return json({
        links: totals.map(({ clicks, bots, suspicious, lastClickAt }, index) => ({
          shortCode: own[index]!.code,
          clicks,
          botClicks: bots,
          suspiciousClicks: suspicious,
          lastClickAt: lastClickAt === null ? null : isoTime(lastClickAt),
          ...(daily !== undefined && { daily: daily[index]! }),
        })),
      });
    },
  });
}

/** Skips other links instead of failing: a link may have been deleted since the client listed it. */
async function ownAmong(links: LinkContext, actor: Actor, codes: readonly string[]): Promise<CountedLink[]> {
  const found = await Promise.all(codes.map(code => links.store.find(code)));
  return found
    .filter(link => link !== undefined && link.status !== 'deleted' && mayManage(actor, link.ownerId))
    .map(link => ({ code: link!.code, ownerId: link!.ownerId }));
}
