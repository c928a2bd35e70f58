/** The input of the link form, and which part of it is sent to the server. */
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import type { LinkFields, LinkSwitches, LinkView } from '../api/types.ts';
import { withScheme } from '../format.ts';
import { accountIdIn, session } from '../state/session.ts';

/** The expiry of a link: a few presets, or a custom time. */
export const expiryChoices = ['never', 'day', 'week', 'month', 'year', 'custom'] as const;
export type ExpiryChoice = (typeof expiryChoices)[number];

const dayMs = 24 * 60 * 60_000;
const afterMs: Readonly<Record<'day' | 'week' | 'month' | 'year', number>> = {
  day: dayMs,
  week: 7 * dayMs,
  month: 30 * dayMs,
  year: 365 * dayMs,
};

/** ISO 8601, or null for never; undefined while a custom time is incomplete. */
export function expiryOf(
  choice: ExpiryChoice,
  localMoment: string,
  nowMs: number,
): string | null | undefined {
  if (choice === 'never') return null;
  if (choice !== 'custom') return new Date(nowMs + afterMs[choice]).toISOString();
  const timeMs = Date.parse(localMoment);
  return Number.isNaN(timeMs) ? undefined : new Date(timeMs).toISOString();
}

/** The format of an input for date and time: local time, to the minute. */
function localMomentOf(time: string | number): string {
  const moment = new Date(time);
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export const aliasShape = /^[0-9A-Za-z_-]{1,64}$/;

export interface LinkDraft extends LinkSwitches {
  readonly longUrl: string;
  readonly alias: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly expiry: ExpiryChoice;
  readonly expiryMoment: string;
  readonly maxClicks: string;
  readonly redirectType: '301' | '302' | '307' | '308';
}

type SwitchName = keyof LinkSwitches;
export const switchNames = Object.keys(texts.form.switches) as SwitchName[];
export const switchesOf = (isOn: (name: SwitchName) => boolean): LinkSwitches =>
  Object.fromEntries(switchNames.map(name => [name, isOn(name)])) as unknown as LinkSwitches;

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
    ...switchesOf(() => false),
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
    ...switchesOf(name => link[name]),
  };
}

/** For a new link: empty fields are left out. */
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

/** For an edit: only changed fields, so that two people who edit different fields do not undo each other's changes. */
export function changesOf(draft: LinkDraft, link: LinkView): LinkFields {
  const before = statedFields(draftOf(link)) as Record<string, unknown>;
  // The form shows minutes; an unchanged expiry keeps its seconds.
  const after = statedFields(draft) as Record<string, unknown>;
  const changed = Object.entries(after).filter(
    ([name, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(changed) as LinkFields;
}

/** Whether a custom time is chosen but incomplete. */
export const lacksMoment = ({ expiry, expiryMoment }: LinkDraft): boolean =>
  expiryOf(expiry, expiryMoment, browserClock.now()) === undefined;

function statedFields(draft: LinkDraft) {
  const title = draft.title.trim();
  return {
    longUrl: withScheme(draft.longUrl),
    title: title === '' ? null : title,
    tags: draft.tags,
    expiresAt: expiryOf(draft.expiry, draft.expiryMoment, browserClock.now()),
    maxClicks: draft.maxClicks.trim() === '' ? null : Number(draft.maxClicks),
    redirectType: Number(draft.redirectType),
    ...switchesOf(name => draft[name]),
  };
}

export const utmNames = ['source', 'medium', 'campaign', 'term', 'content'] as const;
type UtmName = (typeof utmNames)[number];
type Utm = Readonly<Record<UtmName, string>>;

/** Campaign parameters in a destination's query: read from it, written to it, the rest left as it is. */
export function readUtm(address: string): Utm {
  const query = URL.parse(address)?.searchParams;
  return Object.fromEntries(utmNames.map(name => [name, query?.get(`utm_${name}`) ?? ''])) as unknown as Utm;
}

/** Returns the input unchanged while it is not a URL yet. */
export function withUtm(address: string, name: UtmName, value: string): string {
  const url = URL.parse(address);
  if (url === null) return address;
  if (value === '') url.searchParams.delete(`utm_${name}`);
  else url.searchParams.set(`utm_${name}`, value);
  return url.href;
}

const draftPrefix = 'terse-draft ';
/** Includes the account, because another one may sign in and reload the tab. */
const nameOf = (key: string): string => `${draftPrefix}${accountIdIn(session.get()) ?? ''} ${key}`;

/** Applies only the changes of the stored draft: someone else may have changed the other fields meanwhile. */
export function readDraft(key: string, start: LinkDraft): LinkDraft | undefined {
  const text = sessionStorage.getItem(nameOf(key));
  if (text === null) return undefined;
  try {
    return { ...start, ...(JSON.parse(text) as Partial<LinkDraft>) };
  } catch {
    return undefined;
  }
}

/** Stores only the fields that the user changed. */
export function keepDraft(key: string, draft: LinkDraft, start: LinkDraft): void {
  const before = start as unknown as Record<string, unknown>;
  const changed = Object.entries(draft).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  if (changed.length === 0) {
    dropDraft(key);
    return;
  }
  try {
    sessionStorage.setItem(nameOf(key), JSON.stringify(Object.fromEntries(changed)));
  } catch {
    // The storage is full: the draft is lost with the form.
  }
}

export const dropDraft = (key: string): void => sessionStorage.removeItem(nameOf(key));

/** Another user may sign in next. */
export function forgetDrafts(): void {
  for (const name of Object.keys(sessionStorage))
    if (name.startsWith(draftPrefix)) sessionStorage.removeItem(name);
}
