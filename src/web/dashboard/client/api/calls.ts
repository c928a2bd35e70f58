/** The calls of the API that the dashboard makes, by subject. */
import { timeZone } from '../site.ts';
import { request } from './request.ts';
import type * as Api from './types.ts';

/** A path of the API; inserted values are encoded. */
const api = (parts: TemplateStringsArray, ...ids: readonly string[]): string =>
  `/api/v1/${String.raw(parts, ...ids.map(encodeURIComponent))}`;

// Signing in and out, and the own account.

type SignInWith = { readonly key: string } | { readonly email: string; readonly password: string };

export const signIn = (credentials: SignInWith): Promise<Api.AccountView> =>
  request<{ account: Api.AccountView }>('POST', api`session`, {
    body: credentials,
    waitsForSession: false,
    isHarmless: true,
  }).then(({ account }) => account);

export const readSignInOptions = (signal: AbortSignal): Promise<Api.SignInOptions> =>
  request('GET', api`sign-in-options`, { signal, waitsForSession: false });

export const signUp = (person: Api.NewPerson): Promise<void> =>
  request('POST', api`sign-up`, { body: person, waitsForSession: false });

export const signOut = (): Promise<void> => request('DELETE', api`session`, { waitsForSession: false });

export const readAccount = (): Promise<Api.AccountView> =>
  request('GET', api`account`, { waitsForSession: false });

export const editAccount = (change: Api.OwnChange): Promise<Api.AccountView> =>
  request('PATCH', api`account`, { body: change });

export const listSessions = (signal: AbortSignal): Promise<readonly Api.OpenSession[]> =>
  request<{ sessions: readonly Api.OpenSession[] }>('GET', api`sessions`, { signal }).then(
    ({ sessions }) => sessions,
  );

export const endSession = (id: string): Promise<void> => request('DELETE', api`sessions/${id}`);

// Accounts, for admins, and accepting an invitation.

export const listAccounts = (cursor: string | undefined, signal?: AbortSignal): Promise<Api.AccountPage> =>
  request('GET', api`accounts`, { query: { limit: 100, cursor }, signal });

export const createAccount = (fields: Api.NewAccount): Promise<Api.AccountView> =>
  request('POST', api`accounts`, { body: fields });

export const changeAccount = (id: string, fields: Api.AccountFields): Promise<Api.AccountView> =>
  request('PATCH', api`accounts/${id}`, { body: fields });

export const setSuspended = (id: string, isSuspended: boolean): Promise<Api.AccountView> =>
  request('POST', api`accounts/${id}/${isSuspended ? 'suspend' : 'unsuspend'}`, { body: {} });

export const invite = (id: string): Promise<Api.Invitation> =>
  request('POST', api`accounts/${id}/invitation`);

export const resetPassword = (id: string): Promise<Api.Invitation> =>
  request('POST', api`accounts/${id}/password-reset`);

export const readInvitation = (token: string): Promise<Api.OpenInvitation> =>
  request('POST', api`invitations/read`, { body: { token }, waitsForSession: false, isHarmless: true });

export const acceptInvitation = (token: string, password: string): Promise<Api.AccountView> =>
  request('POST', api`invitations/accept`, { body: { token, password }, waitsForSession: false });

// API keys.

