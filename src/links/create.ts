/**
 * Creating links, one or ten thousand: check each, judge where each leads, find a code for each, write all that are
 * good in one call, and try again with other codes for the few whose code was taken. A bad item never fails a good one.
 */
import { type Actor, ownerIdOf } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import { mintAttemptsMax, sameCodeAttempts } from '../codes/generator.ts';
import type { LinkContext } from './context.ts';
import { idempotencyRecord, replay } from './idempotency.ts';
import { inTurns } from './in-turns.ts';
import type { Link, RedirectType } from './link.ts';
import { acceptAll, acceptExpiry, acceptUrl, judgeDestination } from './rules.ts';
import { isSameLink } from './same-link.ts';
import type { ExistingRule, IdempotencyRecord, InsertItem, InsertOutcome } from './store.ts';
import { creationTrace } from './trace.ts';

export interface CreateInput {
  readonly longUrl: string;
  readonly customAlias?: string | undefined;
  readonly expiresAt?: number | null | undefined;
  readonly title?: string | null | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly redirectType?: RedirectType | undefined;
  readonly findExisting?: boolean | undefined;
  readonly maxClicks?: number | null | undefined;
  readonly forwardQuery?: boolean | undefined;
  readonly publicStats?: boolean | undefined;
}

export interface Created {
  /** `found` is a link that existed before. A repeated request gets what the first one got. */
  readonly kind: 'created' | 'found';
  readonly link: Link;
}

export type CreateResult = Created | Problem;

/** Links that a store is given at once: a few milliseconds of work, wherever it hands them to. */
const itemsPerInsert = 500;

interface Draft {
  readonly index: number;
  readonly actor: Actor;
  readonly input: CreateInput;
  readonly link: Omit<Link, 'code'>;
  /** Whether the caller is as well served by a live link that exists already. */
  readonly findExisting: boolean;
  readonly idempotency: IdempotencyRecord | undefined;
}

export async function createLink(
  context: LinkContext,
  actor: Actor,
  input: CreateInput,
  idempotencyKey?: string,
  address?: string,
): Promise<Created> {
  const [result] = await createLinks(context, actor, [input], idempotencyKey, address);
  if (result instanceof Problem) throw result;
  return result!;
}

/** One result per input, in order. Throws only for what concerns the whole call. `address` is the caller's. */
export async function createLinks(
  context: LinkContext,
  actor: Actor,
  inputs: readonly CreateInput[],
  idempotencyKey?: string,
  address?: string,
): Promise<CreateResult[]> {
  if (actor.kind === 'anonymous' && !context.anonymousAllowed) {
    throw new Problem('unauthorized', { detail: 'Creating links needs an API key on this server.' });
  }
  const results: Results = new Array(inputs.length);
  const places = Array.from(inputs.keys());
  let drafts = await settleOrGoOn(
    context,
    places,
    results,
    index => index,
    async index => {
      const input = inputs[index]!;
      const idempotency =
        idempotencyKey === undefined
          ? undefined
          : idempotencyRecord(actor, idempotencyKey, index, input, context.clock.now());
      const remembered = idempotency && (await context.store.recall(idempotency));
      if (idempotency === undefined || remembered === undefined)
        return draftOf(context, actor, input, index, idempotency);
      results[index] = replay(idempotency, remembered);
      return undefined;
    },
  );
  drafts = await judgeDrafts(context, drafts, results, address);
  drafts = await takeExisting(context, drafts, results);
  for (let attempt = 0; drafts.length > 0; attempt += 1) {
    drafts = await writeDrafts(context, drafts, attempt, results);
  }
  return results as CreateResult[];
}

type Results = (CreateResult | undefined)[];

