/**
 * The effects of accepted requests, one entry per operation of the document: it compares the answer with the model,
 * then updates the model. An operation without an entry fails the fuzzer, so that new routes are covered.
 */
import { expect } from 'bun:test';
import { accountEffects } from './account-effects.ts';
import { blocklistEffects } from './blocklist-effects.ts';
import { bulkEditEffects } from './bulk-edit-effects.ts';
import type { FuzzAnswer } from './fuzz-client.ts';
import type { Judges } from './judge.ts';
import {
  changed,
  isHeld,
  type LinkInput,
  type LinkView,
  type Model,
  type ModelLink,
  sameInputText,
  shown,
  stated,
} from './model.ts';
import { moderationEffects } from './moderation-effects.ts';
import { type Case, hasReason } from './refusals.ts';
import { type SentRequest, withCanonicalNames } from './sent-request.ts';
import { subject } from './subject.ts';

export interface Accepted {
  readonly sent: SentRequest;
  readonly answer: FuzzAnswer;
  // biome-ignore lint/suspicious/noExplicitAny: its shape was validated by the document's schema.
  readonly body: any;
  readonly model: Model;
  readonly judges: Judges;
}

export const effects: Readonly<Record<string, (accepted: Accepted) => void>> = {
  createLink({ sent, answer, body, model }) {
    expect(answer.headers.location).toEndWith(`/api/v1/links/${body.shortCode}`);
    takeCreated(sent, sent.input as LinkInput, 0, answer.status, body, model);
  },

  createLinks({ sent, body, model, judges }) {
    const items = (sent.input as { links: unknown[] }).links;
    expect(body.results).toHaveLength(items.length);
    let position = 0;
    // An item may find a link that the call itself has just created, or an earlier one.
    const before = model.linksOf(sent.owner);
    for (const [index, item] of items.entries()) {
      const result = body.results[index];
      const flaws = judges.item(item);
      const input = (withCanonicalNames(item) ?? {}) as LinkInput;
      if (result.link !== undefined) {
        expect([...flaws]).toEqual([]);
        takeCreated(sent, input, position, result.status, result.link, model, before);
      } else {
        expect(result.problem.status).toBe(result.status);
        const repeatKey = repeatKeyOf(sent, position, input);
        const refused: Case = { sent, flaws, model, owner: sent.owner, input: objectOf(input), repeatKey };
        expect({ code: result.problem.code, justified: hasReason(result.problem.code, refused) }).toEqual({
          code: result.problem.code,
          justified: true,
        });
      }
      // Malformed items are rejected before the others are numbered.
      if (result.problem?.code !== 'invalid_request') position += 1;
    }
  },

  listLinks({ sent, body, model }) {
    const query = new URLSearchParams(sent.plan.query);
    const matching = listed(model.linksOf(sent.owner), query);
    expect(body.total).toBe(query.get('total') === 'true' ? matching.length : undefined);
    for (const view of body.links as LinkView[])
      expect(view).toEqual(shown(model.links.get(view.shortCode)!.view));
    if (query.has('cursor')) return;
    const limit = Number(query.get('limit') ?? 50);
    // Only the server knows the current counts.
    if (query.get('sort')?.endsWith('clicks')) {
      expect(codesOf(matching)).toEqual(expect.arrayContaining(codesOf(body.links)));
      expect(new Set(codesOf(body.links)).size).toBe(body.links.length);
      return;
    }
    expect(codesOf(body.links)).toEqual(codesOf(matching).slice(0, limit));
    if (matching.length > limit) expect(body.nextCursor).toBeString();
  },

  readLink({ sent, body, model }) {
    expect(body).toEqual(shown(subject(sent, model).view));
  },

  editLink({ sent, body, model }) {
    const link = subject(sent, model);
    takeEdited(link, changed(sent.input as LinkInput, link.view.tags), body);
  },

  replaceLink({ sent, body, model }) {
    const link = subject(sent, model);
    const { status, ...rest } = stated(sent.input as LinkInput, model.defaults);
    takeEdited(link, isHeld(link.view) ? rest : { ...rest, status }, body);
  },

  deleteLink({ sent, model }) {
    subject(sent, model).deleted = true;
  },

  ...bulkEditEffects((links, filter) =>
    links
      .map(link => shown(link.view))
      .filter(view => isChosen(view, filter))
      .reverse(),
  ),

  readQrCode({ sent, answer, model }) {
    subject(sent, model);
    const png = new URLSearchParams(sent.plan.query).get('format') === 'png';
    expect(answer.mediaType).toBe(png ? 'image/png' : 'image/svg+xml');
    expect(Buffer.from(answer.bytes).toString('latin1', 0, 4)).toBe(png ? '\x89PNG' : '<svg');
  },

  ...accountEffects,

  readLinkStats: ({ sent, body }) => expectAsked(sent, body),
  readStats: ({ sent, body }) => expectAsked(sent, body),
  shareLinkStats({ sent, body, model }) {
    const { statsTokensFrom } = body.link;
    takeEdited(subject(sent, model), { statsTokensFrom }, body.link);
  },
  readLinkBreakdown: ({ body }) => expectPage(body),
  readBreakdown: ({ body }) => expectPage(body),
  readRecentLinkClicks({ sent, body, model }) {
    subject(sent, model);
    for (const click of body.clicks) expect(click.shortCode).toBe(sent.places.code!);
  },
  readRecentClicks({ sent, body, model }) {
    for (const { shortCode } of body.clicks)
      expect(model.manageable(shortCode, sent.owner, sent.seesAllLinks)).toBeDefined();
  },
  readLinkTotals({ sent, body, model }) {
    const asked = new URLSearchParams(sent.plan.query).get('codes')?.split(',') ?? [];
    for (const { shortCode } of body.links) {
      expect(asked).toContain(shortCode);
      expect(model.manageable(shortCode, sent.owner)).toBeDefined();
    }
  },
  checkAlias({ sent, body, model }) {
    expect(body.alias).toBe(sent.places.alias!);
    if (model.links.has(body.alias)) expect(body).toMatchObject({ available: false, code: 'alias_taken' });
  },
  readStatus({ sent, body }) {
    expect(sent.owner).toBe('admin');
    // The state of clicks is reported once their thread has sent its status.
    expect(body.parts).toMatchObject({ links: true });
  },

  exportClicks({ sent, answer, model }) {
    subject(sent, model);
    const csv = new URLSearchParams(sent.plan.query).get('format') === 'csv';
    expect(answer.mediaType).toBe(csv ? 'text/csv' : 'application/x-ndjson');
  },

  deleteClicks: ({ sent, model }) => void subject(sent, model),
  watchLink: ({ sent, model }) => void subject(sent, model),
  reconcileClicks: ({ sent }) => expect(sent.owner).toBe('admin'),
  compareHours: ({ sent }) => expect(sent.owner).toBe('admin'),
  repairClicks: ({ sent }) => expect(sent.owner).toBe('admin'),

  ...moderationEffects,
  ...blocklistEffects,

  followLink({ sent, answer, model }) {
    const { view, deleted } = model.links.get(sent.places.code!)!;
    const link = model.links.get(sent.places.code!)!;
    const status = answer.status === 200 ? 'quarantined' : 'active';
    expect({ deleted, status: view.status }).toEqual({ deleted: false, status });
    // The warning page does not count.
    if (status === 'quarantined') return;
    link.visits += 1;
    expect(answer.status).toBe(view.redirectType);
    const destination = new URL(view.longUrl);
    const followed = new URL(answer.headers.location!);
    expect(followed.origin + followed.pathname).toBe(destination.origin + destination.pathname);
    if (!view.forwardQuery || sent.plan.query === '') expect(answer.headers.location).toBe(view.longUrl);
    const human = sent.header('User-Agent')?.startsWith('Mozilla') ?? false;
    if (human && view.maxClicks !== null) link.view = { ...view, usedClicks: view.usedClicks + 1 };
    if (view.maxClicks !== null) expect(link.view.usedClicks).toBeLessThanOrEqual(view.maxClicks);
  },

  previewLink({ sent, answer, body, model }) {
    const { view, deleted } = model.links.get(sent.places.code!)!;
    expect({ deleted, open: ['active', 'quarantined'].includes(view.status) }).toEqual({
      deleted: false,
      open: true,
    });
    if (answer.mediaType !== 'application/json') return;
    const { shortCode, shortUrl, createdAt, expiresAt, maxClicks } = view;
    const longUrl = maxClicks === null ? view.longUrl : null;
    const notice = maxClicks === null ? null : expect.stringContaining('once the link is followed');
    const state = view.status;
    expect(body).toEqual({ shortCode, shortUrl, longUrl, notice, createdAt, expiresAt, state });
  },

  readLiveness: ({ body }) => expect(body.status).toBe('ok'),
  readReadiness: ({ body }) => expect(body).toMatchObject({ status: 'ok', parts: { links: 'ok' } }),
  readMetrics: ({ answer }) => expect(Buffer.from(answer.bytes).toString()).toContain('url_redirects_total'),
};

