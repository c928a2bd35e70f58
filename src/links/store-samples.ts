/** Links, items and queries that the tests of stores and of whatever stands on them are made of. */
import type { Link } from './link.ts';
import type { InsertItem, LinkStore, ListQuery } from './store.ts';

export interface StoreHarness {
  readonly store: LinkStore;
  /** Another handle on the same data; absent where the data lives in the handle itself. */
  readonly reopen?: () => Promise<LinkStore>;
  readonly dispose: () => Promise<void>;
  /** How many links are many: several times what a page looks through. Fewer where the engine takes long for each. */
  readonly many?: number;
}

export const samplesStart = Date.UTC(2026, 5, 1);

export function sampleLink(code: string, overrides: Partial<Link> = {}): Link {
  return {
    code,
    longUrl: `https://example.com/${code}`,
    ownerId: 'acc_1',
    origin: 'generated',
    status: 'active',
    redirectType: 302,
    forwardQuery: false,
    publicStats: false,
    title: null,
    tags: [],
    createdAt: samplesStart,
    updatedAt: samplesStart,
    expiresAt: null,
    maxClicks: null,
    usedClicks: 0,
    risk: null,
    version: 1,
    ...overrides,
  };
}

export const insertItem = (link: Link, extra: Partial<InsertItem> = {}): InsertItem => ({
  link,
  leased: link.origin === 'generated' && extra.claim === undefined,
  claim: undefined,
  existing: 'ignored',
  idempotency: undefined,
  ...extra,
});

export const listQuery = (overrides: Partial<ListQuery> = {}): ListQuery => ({
  ownerId: 'acc_1',
  limit: 10,
  order: 'newest',
  cursor: undefined,
  now: samplesStart,
  ...overrides,
});