/** What `work` makes of each item, but for those it has settled; a refusal settles its item. */
async function settleOrGoOn<Item, Made>(
  { clock }: LinkContext,
  items: readonly Item[],
  results: Results,
  indexOf: (item: Item) => number,
  work: (item: Item) => Promise<Made | undefined>,
): Promise<Made[]> {
  const outcomes = await inTurns(clock, items, work);
  return outcomes.filter((outcome, place): outcome is Made & {} => {
    if (outcome instanceof Problem) results[indexOf(items[place]!)] = outcome;
    return outcome !== undefined && !(outcome instanceof Problem);
  });
}

const indexOf = ({ index }: Draft): number => index;

/** Those that may be written, each with the status that its destination has earned. */
function judgeDrafts(
  context: LinkContext,
  drafts: readonly Draft[],
  results: Results,
  address: string | undefined,
): Promise<Draft[]> {
  return settleOrGoOn(context, drafts, results, indexOf, async draft => {
    const { actor, link } = draft;
    const destination = { url: link.longUrl, actor, address, items: drafts.length };
    return { ...draft, link: { ...link, ...(await judgeDestination(context, destination)) } };
  });
}

/** Leaves those that have to be made. */
function takeExisting(context: LinkContext, drafts: readonly Draft[], results: Results): Promise<Draft[]> {
  return settleOrGoOn(context, drafts, results, indexOf, async draft => {
    const existing = await existingLink(context, draft);
    if (existing === undefined) return draft;
    results[draft.index] = { kind: 'found', link: existing };
    return undefined;
  });
}

function draftOf(
  context: LinkContext,
  actor: Actor,
  input: CreateInput,
  index: number,
  idempotency: IdempotencyRecord | undefined,
): Draft {
  const now = context.clock.now();
  const ownerId = ownerIdOf(actor);
  const [longUrl, , expiresAt] = acceptAll<[string, unknown, number | null]>([
    () => acceptUrl(context, input.longUrl),
    () => acceptAlias(context, actor, input.customAlias),
    () => acceptExpiry(context, input.expiresAt ?? null),
  ]);
  return {
    index,
    actor,
    input,
    // Strangers without an account share an owner; none of them is given what another has made.
    findExisting: input.findExisting === true && input.customAlias === undefined && ownerId !== null,
    link: {
      longUrl,
      ownerId,
      origin: input.customAlias === undefined ? 'generated' : 'custom',
      status: 'active',
      redirectType: input.redirectType ?? 302,
      forwardQuery: input.forwardQuery ?? false,
      publicStats: input.publicStats ?? false,
      title: input.title ?? null,
      tags: [...new Set(input.tags ?? [])],
      createdAt: now,
      updatedAt: now,
      expiresAt,
      maxClicks: input.maxClicks ?? null,
      usedClicks: 0,
      risk: null,
      version: 1,
    },
    idempotency,
  };
}

function acceptAlias(context: LinkContext, actor: Actor, alias: string | undefined): void {
  if (alias === undefined) return;
  if (actor.kind === 'anonymous') {
    throw new Problem('unauthorized', {
      detail: 'Choosing an alias needs an API key.',
      fields: { field: 'customAlias' },
    });
  }
  const verdict = context.aliasPolicy.judge(alias);
  if (!verdict.ok)
    throw new Problem(verdict.code, { detail: verdict.detail, fields: { field: 'customAlias' } });
}

/**
 * Saves a code and a write where the link is there for long. Only the insert is exact; and it has to remember what
 * was found under an idempotency key.
 */
async function existingLink(
  context: LinkContext,
  { findExisting, idempotency, link }: Draft,
): Promise<Link | undefined> {
  if (!findExisting || idempotency !== undefined) return undefined;
  return context.store.findByUrl(link.ownerId, link.longUrl, context.clock.now());
}

