/**
 * Creating links, one or ten thousand: check each, judge each destination, find a code for each, write all valid ones
 * in one call, and retry with other codes for the few whose code was taken. A bad item never fails a good one.
 */

import { createHash } from 'node:crypto';
import { type Actor, ownerIdOf } from '../accounts/account.ts';
import { notDone, Problem } from '../base/errors.ts';
import { mintAttemptsMax, sameCodeAttempts } from '../codes/generator.ts';
import { acceptAll, acceptExpiry, acceptUrl, judgeDestination, type LinkContext } from './context.ts';
import { type LinkStatement, type Optional, stated, unstated } from './fields.ts';
import { following, inSlices, type NowOrLater } from './in-slices.ts';
import { insertMany } from './insert-many.ts';
import { isSameLink, type Link } from './link.ts';
import type { ExistingRule, IdempotencyRecord, InsertItem, RememberedAnswer } from './store.ts';
import { creationTrace } from './trace.ts';

export interface CreateInput extends Partial<Optional<LinkStatement>> {
  readonly longUrl: string;
  readonly customAlias?: string | undefined;
  readonly findExisting?: boolean | undefined;
}

export interface Created {
  /** `found` is a link that existed before. A repeated request gets the answer of the first one. */
  readonly kind: 'created' | 'found';
  readonly link: Link;
}

export type CreateResult = Created | Problem;

interface Draft {
  readonly index: number;
  readonly actor: Actor;
  readonly input: CreateInput;
  readonly ownerId: string | null;
  readonly longUrl: string;
  readonly expiresAt: number | null;
  readonly createdAt: number;
  /** The result of judging the destination. */
  judged: Pick<Link, 'status' | 'risk'>;
  /** Whether an existing live link is as good for the caller. */
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

/** One result per input, in order. Throws only for errors of the whole call. `address` is the caller's. */
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
    index => {
      const input = inputs[index]!;
      if (idempotencyKey === undefined) return draftOf(context, actor, input, index, undefined);
      const idempotency = idempotencyRecord(actor, idempotencyKey, index, input, context.clock.now());
      return context.store.recall(idempotency).then(remembered => {
        if (remembered === undefined) return draftOf(context, actor, input, index, idempotency);
        results[index] = replay(idempotency, remembered);
        return undefined;
      });
    },
  );
  drafts = await judgeDrafts(context, drafts, results, address);
  if (drafts.some(({ findExisting }) => findExisting)) drafts = await takeExisting(context, drafts, results);
  for (let attempt = 0; drafts.length > 0; attempt += 1) {
    drafts = await writeDrafts(context, drafts, attempt, results);
  }
  return results as CreateResult[];
}

type Results = (CreateResult | undefined)[];

/** The result of `work` for each item, except those it has settled; a rejection settles its item. */
function settleOrGoOn<Item, Made>(
  { clock }: LinkContext,
  items: readonly Item[],
  results: Results,
  indexOf: (item: Item) => number,
  work: (item: Item) => NowOrLater<Made | undefined>,
): NowOrLater<Made[]> {
  return following(inSlices(clock, items, work), outcomes =>
    outcomes.filter((outcome, place): outcome is Made & {} => {
      if (outcome instanceof Problem) results[indexOf(items[place]!)] = outcome;
      return outcome !== undefined && !(outcome instanceof Problem);
    }),
  );
}

const indexOf = ({ index }: Draft): number => index;

/** Those that may be written, each with the status that results from its destination. */
function judgeDrafts(
  context: LinkContext,
  drafts: readonly Draft[],
  results: Results,
  address: string | undefined,
): NowOrLater<Draft[]> {
  return settleOrGoOn(context, drafts, results, indexOf, draft => {
    const { actor, longUrl } = draft;
    const destination = { url: longUrl, actor, address, items: drafts.length };
    return following(judgeDestination(context, destination), judged => {
      draft.judged = judged;
      return draft;
    });
  });
}

/** Keeps those that have to be created. */
function takeExisting(context: LinkContext, drafts: readonly Draft[], results: Results): NowOrLater<Draft[]> {
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
  const ownerId = ownerIdOf(actor);
  const [longUrl, expiresAt] = acceptStated(context, actor, input);
  return {
    index,
    actor,
    input,
    ownerId,
    longUrl,
    expiresAt,
    createdAt: context.clock.now(),
    judged: { status: 'active', risk: null },
    // Clients without an account share an owner; none of them gets a link that another has created.
    findExisting: input.findExisting === true && input.customAlias === undefined && ownerId !== null,
    idempotency,
  };
}

/** The destination and the expiry as they will be stored. */
function acceptStated(
  context: LinkContext,
  actor: Actor,
  input: CreateInput,
): readonly [longUrl: string, expiresAt: number | null] {
  const { longUrl, customAlias, expiresAt = null } = input;
  if (customAlias === undefined && expiresAt === null) return [acceptUrl(context, longUrl), null];
  const [url, , expiry] = acceptAll<[string, unknown, number | null]>([
    () => acceptUrl(context, longUrl),
    () => acceptAlias(context, actor, customAlias),
    () => acceptExpiry(context, expiresAt),
  ]);
  return [url, expiry];
}

