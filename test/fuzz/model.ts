/**
 * A model of the server's state, updated from accepted requests. It is deliberately simple: maps and straight-line
 * rules, no storage, no caches.
 */
import type { People } from './account-model.ts';

export type Owner = 'admin' | 'stranger' | 'nobody';

/** A link as the API shows it; the fields are those of the document. */
export interface LinkView {
  readonly shortCode: string;
  readonly longUrl: string;
  readonly status: 'active' | 'disabled' | 'expired' | 'exhausted' | 'quarantined' | 'blocked';
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly expiresAt: string | null;
  readonly title: string | null;
  readonly tags: readonly string[];
  readonly redirectType: number;
  readonly forwardQuery: boolean;
  readonly maxClicks: number | null;
  readonly usedClicks: number;
  readonly custom: boolean;
  readonly shortUrl: string;
  readonly publicStats: boolean;
  /** Counted a moment after a link is followed, so it is checked separately and not kept here. */
  readonly clicks?: number | null;
  /** Other fields are compared like these. */
  readonly [field: string]: unknown;
}

export interface ModelLink {
  readonly owner: Owner;
  /** As the server showed it last, but with the stored status: `active` or `disabled`. */
  view: LinkView;
  deleted: boolean;
  /** How often it redirected a visitor. */
  visits: number;
}

export interface ModelKey {
  readonly id: string;
  readonly owner: Owner;
  readonly name: string;
  readonly scopes: readonly string[];
  secret: string;
  revoked: boolean;
}

export interface ModelAnswer {
  readonly status: number;
  readonly input: string;
  readonly code: string;
}

/** The body of a create or an edit with canonical names. */
export type LinkInput = Readonly<Record<string, unknown>>;

export class Model {
  /** In the order of their creation. */
  readonly links = new Map<string, ModelLink>();
  readonly keys = new Map<string, ModelKey>();
  /** Entries of the blocklist by id, in the order of their creation. */
  readonly blockEntries = new Map<string, string>();
  /** The expected answers to repeated requests. */
  readonly answered = new Map<string, ModelAnswer>();
  /** The documented defaults of a link. */
  readonly defaults: LinkInput;
  readonly people: People;

  constructor(defaults: LinkInput, people: People) {
    this.defaults = defaults;
    this.people = people;
  }

  liveLinks(): ModelLink[] {
    return [...this.links.values()].filter(link => !link.deleted);
  }

  deletedLinks(): ModelLink[] {
    return [...this.links.values()].filter(link => link.deleted);
  }

  linksOf(owner: Owner): ModelLink[] {
    return this.liveLinks().filter(link => link.owner === owner);
  }

  /** Present for callers that may manage it: its owner or an admin. A link made without a key has no owner. */
  manageable(code: string, owner: Owner, seesAll = owner === 'admin'): ModelLink | undefined {
    const link = this.links.get(code);
    return seesAll || (owner !== 'nobody' && link?.owner === owner) ? link : undefined;
  }

  keysOf(owner: Owner, revoked: boolean): ModelKey[] {
    return [...this.keys.values()].filter(key => key.owner === owner && key.revoked === revoked);
  }

  allKeys(revoked: boolean): ModelKey[] {
    return [...this.keys.values()].filter(key => key.revoked === revoked);
  }

  add(owner: Owner, view: LinkView): void {
    this.links.set(view.shortCode, { owner, view, deleted: false, visits: 0 });
  }
}

/** An answer without the clicks of its links, and those by code. */
export function withoutClicks(body: unknown): {
  readonly body: unknown;
  readonly clicks: Map<string, unknown>;
} {
  const clicks = new Map<string, unknown>();
  const rest = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rest);
    if (typeof value !== 'object' || value === null) return value;
    const { clicks: count, ...others } = value as Record<string, unknown>;
    if (!('shortUrl' in others && 'clicks' in value))
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rest(inner)]));
    clicks.set(String(others.shortCode), count);
    return others;
  };
  return { body: rest(body), clicks };
}

/** The fields of a link that an input states or leaves to their documented defaults, as they must be shown. */
export function stated(input: LinkInput, defaults: LinkInput): Partial<LinkView> {
  return changed({ ...defaults, ...input });
}

/** Only the fields that an edit names. Options of the creation itself are not fields of the link. */
export function changed(
  { customAlias: _alias, findExisting: _find, addTags, removeTags, ...fields }: LinkInput,
  before: readonly string[] = [],
): Partial<LinkView> {
  const { longUrl, expiresAt, tags } = fields;
  const removed = new Set((removeTags ?? []) as string[]);
  const after = [...new Set([...((tags ?? before) as string[]), ...((addTags ?? []) as string[])])];
  return {
    ...fields,
    ...(longUrl !== undefined && { longUrl: new URL(longUrl as string).href }),
    ...(typeof expiresAt === 'string' && { expiresAt: new Date(expiresAt).toISOString() }),
    ...((tags ?? addTags ?? removeTags) !== undefined && { tags: after.filter(tag => !removed.has(tag)) }),
  };
}

/** Tags that are added to those of a link; the schema bounds each list by itself. */
export const hasTooManyTags = (
  link: ModelLink | undefined,
  { tags, addTags, removeTags }: LinkInput,
): boolean =>
  link !== undefined && (changed({ tags, addTags, removeTags }, link.view.tags).tags?.length ?? 0) > 20;

/** Whether moderation holds the link. */
export const isHeld = (view: Pick<LinkView, 'status'> | undefined): boolean =>
  view?.status === 'quarantined' || view?.status === 'blocked';

/** As the API must show it: an active link may be exhausted by its click limit. */
export function shown(view: LinkView): LinkView {
  const usedUp = view.maxClicks !== null && view.usedClicks >= view.maxClicks;
  return { ...view, status: view.status === 'active' && usedUp ? 'exhausted' : view.status };
}

/** Equal for literally equal inputs; times are compared as times. */
export function sameInputText(input: LinkInput): string {
  const { expiresAt, ...rest } = input;
  const time = typeof expiresAt === 'string' ? Date.parse(expiresAt) : expiresAt;
  return JSON.stringify(Object.entries({ ...rest, expiresAt: time }).sort(([a], [b]) => (a < b ? -1 : 1)));
}
