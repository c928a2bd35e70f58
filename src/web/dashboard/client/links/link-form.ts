/** What is typed into the form of a link, and what of it goes to the server. */
import { browserClock } from '../../../../base/browser-clock.ts';
import type { LinkFields, LinkView } from '../api/types.ts';
import { withScheme } from '../format.ts';
import { type ExpiryChoice, expiryOf, localMomentOf } from './expiry.ts';

export interface LinkDraft {
  readonly longUrl: string;
  readonly alias: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly expiry: ExpiryChoice;
  readonly expiryMoment: string;
  readonly maxClicks: string;
  readonly redirectType: '301' | '302' | '307' | '308';
  readonly forwardQuery: boolean;
  readonly publicStats: boolean;
}

const tomorrowMs = 24 * 60 * 60_000;

export function newDraft(longUrl: string): LinkDraft {
  return {
    longUrl,
    alias: '',
    title: '',
    tags: [],
    expiry: 'never',
    expiryMoment: localMomentOf(browserClock.now() + tomorrowMs),
    maxClicks: '',
    redirectType: '302',
    forwardQuery: false,
    publicStats: false,
  };
}

export function draftOf(link: LinkView): LinkDraft {
  return {
    longUrl: link.longUrl,
    alias: link.shortCode,
    title: link.title ?? '',
    tags: link.tags,
    expiry: link.expiresAt === null ? 'never' : 'custom',
    expiryMoment: localMomentOf(link.expiresAt ?? browserClock.now() + tomorrowMs),
    maxClicks: link.maxClicks === null ? '' : String(link.maxClicks),
    redirectType: String(link.redirectType) as LinkDraft['redirectType'],
    forwardQuery: link.forwardQuery,
    publicStats: link.publicStats,
  };
}

/** For a new link: what was left empty is left out. */
export function fieldsOf(draft: LinkDraft): LinkFields {
  const alias = draft.alias.trim();
  const { longUrl, title, tags, ...rest } = statedFields(draft);
  return {
    longUrl,
    ...(alias !== '' && { customAlias: alias }),
    ...(title !== null && { title }),
    ...(tags.length > 0 && { tags }),
    ...rest,
  };
}

/** For an edit: only what differs, so that two people who edit different things do not undo each other. */
export function changesOf(draft: LinkDraft, link: LinkView): LinkFields {
  const before = statedFields(draftOf(link)) as Record<string, unknown>;
  // The form shows minutes; an expiry that nobody touched keeps its seconds.
  const after = statedFields(draft) as Record<string, unknown>;
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(changed) as LinkFields;
}

function statedFields(draft: LinkDraft) {
  const title = draft.title.trim();
  return {
    longUrl: withScheme(draft.longUrl),
    title: title === '' ? null : title,
    tags: draft.tags,
    expiresAt: expiryOf(draft.expiry, draft.expiryMoment, browserClock.now()) ?? null,
    maxClicks: draft.maxClicks.trim() === '' ? null : Number(draft.maxClicks),
    redirectType: Number(draft.redirectType),
    forwardQuery: draft.forwardQuery,
    publicStats: draft.publicStats,
  };
}