/** Updates the model with a link that was created, found, or created by an earlier call that this one repeats. */
function takeCreated(
  sent: SentRequest,
  input: LinkInput,
  position: number,
  status: number,
  view: LinkView,
  model: Model,
  before: readonly ModelLink[] = [],
): void {
  const repeatKey = repeatKeyOf(sent, position, input);
  const earlier = repeatKey === undefined ? undefined : model.answered.get(repeatKey);
  if (earlier !== undefined) {
    expect({ status, input: sameInputText(input), code: view.shortCode }).toEqual(earlier);
    return;
  }
  if (repeatKey !== undefined)
    model.answered.set(repeatKey, { status, input: sameInputText(input), code: view.shortCode });
  const found = [before, model.linksOf(sent.owner)].flatMap(live => findable(sent, input, live));
  if (status === 200 || found.length > 0) {
    const link = found.find(each => each.view.shortCode === view.shortCode);
    expect({ status, isFindable: link !== undefined }).toEqual({ status: 200, isFindable: true });
    expect(view).toEqual(shown(link!.view));
    return;
  }
  expect(model.links.has(view.shortCode)).toBe(false);
  if (input.customAlias !== undefined) expect(view.shortCode).toBe(input.customAlias as string);
  expect(view).toMatchObject({
    ...stated(input, model.defaults),
    usedClicks: 0,
    custom: input.customAlias !== undefined,
    updatedAt: view.createdAt,
  });
  expect(view.shortUrl).toEndWith(`/${view.shortCode}`);
  model.add(sent.owner, view);
}

