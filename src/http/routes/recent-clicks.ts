/** Single clicks of links, the newest first, with the filters of statistics: for a list that is read, not for exports. */
import { invalidCursor, Problem } from '../../base/errors.ts';
import type { ShownClick } from '../../clicks/dimensions.ts';
import type { ClickReports } from '../../clicks/stats.ts';
import type { Scope } from '../../clicks/warehouse.ts';
import type { LinkContext } from '../../links/context.ts';
import { readLink } from '../../links/read.ts';
import type { Reply } from '../json-reply.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, json, type Route } from '../route.ts';
import {
  accountRecentParameters,
  type FilterParameters,
  recentAnswer,
  recentParameters,
} from '../stats-schemas.ts';
import { filteredCost, filtering, filtersOf, isoOrNull, scopeOf, scopesOf } from './stats.ts';

interface RecentRoutesOptions {
  readonly links: LinkContext;
  readonly reports: Pick<ClickReports, 'recent'>;
}

type Asked = FilterParameters & {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
};

const dayMs = 24 * 60 * 60_000;
const defaultMs = 30 * dayMs;
const rangePerCostMs = 180 * dayMs;
const kept = 'As long as single clicks are stored; visits of bots are among them.';

export function recentClickRoutes({ links, reports }: RecentRoutesOptions): Route[] {
  /** By the range: a filter that matches nothing reads all of it. */
  const costOf = ({ from, to }: Pick<Asked, 'from' | 'to'>): number => {
    const lengthMs = from === undefined ? defaultMs : Math.max(0, (to ?? links.clock.now()) - from);
    return filteredCost * Math.max(1, Math.ceil(lengthMs / rangePerCostMs));
  };
  const recent = async (scopes: readonly Scope[], asked: Asked): Promise<Reply> => {
    const now = links.clock.now();
    const { to = now + 1, from = to - defaultMs, limit } = asked;
    if (from >= to)
      throw new Problem('invalid_request', {
        detail: 'The range must end after it starts.',
        fields: { field: 'from' },
      });
    const { beforeMs, skip } = cursorIn(asked.cursor) ?? { beforeMs: to, skip: 0 };
    const question = { scopes, from, to: Math.min(to, beforeMs), filters: filtersOf(asked), skip };
    // One more than is shown: it says whether there is another page.
    const { clicks, coveredFrom } = await reports.recent({ ...question, limit: limit + 1 });
    const shown = clicks.slice(0, limit);
    return json({
      clicks: shown.map(view),
      nextCursor: clicks.length > limit ? cursorAfter(shown, question) : null,
      coveredFrom: isoOrNull(coveredFrom === 0 ? null : coveredFrom),
    });
  };
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/links/{code}/clicks/recent',
      name: 'readRecentLinkClicks',
      summary: 'Recent clicks of a link',
      description: `The newest first. ${kept} ${filtering}`,
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => costOf(query),
      query: recentParameters,
      answers: { 200: { description: 'A page of clicks.', schema: recentAnswer } },
      problems: ['not_found', 'link_deleted', 'stats_unavailable'],
      async handle({ params, query, actor }) {
        return recent([scopeOf(await readLink(links, actor, params.code!))], query);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/clicks/recent',
      name: 'readRecentClicks',
      summary: 'Recent clicks of all your links, of some, or of a tag',
      description: `The newest first. ${kept} ${filtering}`,
      scope: 'stats:read',
      work: 'statistics',
      limit: 'read',
      limitCost: ({ query }) => costOf(query),
      query: accountRecentParameters,
      answers: { 200: { description: 'A page of clicks.', schema: recentAnswer } },
      problems: ['not_found', 'link_deleted', 'stats_unavailable'],
      async handle({ query: { codes, tag, ...asked }, actor }) {
        return recent(await scopesOf(links, actor, codes, tag), asked);
      },
    }),
  ];
}

const view = ({ code, at, ...rest }: ShownClick) => ({ shortCode: code, at: isoTime(at), ...rest });

interface Place {
  /** One millisecond behind the last click that was shown. */
  readonly beforeMs: number;
  /** Clicks of that moment that were shown. */
  readonly skip: number;
}

function cursorIn(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const [, beforeMs, skip] = /^(\d{1,15})-(\d{1,4})$/.exec(cursor) ?? [];
  if (beforeMs === undefined) throw invalidCursor();
  return { beforeMs: Number(beforeMs), skip: Number(skip) };
}

function cursorAfter(shown: readonly ShownClick[], { to, skip }: { to: number; skip: number }): string {
  const { at } = shown.at(-1)!;
  const ofMoment = shown.filter(click => click.at === at).length;
  return `${at + 1}-${ofMoment + (at + 1 === to ? skip : 0)}`;
}
