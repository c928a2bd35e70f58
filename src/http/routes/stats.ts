/** The statistics of links: for their owners, and for everyone where the owner made them public. */
import { type Actor, mayManage, ownerIdOf } from '../../accounts/account.ts';
import { closestName } from '../../base/did-you-mean.ts';
import { invalidCursor, Problem } from '../../base/errors.ts';
import { SharedReads } from '../../base/shared-reads.ts';
import { bucketCount } from '../../base/zone.ts';
import { type Dimension, type DimensionName, dimensionOf, dimensions } from '../../clicks/dimensions.ts';
import type {
  BreakdownQuery,
  ClickReports,
  CountedLink,
  Coverage,
  Stats,
  StatsQuery,
} from '../../clicks/stats.ts';
import type { Filter, Scope } from '../../clicks/warehouse.ts';
import type { LinkContext } from '../../links/context.ts';
import type { Link } from '../../links/link.ts';
import { readLink } from '../../links/read.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, jsonText, type Route } from '../route.ts';
import { camelCase } from '../spellings.ts';
import { type AskedRange, comparisonOf, rangeOf } from '../stats-range.ts';
import {
  accountBreakdownParameters,
  accountStatsParameters,
  breakdownAnswer,
  breakdownParameters,
  type FilterParameters,
  filtersMax,
  statsAnswer,
  statsParameters,
} from '../stats-schemas.ts';
import { totalsRoute } from './link-totals.ts';
import { createStatsTokens, shareRoute } from './share-stats.ts';

interface StatsRoutesOptions {
  readonly links: LinkContext;
  readonly reports: Pick<ClickReports, 'stats' | 'breakdown' | 'totals' | 'clicksBy'>;
  readonly secret: Uint8Array;
  readonly baseUrl: string;
  /** Days for which minutes are kept. */
  readonly minuteDays: number;
}

const dayMs = 24 * 60 * 60_000;
/** Buckets per token of the limit: a month of days costs one, a day of minutes six. */
const bucketsPerCost = 250;
/** Values of a page per token. */
const valuesPerCost = 250;
/** A filter reads single clicks, where there are more of them than buckets. */
export const filteredCost = 5;
type Asked = AskedRange & FilterParameters;

type AskedPage = Asked & {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly search: string;
};

export const filtering =
  'Filters are parameters with the name of a dimension: `country=DE,FR` for clicks from either, `country=!DE,FR` for clicks ' +
  'from elsewhere, `referrer=` for direct visits. A backslash before a comma, a backslash or the first `!` makes it part of a ' +
  `value. At most ${filtersMax} filters, and a click has to meet all of them.`;
const paging =
  'All values of a dimension, such as `country` or `utmCampaign`, with the most clicks first. Clicks are counted while you ' +
  'read, so a value may be on two pages or on none.';
const problems = ['not_found', 'link_deleted', 'stats_unavailable'] as const;