/**
 * The existing link that an input matches instead of a new one, if it is among these: the live one with its alias and
 * URL, or the newest live one to its URL.
 */
function findable(sent: SentRequest, input: LinkInput, links: readonly ModelLink[]): ModelLink[] {
  if (sent.owner === 'nobody') return [];
  const wanted = new URL(input.longUrl as string).href;
  const live = links.filter(({ view }) => view.longUrl === wanted && shown(view).status === 'active');
  if (input.customAlias === undefined) return input.findExisting === true ? live.slice(-1) : [];
  return live.filter(({ view }) => view.custom && view.shortCode === input.customAlias);
}

/** Callers without a key share an owner, so only literally equal requests of theirs are repeats. */
export function repeatKeyOf(sent: SentRequest, position: number, input: LinkInput): string | undefined {
  const key = sent.header('Idempotency-Key');
  if (key === undefined) return undefined;
  const letters = sent.owner === 'nobody' ? sameInputText(input) : '';
  return JSON.stringify([sent.owner, key, position, letters]);
}

function takeEdited(link: ModelLink, change: Partial<LinkView>, view: LinkView): void {
  const expected: LinkView = { ...link.view, ...change, updatedAt: view.updatedAt };
  expect(view).toEqual(shown(expected));
  expect(view.updatedAt >= link.view.updatedAt).toBe(true);
  link.view = expected;
}

/** Checks that the answer repeats the query with its defaults. */
function expectAsked(
  { plan }: SentRequest,
  body: { interval: string; timeZone: string; from: string },
): void {
  const query = new URLSearchParams(plan.query);
  expect(body.interval).toBe(query.get('interval') ?? 'day');
  expect(body.timeZone).toBe(query.get('timeZone') ?? 'UTC');
}

function expectPage({ values, total }: { values: readonly unknown[]; total: number }): void {
  expect(values.length).toBeLessThanOrEqual(total);
}

function listed(links: readonly ModelLink[], query: URLSearchParams): LinkView[] {
  const found = links.map(link => shown(link.view)).filter(view => isChosen(view, Object.fromEntries(query)));
  return query.get('sort') === 'createdAt' ? found : found.reverse();
}

/** Whether a link matches a filter; fields that the filter omits match. */
function isChosen(view: LinkView, filter: Readonly<Record<string, string>>): boolean {
  const { status, tag, search, destinationDomain, longUrl, createdFrom, createdTo } = filter;
  const createdMs = Date.parse(view.createdAt);
  const host = `.${new URL(view.longUrl).hostname}`;
  return (
    (status === undefined || view.status === status) &&
    (tag === undefined || view.tags.includes(tag)) &&
    (search === undefined || mentions(view, search)) &&
    (destinationDomain === undefined ||
      host.endsWith(`.${new URL(`http://${destinationDomain}`).hostname}`)) &&
    (longUrl === undefined || view.longUrl === new URL(longUrl).href) &&
    (createdFrom === undefined || createdMs >= Date.parse(createdFrom)) &&
    (createdTo === undefined || createdMs < Date.parse(createdTo))
  );
}

/** Case does not matter for the letters A to Z. */
function mentions({ shortCode, title, longUrl }: LinkView, search: string): boolean {
  const plain = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase());
  return [shortCode, title ?? '', longUrl].some(text => plain(text).includes(plain(search)));
}

const codesOf = (views: readonly LinkView[]): string[] => views.map(view => view.shortCode);

export function objectOf(value: unknown): LinkInput {
  return typeof value === 'object' && value !== null ? (value as LinkInput) : {};
}
