/** The statistics of links: for their owners, and for everyone where the owner made them public. */
import { type Actor, mayManage, ownerIdOf } from '../../accounts/account.ts';
import { Problem } from '../../base/errors.ts';
import { SharedReads } from '../../base/shared-reads.ts';
import { bucketCount, endOf, type Interval, startOf, startOfLast } from '../../base/zone.ts';
import { dimensions } from '../../clicks/dimensions.ts';
import {
  type ClickReports,
  readBucketsMax,
  type Stats,
  type StatsQuery,
  seriesBucketsMax,
} from '../../clicks/stats.ts';
import type { Scope } from '../../clicks/warehouse.ts';
import type { LinkContext } from '../../links/context.ts';
import type { Link } from '../../links/link.ts';
import { readLink } from '../../links/read.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, json, jsonText, type Route } from '../route.ts';
import {
  accountStatsParameters,
  linkTotalsAnswer,
  linkTotalsParameters,
  statsAnswer,
  statsParameters,
} from '../stats-schemas.ts';

interface StatsRoutesOptions {
  readonly links: LinkContext;
  readonly reports: ClickReports;
  /** Days for which minutes are kept. */
  readonly minuteDays: number;
}

const dayMs = 24 * 60 * 60_000;
/** Buckets of a range whose start is not given: 30 days, or a day of minutes. The one in progress is the last of them. */
const defaultBuckets: Readonly<Record<Interval, number>> = { minute: 24 * 60, hour: 30 * 24, day: 30 };
/** Buckets per token of the limit: a month of days costs one, a day of minutes six. */
const bucketsPerCost = 250;
/** Links whose totals cost one token; each is one row. */
const totalsPerCost = 25;

interface Asked {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly interval: Interval;
  readonly timeZone: string;
}

export function statsRoutes(options: StatsRoutesOptions): Route[] {
  const { links, reports } = options;
  /** Concurrent requests for the same numbers share one computation. */
  const shared = new SharedReads(async (question: string): Promise<string> => {
    const query = JSON.parse(question) as Omit<StatsQuery, 'now'>;
    const now = links.clock.now();
    const stats = await reports.stats({ ...query, now });
    const minutesFrom = isoTime(now - options.minuteDays * dayMs);
    return JSON.stringify({ ...viewOf(stats, query), minutesFrom });
  });
  const answer = async (scopes: readonly Scope[], asked: Asked): Promise<Response> => {
    const range = rangeOf(asked, scopes.length, links.clock.now(), options.minuteDays);
    const { interval, timeZone } = asked;
    return jsonText(await shared.read(JSON.stringify({ ...range, scopes, interval, timeZone })));
  };
  const costOf = (asked: Asked, scopes: number): number => {
    const { from, to } = rangeOf(asked, scopes, links.clock.now(), options.minuteDays);
    return Math.ceil((bucketCount(from, to, asked.interval) * scopes) / bucketsPerCost);
  };
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/stats',
      name: 'readLinkStats',
      summary: 'Clicks of a link',
      description: 'For the owner, or for anyone if the link has `publicStats`. Clicks show within seconds.',
      auth: 'optional',
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => costOf(query, 1),
      query: statsParameters,
      answers: { 200: { description: 'The numbers.', schema: statsAnswer } },
      problems: ['not_found', 'link_deleted', 'stats_unavailable'],
      async handle({ params, query, actor }) {
        const { code } = await linkWithStats(links, actor, params.code!);
        return answer([{ kind: 'link', code }], query);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/stats',
      name: 'readStats',
      summary: 'Clicks of all your links, of some, or of a tag',
      description:
        'A click counts for the tags its link had at that moment. Name `codes` or a `tag`, not both.',
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => costOf(query, query.codes?.length ?? 1),
      query: accountStatsParameters,
      answers: { 200: { description: 'The numbers.', schema: statsAnswer } },
      problems: ['not_found', 'link_deleted', 'stats_unavailable'],
      async handle({ query: { codes, tag, ...asked }, actor }) {
        return answer(await scopesOf(links, actor, codes, tag), asked);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/stats/links',
      name: 'readLinkTotals',
      summary: 'Clicks of several links',
      description: 'In the order of `codes`. A link that is not yours, or is gone, is left out.',
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => Math.max(1, Math.ceil((query.codes?.length ?? 0) / totalsPerCost)),
      query: linkTotalsParameters,
      answers: { 200: { description: 'The totals.', schema: linkTotalsAnswer } },
      problems: ['stats_unavailable'],
      async handle({ query, actor }) {
        const codes = await ownAmong(links, actor, query.codes ?? []);
        const totals = await reports.totals(codes);
        return json({
          links: totals.map(({ clicks, bots, suspicious, lastClickAt }, index) => ({
            shortCode: codes[index]!,
            clicks,
            botClicks: bots,
            suspiciousClicks: suspicious,
            lastClickAt: lastClickAt === null ? null : isoTime(lastClickAt),
          })),
        });
      },
    }),
  ];
}

