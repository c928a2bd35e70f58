/** The calls about links, their totals and their aliases. */
import { request } from './request.ts';
import type { BulkResult, LinkFields, LinkPage, LinkTotal, LinkView } from './types.ts';

const path = (code: string): string => `/api/v1/links/${encodeURIComponent(code)}`;

export const linksPerPage = 100;

export const listLinks = (query: {
  cursor?: string;
  search?: string;
  signal?: AbortSignal | undefined;
}): Promise<LinkPage> =>
  request('GET', '/api/v1/links', {
    query: { limit: linksPerPage, cursor: query.cursor, search: query.search },
    signal: query.signal,
  });

export const readLink = (code: string, signal?: AbortSignal): Promise<LinkView> =>
  request('GET', path(code), { signal });

export const createLink = (fields: LinkFields): Promise<LinkView> =>
  request('POST', '/api/v1/links', { body: fields });

export const editLink = (code: string, fields: LinkFields): Promise<LinkView> =>
  request('PATCH', path(code), { body: fields });

/** Small enough that the last calls of a page that is left are still sent. */
const linksPerCall = 1_000;

async function inBulk(
  method: 'PATCH' | 'DELETE',
  codes: readonly string[],
  change: { readonly change?: LinkFields },
  keepalive = false,
): Promise<BulkResult[]> {
  const results: BulkResult[] = [];
  for (let from = 0; from < codes.length; from += linksPerCall) {
    const body = { codes: codes.slice(from, from + linksPerCall), ...change };
    const answer = await request<{ results: BulkResult[] }>(method, '/api/v1/links/bulk', {
      body,
      keepalive,
    });
    results.push(...answer.results);
  }
  return results;
}

/** One result per code, in order. */
export const editLinks = (codes: readonly string[], change: LinkFields): Promise<BulkResult[]> =>
  inBulk('PATCH', codes, { change });

/** One result per code, in order. */
export const deleteLinks = (codes: readonly string[], { keepalive = false } = {}): Promise<BulkResult[]> =>
  inBulk('DELETE', codes, {}, keepalive);

export interface AliasAnswer {
  readonly alias: string;
  readonly available: boolean;
  readonly reason: string | null;
}

export const checkAlias = (alias: string, signal: AbortSignal): Promise<AliasAnswer> =>
  request('GET', `/api/v1/aliases/${encodeURIComponent(alias)}`, { signal });

export const totalsMax = 100;

export const readTotals = async (
  codes: readonly string[],
  signal?: AbortSignal,
): Promise<readonly LinkTotal[]> => {
  const answer = await request<{ links: readonly LinkTotal[] }>('GET', '/api/v1/stats/links', {
    query: { codes: codes.join(',') },
    signal,
  });
  return answer.links;
};

export const qrAddress = (code: string, format: 'svg' | 'png', size: number): string =>
  `${path(code)}/qr?format=${format}&size=${size}`;

export const clicksAddress = (code: string, from: string, to: string): string =>
  `${path(code)}/clicks?${new URLSearchParams({ format: 'csv', from, to })}`;

export const liveAddress = (code: string): string => `${path(code)}/live`;
