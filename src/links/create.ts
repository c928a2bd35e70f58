/**
 * Creating links, one or ten thousand: check each, judge each destination, find a code for each, write all valid ones
 * in one call, and retry with other codes for the few whose code was taken. A bad item never fails a good one.
 */

import { createHash } from 'node:crypto';
import type { Maker } from '../abuse/judge.ts';
import { type Actor, ownerIdOf } from '../accounts/account.ts';
import { notDone, Problem } from '../base/errors.ts';
import { following, type NowOrLater } from '../base/now-or-later.ts';
import { mintAttemptsMax, sameCodeAttempts } from '../codes/generator.ts';
import { acceptAll, acceptExpiry, acceptUrl, judgeDestination, type LinkContext } from './context.ts';
import { type LinkStatement, type Optional, stated, unstated } from './fields.ts';
import { inSlices } from './in-slices.ts';
import { insertMany } from './insert-many.ts';
import { isSameLink, type Link } from './link.ts';
import type {
  Claim,
  ExistingRule,
  IdempotencyRecord,
  InsertItem,
  InsertOutcome,
  RememberedAnswer,
} from './store.ts';
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

/** A call that creates links, and what its items share. */
interface Call {
  readonly context: LinkContext;
  readonly actor: Actor;
  readonly ownerId: string | null;
  readonly idempotencyKey: string | undefined;
  /** By the place of the item; undefined until it is settled. */
  readonly results: (CreateResult | undefined)[];
  /** Makes the items that are acceptable, and were not created before. */
  maker: Maker;
}

interface Draft {
  readonly call: Call;
  readonly index: number;
  readonly input: CreateInput;
  readonly longUrl: string;
  readonly expiresAt: number | null;
  readonly createdAt: number;
  /** Whether an existing live link is as good for the caller. */
  readonly findExisting: boolean;
  readonly idempotency: IdempotencyRecord | undefined;
  /** The result of judging the destination. */
  judged: Pick<Link, 'status' | 'risk'>;
  /** How many of its codes were taken. */
  attempt: number;
  /** What is inserted, once it has a code. */
  item: InsertItem | undefined;
}

export function createLink(
  context: LinkContext,
  actor: Actor,
  input: CreateInput,
  idempotencyKey?: string,
  address?: string,
): Promise<Created> {
  return createLinks(context, actor, [input], idempotencyKey, address).then(([result]) => {
    if (result instanceof Problem) throw result;
    return result!;
  });
}

/** One result per input, in order. Rejects only for errors of the whole call. `address` is the caller's. */
export function createLinks(
  context: LinkContext,
  actor: Actor,
  inputs: readonly CreateInput[],
  idempotencyKey?: string,
  address?: string,
): Promise<CreateResult[]> {
  if (actor.kind === 'anonymous' && !context.anonymousAllowed) {
    const detail = 'Creating links needs an API key on this server.';
    return Promise.reject(new Problem('unauthorized', { detail }));
  }
  const ownerId = ownerIdOf(actor);
  const results: Call['results'] = new Array(inputs.length);
  const maker = { actor, address, items: 0 };
  const call: Call = { context, actor, ownerId, idempotencyKey, results, maker };
  const accepted = inSlices(context.clock, inputs, (input, index) => acceptItem(call, input, index));
  const written = following(accepted, outcomes => {
    const drafts = unsettled(outcomes, results);
    call.maker = { ...maker, items: drafts.length };
    return writeAll(call, drafts);
  });
  return Promise.resolve(written);
}

/** The drafts among the outcomes of a step. A rejection settles its item; what is undefined is settled already. */
function unsettled(
  outcomes: readonly (Draft | Problem | undefined)[],
  results: Call['results'],
  drafts?: readonly Draft[],
): Draft[] {
  const left: Draft[] = [];
  for (let place = 0; place < outcomes.length; place += 1) {
    const outcome = outcomes[place];
    if (outcome instanceof Problem) results[drafts === undefined ? place : drafts[place]!.index] = outcome;
    else if (outcome !== undefined) left.push(outcome);
  }
  return left;
}

function settle(draft: Draft, result: CreateResult): undefined {
  draft.call.results[draft.index] = result;
}

/** Undefined for a link that was created before, under its idempotency key. */
function acceptItem(call: Call, input: CreateInput, index: number): NowOrLater<Draft | undefined> {
  const { context, actor, idempotencyKey, results } = call;
  if (idempotencyKey === undefined) return draftOf(call, input, index, undefined);
  const record = idempotencyRecord(actor, idempotencyKey, index, input, context.clock.now());
  return context.store.recall(record).then(remembered => {
    if (remembered === undefined) return draftOf(call, input, index, record);
    results[index] = replay(record, remembered);
    return undefined;
  });
}

function draftOf(
  call: Call,
  input: CreateInput,
  index: number,
  idempotency: IdempotencyRecord | undefined,
): Draft {
  const { context, actor, ownerId } = call;
  const [longUrl, expiresAt] = acceptStated(context, actor, input);
  return {
    call,
    index,
    input,
    longUrl,
    expiresAt,
    createdAt: context.clock.now(),
    // Clients without an account share an owner; none of them gets a link that another has created.
    findExisting: input.findExisting === true && input.customAlias === undefined && ownerId !== null,
    idempotency,
    judged: unjudged,
    attempt: 0,
    item: undefined,
  };
}

const unjudged = { status: 'active', risk: null } as const;

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

