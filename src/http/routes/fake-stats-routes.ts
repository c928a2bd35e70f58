/** The routes of statistics over a fake warehouse, called as the dispatcher calls them. */
import type { Actor } from '../../accounts/account.ts';
import { ManualClock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { SampleClick } from '../../clicks/batch-samples.ts';
import { Truth } from '../../clicks/fake-warehouse-truth.ts';
import {
  type BreakdownQuery,
  type ClickReports,
  readBreakdown,
  readStats,
  type StatsQuery,
  type StatsSource,
} from '../../clicks/stats.ts';
import type { LinkContext } from '../../links/context.ts';
import { sampleLink } from '../../links/store-samples.ts';
import type { Reply } from '../json-reply.ts';
import type { Route } from '../route.ts';
import { RequestSpelling } from '../spellings.ts';
import { validated } from '../validated.ts';
import { statsRoutes } from './stats.ts';

const none = { source: 'aggregates', coveredFrom: null, listsByDayUntil: null } as const;
export const noStats = {
  ...none,
  range: { visitors: 0 },
  dimensions: {},
  series: [],
  comparison: null,
  lastClickAt: null,
};
const noValues = { ...none, values: [], total: 0 };

interface FakeReports {
  readonly stats?: (query: StatsQuery) => Promise<unknown>;
  readonly breakdown?: (query: BreakdownQuery) => Promise<unknown>;
}

export function routeWith(
  name: string,
  now: number,
  { stats = async () => noStats, breakdown = async () => noValues }: FakeReports = {},
): Route {
  const links = {
    clock: new ManualClock(now),
    store: {
      find: async (code: string) => sampleLink(code, { publicStats: true, ownerId: `owner of ${code}` }),
    },
  } as unknown as LinkContext;
  const reports = { stats, breakdown } as unknown as ClickReports;
  const site = { secret: new Uint8Array(32), baseUrl: 'https://terse.example' };
  return statsRoutes({ ...site, links, reports, minuteDays: 3650 }).find(route => route.name === name)!;
}

/** The owner of the link `a`. */
const owner: Actor = {
  kind: 'account',
  accountId: 'owner of a',
  isAdmin: false,
  plan: 'free',
  scopes: new Set(),
  keyId: null,
  sessionId: null,
};

/** As the dispatcher does: names first, then the schema, then the route. */
export async function send(route: Route, text: string, params = {}, actor: Actor = owner): Promise<Reply> {
  const given = Object.fromEntries(new URLSearchParams(text));
  const query = validated(
    route.query!,
    new RequestSpelling('/').canonical(given, route.query!),
    'invalid_request',
  );
  return ask(route, query as object, params, actor);
}

export const ask = async (route: Route, given: object, params = {}, actor: Actor = owner): Promise<Reply> =>
  route.handle({
    params: { code: 'a', ...params },
    query: given,
    body: undefined,
    actor,
    identifyAgain: async () => actor,
    spelling: new RequestSpelling('/'),
    request: new Request('http://localhost/'),
  });

/** Single clicks are kept from here on. */
export const singlesFrom = Date.UTC(2026, 5, 2);

/** Reports from a warehouse that counts these clicks in the simplest way. */
export function countedReports(clicks: readonly SampleClick[]): FakeReports {
  const truth = new Truth(clicks);
  const source: StatsSource = {
    answer: async question => ({
      ...truth.answer(question),
      source: question.filters.length > 0 ? 'clicks' : 'aggregates',
      coveredFrom: question.filters.length > 0 ? singlesFrom : 0,
      listsByDayUntil: 0,
    }),
    totals: async scopes => scopes.map(scope => truth.total(scope)),
  };
  return {
    stats: query => readStats(source, query),
    breakdown: query => readBreakdown(source, query),
  };
}

export const now = Date.UTC(2026, 5, 3, 10, 30, 20);

/** The query that a request sends to the warehouse. */
export async function queryOf(text: string): Promise<StatsQuery> {
  const queries: StatsQuery[] = [];
  const stats = async (query: StatsQuery): Promise<unknown> => {
    queries.push(query);
    return noStats;
  };
  await send(routeWith('readLinkStats', now, { stats }), text);
  return queries[0]!;
}

/** Why a request was rejected. */
export const problemOf = async (asked: Promise<unknown>): Promise<Problem> => {
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Problem) return error;
  throw error ?? new Error('The request was answered.');
};