/** A link whose statistics the caller may see; otherwise the answer is as if it did not exist. */
async function linkWithStats(links: LinkContext, actor: Actor, code: string): Promise<Link> {
  const link = await links.store.find(code);
  if (link?.publicStats && link.status !== 'deleted') return link;
  return readLink(links, actor, code);
}

/** A client's list of links is a moment old: a link deleted since then is no reason to reject the others. */
async function ownAmong(links: LinkContext, actor: Actor, codes: readonly string[]): Promise<string[]> {
  const found = await Promise.all(codes.map(code => links.store.find(code)));
  return found
    .filter(link => link !== undefined && link.status !== 'deleted' && mayManage(actor, link.ownerId))
    .map(link => link!.code);
}

async function scopesOf(
  links: LinkContext,
  actor: Actor,
  codes: readonly string[] | undefined,
  tag: string | undefined,
): Promise<Scope[]> {
  const ownerId = ownerIdOf(actor);
  if (ownerId === null) throw new Problem('unauthorized');
  if (codes !== undefined && tag !== undefined) {
    throw new Problem('invalid_request', {
      detail: 'Name codes or a tag, not both.',
      fields: { field: 'tag' },
    });
  }
  if (tag !== undefined) return [{ kind: 'tag', ownerId, tag }];
  if (codes === undefined) return [{ kind: 'owner', ownerId }];
  const found = await Promise.all(codes.map(code => readLink(links, actor, code)));
  return found.filter(link => mayManage(actor, link.ownerId)).map(({ code }) => ({ kind: 'link', code }));
}

/** Whole buckets around the requested range. They are only counted here; the thread that answers iterates over them. */
function rangeOf(
  { from, to, interval, timeZone }: Asked,
  scopes: number,
  now: number,
  minuteDays: number,
): { from: number; to: number } {
  const refuse = (detail: string): never => {
    throw new Problem('invalid_request', { detail, fields: { field: 'from' } });
  };
  if (from !== undefined && from >= (to ?? now)) refuse('The range must end after it starts.');
  const end = endOf(to === undefined ? now : to - 1, interval, timeZone);
  const start = from ?? startOfLast(defaultBuckets[interval], end, interval, timeZone);
  if (interval === 'minute' && start < now - minuteDays * dayMs) {
    refuse(`Minutes are kept for ${minuteDays} days; ask for hours.`);
  }
  const range = { from: startOf(start, interval, timeZone), to: end };
  const buckets = bucketCount(range.from, range.to, interval);
  if (buckets > seriesBucketsMax)
    refuse(`That is more than ${seriesBucketsMax} buckets; ask for wider ones.`);
  if (buckets * scopes > readBucketsMax) {
    refuse(`That is more than ${readBucketsMax} buckets over ${scopes} links; ask for wider ones.`);
  }
  return range;
}

function viewOf(stats: Stats, { from, to, interval, timeZone }: Omit<StatsQuery, 'now'>) {
  const { dimensions: listed, dimensionDays, series, lastClickAt, ...counts } = stats;
  return {
    from: isoTime(from),
    to: isoTime(to),
    interval,
    timeZone,
    ...counts,
    uniqueVisitors: counts.range.visitors,
    series: series.map(bucket => ({ ...bucket, start: isoTime(bucket.start) })),
    listsFrom: isoTime(dimensionDays.from),
    listsTo: isoTime(dimensionDays.to),
    ...Object.fromEntries(dimensions.map(({ list, name }) => [list, listed[name]])),
    lastUpdatedAt: lastClickAt === null ? null : isoTime(lastClickAt),
  };
}