/** All of them: an account has a few pages at most. */
export async function listKeys(signal: AbortSignal): Promise<readonly Api.KeyView[]> {
  const all: Api.KeyView[] = [];
  let cursor: string | undefined;
  do {
    const page: Api.KeyPage = await request('GET', api`keys`, { query: { cursor }, signal });
    all.push(...page.keys);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return all;
}

export const createKey = (fields: Api.KeyFields): Promise<Api.NewKey> =>
  request('POST', api`keys`, { body: fields });

export const rotateKey = (id: string): Promise<Api.NewKey> =>
  request('POST', api`keys/${id}/rotate`, { body: {} });

export const revokeKey = (id: string): Promise<void> => request('DELETE', api`keys/${id}`);

// Links.

export const linksPerPage = 500;

export const listLinks = ({
  signal,
  ...query
}: {
  cursor?: string | undefined;
  limit?: number;
  search?: string | undefined;
  createdTo?: string | undefined;
  tag?: string | undefined;
  status?: string | undefined;
  signal?: AbortSignal | undefined;
}): Promise<Api.LinkPage> => request('GET', api`links`, { query: { limit: linksPerPage, ...query }, signal });

export const readLink = (code: string, signal?: AbortSignal): Promise<Api.LinkView> =>
  request('GET', api`links/${code}`, { signal });

/** Repeating a call with the same key and fields creates no second link. */
export const createLink = (fields: Api.LinkFields, idempotencyKey: string): Promise<Api.LinkView> =>
  request('POST', api`links`, { body: fields, idempotencyKey });

export const editLink = (code: string, fields: Api.LinkFields): Promise<Api.LinkView> =>
  request('PATCH', api`links/${code}`, { body: fields });

export const readHistory = (
  code: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Api.HistoryPage> => request('GET', api`links/${code}/history`, { query: { cursor }, signal });

export const appeal = (code: string, text: string): Promise<void> =>
  request('POST', api`links/${code}/appeal`, { body: { text } });

/** Small enough that the last calls are still sent when the page is closed. */
const linksPerCall = 1_000;
/** So few that the smallest plan allows them at once, and that progress can be seen. */
export const newLinksPerCall = 100;

type OnResults = (results: readonly Api.BulkResult[]) => void;

const inCalls = (codes: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(codes.length / linksPerCall) }, (_, call) =>
    codes.slice(call * linksPerCall, (call + 1) * linksPerCall),
  );

const inBulk = (
  method: 'PATCH' | 'DELETE',
  body: { readonly codes: readonly string[]; readonly change?: Api.LinkFields },
  options: { readonly keepalive?: boolean } = {},
): Promise<readonly Api.BulkResult[]> =>
  request<{ results: Api.BulkResult[] }>(method, api`links/bulk`, { body, ...options }).then(
    ({ results }) => results,
  );

/** One result per link, in order. */
export const createLinks = (
  links: readonly Api.LinkFields[],
  idempotencyKey: string,
  limitSignal: AbortSignal,
): Promise<readonly Api.NewLinkResult[]> =>
  request<{ results: Api.NewLinkResult[] }>('POST', api`links/bulk`, {
    body: { links },
    idempotencyKey,
    limitSignal,
  }).then(({ results }) => results);

/** One result per code, in order, reported after each call: if one fails, the results of earlier calls are known. */
export async function editLinks(
  codes: readonly string[],
  change: Api.LinkFields,
  onResults: OnResults,
): Promise<void> {
  for (const some of inCalls(codes)) onResults(await inBulk('PATCH', { codes: some, change }));
}

/** Reports results as `editLinks` does. */
export async function deleteLinks(codes: readonly string[], onResults: OnResults): Promise<void> {
  for (const some of inCalls(codes)) onResults(await inBulk('DELETE', { codes: some }));
}

/** Sends all calls at once, because a page that is being closed cannot wait for answers. */
export function deleteLinksOnLeaving(codes: readonly string[]): void {
  for (const some of inCalls(codes))
    inBulk('DELETE', { codes: some }, { keepalive: true }).catch(() => undefined);
}

export const checkAlias = (alias: string, signal: AbortSignal): Promise<Api.AliasAnswer> =>
  request('GET', api`aliases/${alias}`, { signal });

export const qrAddress = (code: string, size: number): string => `${api`links/${code}/qr`}?size=${size}`;

export const shareStats = (code: string, expiresAt: string): Promise<Api.SharedStats> =>
  request('POST', api`links/${code}/stats-tokens`, { body: { expiresAt } });

/** The clicks behind the numbers of the same query. */
export const clicksAddress = (code: string, query: Readonly<Record<string, string>>): string =>
  `${api`links/${code}/clicks`}?${new URLSearchParams({ format: 'csv', ...query })}`;

export const liveAddress = (code: string): string => api`links/${code}/live`;

// Statistics.

export const totalsMax = 100;

const totalsDays = 7;

/** Includes the clicks of each of the last seven days. */
export const readTotals = (codes: readonly string[]): Promise<readonly Api.LinkTotal[]> =>
  request<{ links: readonly Api.LinkTotal[] }>('GET', api`stats/links`, {
    query: { codes: codes.join(','), days: totalsDays, timeZone },
  }).then(({ links }) => links);

export interface StatsRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly interval: Api.Interval;
}