export function statsRoutes(options: StatsRoutesOptions): Route[] {
  const { links, reports, minuteDays, secret, baseUrl } = options;
  const tokens = createStatsTokens(secret, links.clock);
  /** A link whose statistics the caller may see; otherwise the answer is as if it did not exist. */
  const linkWithStats = async (actor: Actor, code: string, token: string | undefined): Promise<Link> => {
    const link = await links.store.find(code);
    if (link !== undefined && link.status !== 'deleted') {
      if (link.publicStats || (token !== undefined && tokens.accepts(token, link))) return link;
    }
    return readLink(links, actor, code);
  };
  /** Concurrent requests for the same numbers share one computation. */
  const sharedStats = new SharedReads(async (question: string): Promise<string> => {
    const { isStranger, ...query } = JSON.parse(question) as Omit<StatsQuery, 'now'> & Viewer;
    const now = links.clock.now();
    const stats = await reports.stats({ ...query, now });
    const minutesFrom = isoTime(now - minuteDays * dayMs);
    return JSON.stringify({
      ...viewOf(stats, query),
      ...(isStranger && { [dimensionOf(ownersOnly).list]: [] }),
      minutesFrom,
    });
  });
  const sharedPages = new SharedReads(async (question: string): Promise<string> => {
    const query = JSON.parse(question) as BreakdownQuery;
    const { values, total, ...coverage } = await reports.breakdown(query);
    const next = query.breakdown.offset + values.length;
    return JSON.stringify({
      from: isoTime(query.from),
      to: isoTime(query.to),
      filters: filtersView(query.filters),
      values,
      total,
      nextCursor: next < total && values.length > 0 ? String(next) : null,
      ...coverageView(coverage),
    });
  });
  const rangesOf = (asked: AskedRange, scopes: number) => {
    const bounds = { scopes, now: links.clock.now(), minuteDays };
    const range = rangeOf(asked, bounds);
    return { range, comparison: comparisonOf(asked, range, bounds) };
  };
  const stats = async (scopes: readonly Scope[], asked: Asked, isStranger = false): Promise<Response> => {
    const { range, comparison } = rangesOf(asked, scopes.length);
    const { interval, timeZone } = asked;
    const filters = filtersOf(asked);
    if (isStranger) refuseOwnersOnly(filters);
    const query = { ...range, scopes, filters, interval, timeZone, comparison, isStranger };
    return jsonText(await sharedStats.read(JSON.stringify(query)));
  };
  const page = async (
    scopes: readonly Scope[],
    dimension: Dimension,
    asked: AskedPage,
  ): Promise<Response> => {
    const { limit, cursor, search } = asked;
    const query: BreakdownQuery = {
      ...rangesOf(asked, scopes.length).range,
      scopes,
      filters: filtersOf(asked),
      breakdown: { dimension: dimension.name, offset: offsetOf(cursor), limit, search },
    };
    return jsonText(await sharedPages.read(JSON.stringify(query)));
  };
  const costOf = (asked: Asked, scopes: number): number => {
    const { range, comparison } = rangesOf(asked, scopes);
    const buckets = [range, ...(comparison === undefined ? [] : [comparison])].reduce(
      (sum, { from, to }) => sum + bucketCount(from, to, asked.interval),
      0,
    );
    return Math.ceil((buckets * scopes) / bucketsPerCost) * (filtersOf(asked).length > 0 ? filteredCost : 1);
  };
  const pageCostOf = (asked: AskedPage, scopes: number): number =>
    costOf(asked, scopes) + Math.ceil(asked.limit / valuesPerCost) - 1;
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/stats',
      name: 'readLinkStats',
      summary: 'Clicks of a link',
      description:
        'For the owner, for anyone if the link has `publicStats`, and for people with a `token`. Clicks show within ' +
        'seconds. ' +
        filtering,
      auth: 'optional',
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => costOf(query, 1),
      query: statsParameters,
      answers: { 200: { description: 'The numbers.', schema: statsAnswer } },
      problems,
      async handle({ params, query: { token, ...query }, actor }) {
        const link = await linkWithStats(actor, params.code!, token);
        return stats([scopeOf(link)], query, !mayManage(actor, link.ownerId));
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/stats/{dimension}',
      name: 'readLinkBreakdown',
      summary: 'Clicks of a link by one dimension',
      description: `${paging} The filters are those of the link’s statistics.`,
      auth: 'optional',
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => pageCostOf(query, 1),
      query: breakdownParameters,
      answers: { 200: { description: 'A page of values.', schema: breakdownAnswer } },
      problems,
      async handle({ params, query: { token, ...query }, actor }) {
        const dimension = dimensionNamed(params.dimension!, ofLinks);
        const link = await linkWithStats(actor, params.code!, token);
        if (!mayManage(actor, link.ownerId)) refuseOwnersOnly(filtersOf(query), dimension.name);
        return page([scopeOf(link)], dimension, query);
      },
    }),
    shareRoute({ links, baseUrl, tokens }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/stats',
      name: 'readStats',
      summary: 'Clicks of all your links, of some, or of a tag',
      description:
        'A click counts for the tags its link had at that moment. Name `codes` or a `tag`, not both. ' +
        filtering,
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => costOf(query, query.codes?.length ?? 1),
      query: accountStatsParameters,
      answers: { 200: { description: 'The numbers.', schema: statsAnswer } },
      problems,
      async handle({ query: { codes, tag, ...asked }, actor }) {
        return stats(await scopesOf(links, actor, codes, tag), asked);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/stats/{dimension}',
      name: 'readBreakdown',
      summary: 'Clicks of all your links, of some, or of a tag, by one dimension',
      description: `${paging} \`link\` ranks your links under a filter. The filters are those of the statistics.`,
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => pageCostOf(query, query.codes?.length ?? 1),
      query: accountBreakdownParameters,
      answers: { 200: { description: 'A page of values.', schema: breakdownAnswer } },
      problems,
      async handle({ params, query: { codes, tag, ...asked }, actor }) {
        const dimension = dimensionNamed(params.dimension!, dimensions);
        if (codes !== undefined && !dimension.isOfLinks) {
          throw new Problem('invalid_request', {
            detail: 'Links are listed for your account or a tag; name them as the filter “link”.',
            fields: { field: 'codes' },
          });
        }
        return page(await scopesOf(links, actor, codes, tag), dimension, asked);
      },
    }),
    totalsRoute({ links, reports }),
  ];
}