function linkFrom({ call, input, longUrl, expiresAt, createdAt, judged }: Draft, code: string): Link {
  return {
    ...stated(unstated, input),
    longUrl,
    expiresAt,
    ownerId: call.ownerId,
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

/** Writes the drafts, again with other codes while any of them was taken. */
function writeAll(call: Call, drafts: readonly Draft[]): NowOrLater<CreateResult[]> {
  const { context, results } = call;
  if (drafts.length === 0) return results as CreateResult[];
  return following(inSlices(context.clock, drafts, prepare), outcomes => {
    const ready = unsettled(outcomes, results, drafts);
    if (ready.length === 0) return results as CreateResult[];
    const isAnyDone = results.some(
      result => result !== undefined && (!(result instanceof Problem) || result.outcome === 'unknown'),
    );
    const items = ready.map(({ item }) => item!);
    return insertMany(context.store, items, isAnyDone).then(inserted =>
      writeAll(
        call,
        ready.filter((draft, place) => isTaken(draft, inserted[place]!)),
      ),
    );
  });
}

/** A draft with all that its insert needs; undefined when there is a link that is as good. */
function prepare(draft: Draft): NowOrLater<Draft | undefined> {
  if (draft.attempt > 0) return withCode(draft);
  const { context, maker } = draft.call;
  return following(judgeDestination(context, { url: draft.longUrl, maker }), afterJudging, draft);
}

function afterJudging(judged: Draft['judged'], draft: Draft): NowOrLater<Draft | undefined> {
  draft.judged = judged;
  const { findExisting, idempotency, longUrl, call } = draft;
  // Only the insert is exact, and it has to remember what was found under an idempotency key. This saves a code and a
  // write where the link has existed for long.
  if (!findExisting || idempotency !== undefined) return withCode(draft);
  const { store, clock } = call.context;
  return store
    .findByUrl(call.ownerId, longUrl, clock.now())
    .then(link => (link === undefined ? withCode(draft) : settle(draft, { kind: 'found', link })));
}

function withCode(draft: Draft): NowOrLater<Draft | undefined> {
  return following(itemOf(draft), unlessSame, draft);
}

/** The same check as for an existing URL, for a code that is derived from it and was seen in use. */
function unlessSame(item: InsertItem, draft: Draft): NowOrLater<Draft | undefined> {
  draft.item = item;
  const { link, existing, idempotency } = item;
  const { store, generator } = draft.call.context;
  if (existing !== 'same-code' || idempotency !== undefined || !generator.issued?.mayHave(link.code))
    return draft;
  return store
    .find(link.code)
    .then(found =>
      found !== undefined && isSameLink(found, link) ? settle(draft, { kind: 'found', link: found }) : draft,
    );
}

/** Settles the draft, unless its code was taken and it deserves another. */
function isTaken(draft: Draft, outcome: InsertOutcome): boolean {
  const { call, item, input } = draft;
  const { context, actor } = call;
  const { link } = item!;
  context.generator.issued?.add(link.code);
  draft.attempt += 1;
  if (outcome.kind === 'inserted') {
    settle(draft, { kind: 'created', link });
    context.onMade?.(actor, link);
  } else if (outcome.kind === 'found') settle(draft, outcome);
  else if (outcome.kind === 'replayed') settle(draft, replay(draft.idempotency!, outcome));
  else if (outcome.kind === 'failed') settle(draft, outcome.problem);
  else if (input.customAlias !== undefined) settle(draft, aliasTaken(input.customAlias));
  else if (draft.attempt < mintAttemptsMax) return true;
  else settle(draft, new Problem('codes_exhausted', { detail: 'No free code was found in time.' }));
  return false;
}

function itemOf(draft: Draft): NowOrLater<InsertItem> {
  const { input, call } = draft;
  const { generator, claimOf } = call.context;
  if (input.customAlias !== undefined) {
    const code = input.customAlias;
    // A client that repeats a create whose answer was lost gets the link that it created.
    const existing = call.ownerId === null ? 'ignored' : 'same-code';
    return itemWith(draft, code, false, claimOf(code), existing);
  }
  const code = generator.mintNow?.();
  if (code !== undefined) return itemWith(draft, code, true, undefined, existingRule(draft));
  return mintLater(draft);
}

async function mintLater(draft: Draft): Promise<InsertItem> {
  const { longUrl, attempt, call } = draft;
  const { generator, claimOf } = call.context;
  const minted = await generator.mint({ longUrl, ownerId: call.ownerId, attempt }).catch(notDone);
  const claim = minted.leased ? undefined : claimOf(minted.code);
  return itemWith(draft, minted.code, minted.leased, claim, existingRule(draft));
}

function itemWith(
  draft: Draft,
  code: string,
  leased: boolean,
  claim: Claim | undefined,
  existing: ExistingRule,
): InsertItem {
  const link = linkFrom(draft, code);
  const trace = creationTrace(draft.call.actor, link);
  return { link, leased, claim, existing, idempotency: draft.idempotency, trace };
}

function existingRule({ findExisting, attempt, call }: Draft): ExistingRule {
  if (findExisting) return 'same-url';
  if (call.context.generator.issued === undefined) return 'ignored';
  if (attempt < sameCodeAttempts) return 'same-code';
  // The code is random by now and says nothing about the URL; the owner may still have a live link to it.
  return call.ownerId === null ? 'ignored' : 'same-url';
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