/** The subject of statistics: one link, a tag, or all links. */
export interface StatsOf {
  readonly code?: string | undefined;
  readonly tag?: string | undefined;
}

type Parameters = Readonly<Record<string, string | number | undefined>>;

const isoRange = ({ fromMs, toMs }: Pick<StatsRange, 'fromMs' | 'toMs'>) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
});

/** `more` are filters, the comparison and the time zone. */
export const readStats = (
  { code, tag }: StatsOf,
  { interval, ...range }: StatsRange,
  more: Parameters,
  signal: AbortSignal,
): Promise<Api.Stats> =>
  request('GET', code === undefined ? api`stats` : api`links/${code}/stats`, {
    query: { ...isoRange(range), interval, ...(code === undefined && { tag }), ...more },
    signal,
  });

/** A page of all values of a dimension. */
export const readValues = (
  { code, tag }: StatsOf,
  dimension: string,
  query: Parameters,
  signal?: AbortSignal,
): Promise<Api.ValuePage> =>
  request('GET', code === undefined ? api`stats/${dimension}` : api`links/${code}/stats/${dimension}`, {
    query: { ...(code === undefined && { tag }), ...query },
    signal,
  });

/** Single clicks, the newest first. */
export const readRecent = (
  { code, tag }: StatsOf,
  query: Parameters,
  signal?: AbortSignal,
): Promise<Api.RecentClicks> =>
  request('GET', code === undefined ? api`clicks/recent` : api`links/${code}/clicks/recent`, {
    query: { ...(code === undefined && { tag }), ...query },
    signal,
  });

// For moderators and operators.

export const readQueue = (cursor: string | undefined, signal: AbortSignal): Promise<Api.Queue> =>
  request('GET', api`moderation/queue`, { query: { limit: 100, cursor }, signal });

export const readCase = (code: string, signal: AbortSignal): Promise<Api.Case> =>
  request('GET', api`moderation/links/${code}`, { signal });

export const decide = (
  { shortCode, version }: Api.ModeratedLink,
  decision: Api.Decision,
  reason: string,
): Promise<Api.Case> =>
  request('POST', api`moderation/links/${shortCode}/decision`, { body: { decision, reason, version } });

export const addNote = (code: string, text: string): Promise<Api.Case> =>
  request('POST', api`moderation/links/${code}/notes`, { body: { text } });

export const readAudit = (
  query: {
    readonly subjectKind?: string | undefined;
    readonly subjectId?: string;
    readonly cursor?: string | undefined;
  },
  signal?: AbortSignal,
): Promise<Api.AuditPage> => request('GET', api`audit`, { query: { limit: 50, ...query }, signal });

export const readBlocklist = (cursor: string | undefined, signal: AbortSignal): Promise<Api.Blocklist> =>
  request('GET', api`blocklist`, { query: { limit: 100, sort: '-addedAt', cursor }, signal });

export const addBlockEntry = (entry: string, reason: string): Promise<Api.BlockEntry> =>
  request('POST', api`blocklist`, { body: { entry, ...(reason !== '' && { reason }) } });

export const removeBlockEntry = (id: string): Promise<void> => request('DELETE', api`blocklist/${id}`);

export const readStatus = (signal: AbortSignal): Promise<Api.ServerStatus> =>
  request('GET', api`status`, { signal });