/** The addresses of pages may say more than their sites want everyone to know. */
const ownersOnly = 'referrerUrl';

interface Viewer {
  /** Sees the statistics only because they are public. */
  readonly isStranger: boolean;
}

/** Filters read single clicks: strangers must not cause that cost, and could single out one visitor. */
function refuseOwnersOnly(filters: readonly Filter[], dimension?: DimensionName): void {
  if (filters.length === 0 && dimension !== ownersOnly) return;
  throw new Problem('not_found', {
    detail: `Only the owner of a link may filter its clicks, or see them by ${ownersOnly}.`,
  });
}

export const scopeOf = ({ code, ownerId }: CountedLink): Scope => ({ kind: 'link', code, ownerId });

export async function scopesOf(
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
  return found.filter(link => mayManage(actor, link.ownerId)).map(scopeOf);
}

const ofLinks = dimensions.filter(({ isOfLinks }) => isOfLinks);

/** An unknown name is a 404, because the name is part of the path. */
function dimensionNamed(given: string, among: readonly Dimension[]): Dimension {
  const found = among.find(({ name }) => name === camelCase(given));
  if (found !== undefined) return found;
  const meant = closestName(
    given,
    among.map(({ name }) => name),
  );
  const suggestion = meant === undefined ? '' : `; did you mean “${meant}”?`;
  throw new Problem('not_found', {
    detail: `“${given}” is not a dimension of these statistics${suggestion === '' ? '.' : suggestion}`,
  });
}

export function filtersOf(asked: FilterParameters): Filter[] {
  const filters = dimensions.flatMap(({ name }) => {
    const filter = asked[name];
    return filter === undefined ? [] : [{ dimension: name, ...filter }];
  });
  if (filters.length <= filtersMax) return filters;
  throw new Problem('invalid_request', {
    detail: `At most ${filtersMax} filters are possible in one request.`,
    fields: { field: filters[filtersMax]!.dimension },
  });
}

/** The cursor of a page is the number of values before it. */
function offsetOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!/^[1-9]\d{0,8}$/.test(cursor)) throw invalidCursor();
  return Number(cursor);
}

export const isoOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

const filtersView = (filters: readonly Filter[]) =>
  Object.fromEntries(
    filters.map(({ dimension, values, isExcluded }) => [dimension, { values, excluded: isExcluded }]),
  );

const coverageView = ({ source, coveredFrom, listsByDayUntil }: Coverage) => ({
  source,
  coveredFrom: isoOrNull(coveredFrom),
  listsByDayUntil: isoOrNull(listsByDayUntil),
});

const seriesView = (series: Stats['series']) =>
  series.map(bucket => ({ ...bucket, start: isoTime(bucket.start) }));

function viewOf(stats: Stats, { from, to, interval, timeZone, filters }: Omit<StatsQuery, 'now'>) {
  const { totalClicks, botClicks, suspiciousClicks, clicks24h, range, comparison } = stats;
  return {
    from: isoTime(from),
    to: isoTime(to),
    interval,
    timeZone,
    totalClicks,
    botClicks,
    suspiciousClicks,
    clicks24h,
    range,
    uniqueVisitors: range.visitors,
    series: seriesView(stats.series),
    filters: filtersView(filters),
    ...coverageView(stats),
    comparison: comparison && {
      ...comparison,
      from: isoTime(comparison.from),
      to: isoTime(comparison.to),
      coveredFrom: isoOrNull(comparison.coveredFrom),
      series: seriesView(comparison.series),
    },
    ...Object.fromEntries(dimensions.map(({ list, name }) => [list, stats.dimensions[name]])),
    lastUpdatedAt: isoOrNull(stats.lastClickAt),
  };
}
