/** Links, items and queries for the tests of stores and of their callers. */
import { flagNames, type LinkFlags, unstated } from './fields.ts';
import type { Link } from './link.ts';
import type { InsertItem, LinkStore, ListQuery } from './store.ts';

export interface StoreHarness {
  readonly store: LinkStore;
  /** Another handle on the same data; absent where the data lives in the handle itself. */
  readonly reopen?: () => Promise<LinkStore>;
  readonly dispose: () => Promise<void>;
  /** How many links count as many: several times what a page examines. Fewer where the engine is slow. */
  readonly many?: number;
}

export const samplesStart = Date.UTC(2026, 5, 1);

export function sampleLink(code: string, overrides: Partial<Link> = {}): Link {
  return {
    ...unstated,
    code,
    longUrl: `https://example.com/${code}`,
    ownerId: 'acc_1',
    origin: 'generated',
    status: 'active',
    createdAt: samplesStart,
    updatedAt: samplesStart,
    usedClicks: 0,
    risk: null,
    version: 1,
    ...overrides,
  };
}

/** Every switch on: what a codec forgets comes back as off. */
export const allFlags = Object.fromEntries(flagNames.map(name => [name, true])) as unknown as LinkFlags;

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

/** All pages of a count together. */
export async function countedIn(store: LinkStore, overrides: Partial<ListQuery>): Promise<number> {
  let sum = 0;
  let cursor: string | undefined;
  do {
    const page = await store.count(listQuery({ ...overrides, cursor }));
    sum += page.count;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return sum;
}