function linkFrom({ input, ownerId, longUrl, expiresAt, createdAt, judged }: Draft, code: string): Link {
  return {
    ...stated(unstated, input),
    longUrl,
    expiresAt,
    ownerId,
    origin: input.customAlias === undefined ? 'generated' : 'custom',
    status: judged.status,
    createdAt,
    updatedAt: createdAt,
    usedClicks: 0,
    risk: judged.risk,
    version: 1,
    code,
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
 * Saves a code and a write where the link has existed for long. Only the insert is exact; and it has to remember what
 * was found under an idempotency key.
 */
async function existingLink(
  context: LinkContext,
  { findExisting, idempotency, ownerId, longUrl }: Draft,
): Promise<Link | undefined> {
  if (!findExisting || idempotency !== undefined) return undefined;
  return context.store.findByUrl(ownerId, longUrl, context.clock.now());
}

/** Writes the drafts and returns those whose code was taken and that deserve another attempt. */
async function writeDrafts(
  context: LinkContext,
  drafts: readonly Draft[],
  attempt: number,
  results: Results,
): Promise<Draft[]> {
  const items = await settleOrGoOn(context, drafts, results, indexOf, draft =>
    following(itemOf(context, draft, attempt), item =>
      following(sameLink(context, item), same => {
        if (same === undefined) return { draft, item };
        results[draft.index] = { kind: 'found', link: same };
        return undefined;
      }),
    ),
  );
  if (items.length === 0) return [];
  const isAnyDone = results.some(
    result => result !== undefined && (!(result instanceof Problem) || result.outcome === 'unknown'),
  );
  const outcomes = await insertMany(
    context.store,
    items.map(({ item }) => item),
    isAnyDone,
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

function itemOf(context: LinkContext, draft: Draft, attempt: number): NowOrLater<InsertItem> {
  const { input, idempotency } = draft;
  const itemFor = (code: string, how: Pick<InsertItem, 'leased' | 'claim' | 'existing'>): InsertItem => {
    const link = linkFrom(draft, code);
    const { leased, claim, existing } = how;
    return { link, leased, claim, existing, idempotency, trace: creationTrace(draft.actor, link) };
  };
  if (input.customAlias !== undefined) {
    const code = input.customAlias;
    const claim = context.claimOf(code);
    // A client that repeats a create whose answer was lost gets the link that it created.
    const existing = draft.ownerId === null ? 'ignored' : 'same-code';
    return itemFor(code, { leased: false, claim, existing });
  }
  const { generator } = context;
  const existing = existingRule(context, draft, attempt);
  const code = generator.mintNow?.();
  if (code !== undefined) return itemFor(code, { leased: true, claim: undefined, existing });
  const { longUrl, ownerId } = draft;
  return generator
    .mint({ longUrl, ownerId, attempt })
    .catch(notDone)
    .then(minted => {
      const claim = minted.leased ? undefined : context.claimOf(minted.code);
      return itemFor(minted.code, { leased: minted.leased, claim, existing });
    });
}

function existingRule({ generator }: LinkContext, draft: Draft, attempt: number): ExistingRule {
  if (draft.findExisting) return 'same-url';
  if (generator.issued === undefined) return 'ignored';
  if (attempt < sameCodeAttempts) return 'same-code';
  // The code is random by now and says nothing about the URL; the owner may still have a live link to it.
  return draft.ownerId === null ? 'ignored' : 'same-url';
}

/** Like `existingLink`, for a code that is derived from the URL and was seen in use. */
function sameLink(context: LinkContext, item: InsertItem): NowOrLater<Link | undefined> {
  const { link, existing, idempotency } = item;
  if (existing !== 'same-code' || idempotency !== undefined) return undefined;
  if (!context.generator.issued?.mayHave(link.code)) return undefined;
  return context.store
    .find(link.code)
    .then(found => (found !== undefined && isSameLink(found, link) ? found : undefined));
}

function aliasTaken(alias: string): Problem {
  return new Problem('alias_taken', {
    detail: `The alias “${alias}” is already taken.`,
    fields: { field: 'customAlias' },
  });
}

/**
 * How long a repeated request with the same key gets the first answer. It is stored with the link that was created or
 * found, in the same transaction, and is also given to a repeat that would be rejected by now.
 */
export const idempotencyWindowMs = 24 * 60 * 60 * 1_000;

/** Each item of a bulk call has its own record, so a bulk call that died halfway can be repeated as a whole. */
function idempotencyRecord(
  actor: Actor,
  key: string,
  index: number,
  input: CreateInput,
  now: number,
): IdempotencyRecord {
  const ownerId = ownerIdOf(actor);
  const canonical = JSON.stringify(input, Object.keys(input).sort());
  const fingerprint = createHash('sha256').update(canonical).digest('base64url');
  const itemKey = `${key}#${index}`;
  return {
    ownerId: ownerId ?? '',
    // Clients without an account share the anonymous owner: they only ever repeat an identical request.
    key: ownerId === null ? `${itemKey}#${fingerprint}` : itemKey,
    fingerprint,
    createdAt: now,
    validAfter: now - idempotencyWindowMs,
  };
}

export function replay(
  record: IdempotencyRecord,
  { outcome, link, fingerprint }: RememberedAnswer,
): CreateResult {
  if (fingerprint === record.fingerprint) return { kind: outcome, link };
  return new Problem('idempotency_key_reused', {
    detail: 'Use a new Idempotency-Key for a different request.',
  });
}