/** Writes the drafts and returns those whose code was taken and that deserve another attempt. */
async function writeDrafts(
  context: LinkContext,
  drafts: readonly Draft[],
  attempt: number,
  results: Results,
): Promise<Draft[]> {
  const items = await settleOrGoOn(context, drafts, results, indexOf, async draft => {
    const item = await itemOf(context, draft, attempt);
    const same = await sameLink(context, item);
    if (same === undefined) return { draft, item };
    results[draft.index] = { kind: 'found', link: same };
    return undefined;
  });
  if (items.length === 0) return [];
  const outcomes = await insertInSlices(
    context,
    items.map(({ item }) => item),
  );
  const again: Draft[] = [];
  for (const [position, outcome] of outcomes.entries()) {
    const { draft, item } = items[position]!;
    context.generator.issued?.add(item.link.code);
    if (outcome.kind === 'inserted') {
      results[draft.index] = { kind: 'created', link: item.link };
      context.onMade?.(draft.actor, item.link);
    } else if (outcome.kind === 'found') results[draft.index] = outcome;
    else if (outcome.kind === 'replayed') results[draft.index] = replay(draft.idempotency!, outcome);
    else if (outcome.kind === 'failed') results[draft.index] = outcome.problem;
    else if (draft.input.customAlias !== undefined)
      results[draft.index] = aliasTaken(draft.input.customAlias);
    else if (attempt + 1 < mintAttemptsMax) again.push(draft);
    else results[draft.index] = new Problem('codes_exhausted', { detail: 'No free code was found in time.' });
  }
  return again;
}

/**
 * Handing ten thousand links to a store takes too long for one turn. A refusal is that of the whole call, unless some
 * links are made already: their maker has to hear of their codes.
 */
async function insertInSlices(
  { store }: LinkContext,
  items: readonly InsertItem[],
): Promise<InsertOutcome[]> {
  const outcomes: InsertOutcome[] = [];
  for (let from = 0; from < items.length; from += itemsPerInsert) {
    const slice = items.slice(from, from + itemsPerInsert);
    try {
      outcomes.push(...(await store.insert(slice)));
    } catch (error) {
      if (from === 0 || !(error instanceof Problem)) throw error;
      outcomes.push(...slice.map(() => ({ kind: 'failed', problem: error }) as const));
    }
  }
  return outcomes;
}

async function itemOf(context: LinkContext, draft: Draft, attempt: number): Promise<InsertItem> {
  const { input, idempotency } = draft;
  const itemFor = (code: string, how: Pick<InsertItem, 'leased' | 'claim' | 'existing'>): InsertItem => {
    const link = { ...draft.link, code };
    return { link, ...how, idempotency, trace: creationTrace(draft.actor, link) };
  };
  if (input.customAlias !== undefined) {
    const code = input.customAlias;
    const claim = context.claimOf(code);
    return itemFor(code, { leased: false, claim, existing: 'ignored' });
  }
  const { code, leased } = await context.generator.mint({
    longUrl: draft.link.longUrl,
    ownerId: draft.link.ownerId,
    attempt,
  });
  const claim = leased ? undefined : context.claimOf(code);
  return itemFor(code, { leased, claim, existing: existingRule(context, draft, attempt) });
}

function existingRule({ generator }: LinkContext, draft: Draft, attempt: number): ExistingRule {
  if (draft.findExisting) return 'same-url';
  if (generator.issued === undefined) return 'ignored';
  if (attempt < sameCodeAttempts) return 'same-code';
  // The code is drawn by now and says nothing about the URL, of which the owner may have a live link all the same.
  return draft.link.ownerId === null ? 'ignored' : 'same-url';
}

/** Like `existingLink`, for a code that follows from the URL and was seen in use. */
async function sameLink(context: LinkContext, item: InsertItem): Promise<Link | undefined> {
  const { link, existing, idempotency } = item;
  if (existing !== 'same-code' || idempotency !== undefined) return undefined;
  if (!context.generator.issued?.mayHave(link.code)) return undefined;
  const found = await context.store.find(link.code);
  return found !== undefined && isSameLink(found, link) ? found : undefined;
}

function aliasTaken(alias: string): Problem {
  return new Problem('alias_taken', {
    detail: `The alias “${alias}” is already taken.`,
    fields: { field: 'customAlias' },
  });
}
