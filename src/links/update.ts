/** Editing a link. Two concurrent edits never mix: each names the version it saw and starts over if it lost. */
import type { Actor } from '../accounts/account.ts';
import { isInDoubt, Problem, withOutcome } from '../base/errors.ts';
import { acceptAll, acceptExpiry, acceptUrl, judgeDestination, type LinkContext } from './context.ts';
import { type LinkStatement, type Optional, stated } from './fields.ts';
import { inSlices } from './in-slices.ts';
import { isHeld, type Link, type LinkStatus, tombstoneOf } from './link.ts';
import { listLinks, readLink } from './read.ts';
import type { ListFilter } from './store.ts';
import { changeTrace, differences } from './trace.ts';

/** The statuses an owner may choose between. */
type OwnersStatus = 'active' | 'disabled';

export interface LinkChange extends Partial<Optional<LinkStatement>> {
  readonly status?: OwnersStatus | undefined;
  /** What changes about the tags it has, or is given. */
  readonly addTags?: readonly string[] | undefined;
  readonly removeTags?: readonly string[] | undefined;
  /** The status where none is named; a link that moderation holds stays as it is. */
  readonly statusElse?: OwnersStatus | undefined;
  /** From when tokens for the statistics are valid, where there are none yet: those of others stay valid. */
  readonly statsTokensElse?: number | undefined;
}

const attemptsMax = 8;

/** Changes the named fields and keeps the rest. `address` is the caller's. */
export async function updateLink(
  context: LinkContext,
  actor: Actor,
  code: string,
  change: LinkChange,
  address?: string,
): Promise<Link> {
  return changerOf(context, actor, change, { address, items: 1 })(code);
}

/** Makes one change to any number of links, each on its own. Rejects at once a change that no link can have. */
function changerOf(
  context: LinkContext,
  actor: Actor,
  change: LinkChange,
  { address, items }: { readonly address: string | undefined; readonly items: number },
): (code: string) => Promise<Link> {
  const { longUrl: given, expiresAt: expiry } = change;
  const [longUrl, expiresAt] = acceptAll<[string | undefined, number | null | undefined]>([
    () => (given === undefined ? undefined : acceptUrl(context, given)),
    () => (expiry === undefined ? undefined : acceptExpiry(context, expiry)),
  ]);
  let judging: ReturnType<typeof judgeDestination> | undefined;
  /** Undefined when the destination does not change: one that a moderator has approved is not judged again. */
  const judgedFor = async (code: string) => {
    if (longUrl === undefined || (await readLink(context, actor, code)).longUrl === longUrl) return undefined;
    judging ??= judgeDestination(context, { url: longUrl, maker: { actor, address, items, isChange: true } });
    return judging;
  };
  return async code => {
    const judged = await judgedFor(code);
    return rewriteLink(context, actor, code, link => ({
      ...link,
      ...stated(link, { ...change, tags: tagsAfter(link, change), longUrl, expiresAt }),
      ...(change.statsTokensElse !== undefined && {
        statsTokensFrom: link.statsTokensFrom ?? change.statsTokensElse,
      }),
      risk: judged === undefined ? link.risk : judged.risk,
      status: stricter(statusAfter(link, change), judged?.status),
    }));
  };
}

const tagsMax = 20;

function tagsAfter(link: Link, { tags, addTags = [], removeTags = [] }: LinkChange): readonly string[] {
  const after = new Set([...(tags ?? link.tags), ...addTags]);
  for (const tag of removeTags) after.delete(tag);
  if (after.size <= tagsMax) return [...after];
  throw new Problem('invalid_request', {
    detail: `A link has at most ${tagsMax} tags.`,
    fields: { field: addTags.length > 0 ? 'addTags' : 'tags' },
  });
}

/** A new destination can bring a hold, or a stricter one; it never lifts an existing one. */
function stricter(status: LinkStatus, judged: 'active' | 'quarantined' | 'blocked' | undefined): LinkStatus {
  if (judged === 'blocked' || (judged === 'quarantined' && status !== 'blocked')) return judged;
  return status;
}

/** Only moderation lifts what it imposed, so owners may not switch such a link off and on again either. */
function statusAfter(link: Link, { status, statusElse }: LinkChange): LinkStatus {
  if (!isHeld(link)) return status ?? statusElse ?? link.status;
  if (status === undefined) return link.status;
  throw new Problem('link_held', {
    detail: `This link is ${link.status}; its owner may appeal or delete it, but not change its status.`,
    fields: { field: 'status' },
  });
}

/** Leaves a tombstone: the destination is erased, the code answers 410 and is never issued again. */
export function removeLink(context: LinkContext, actor: Actor, code: string): Promise<Link> {
  return rewriteLink(context, actor, code, tombstoneOf);
}

async function rewriteLink(
  context: LinkContext,
  actor: Actor,
  code: string,
  rewrite: (link: Link) => Link,
): Promise<Link> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const link = await readLink(context, actor, code);
    const next: Link = { ...rewrite(link), updatedAt: context.clock.now(), version: link.version + 1 };
    // An edit that is made twice is announced twice and recorded once.
    const isChange = Object.keys(differences(link, next).after).length > 0;
    const trace = isChange ? changeTrace(actor, link, next) : undefined;
    if ((await context.store.replace(next, trace)) === 'replaced') return next;
  }
  throw new Problem('edit_conflict', { detail: 'The link kept changing; try again.' });
}

/**
 * Changing or deleting many links in one call. Each follows the rules, the trace and the announcement of a single call;
 * those of one turn are written together, and a link that cannot be changed does not stop the others.
 *
 * The link as it is now, or why it was not changed.
 */
export type EditResult = Link | Problem;

/** Which of the caller's links a filter selects, up to a limit. */
export interface Selection {
  readonly codes: readonly string[];
  /** Where to continue; undefined at the end. */
  readonly nextCursor: string | undefined;
}

/** Links read together. */
const pageLinks = 500;
/** What a selection may cost before the caller gets a cursor instead. */
const selectMaxMs = 250;

/** One result per code, in order. */
export async function updateLinks(
  context: LinkContext,
  actor: Actor,
  codes: readonly string[],
  change: LinkChange,
  address?: string,
): Promise<EditResult[]> {
  return editEach(context, codes, changerOf(context, actor, change, { address, items: codes.length }));
}

/** One result per code, in order; a deleted link is returned as its tombstone. */
export function removeLinks(
  context: LinkContext,
  actor: Actor,
  codes: readonly string[],
): Promise<EditResult[]> {
  return editEach(context, codes, code => removeLink(context, actor, code));
}

/** Newest first. A change does not affect that order, so a call can continue where the previous one ended. */
export async function selectLinks(
  context: LinkContext,
  actor: Actor,
  filter: ListFilter,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<Selection> {
  const startedMs = context.clock.monotonicMs();
  const codes: string[] = [];
  let nextCursor = cursor;
  do {
    const page = await listLinks(context, actor, {
      ...filter,
      order: 'newest',
      cursor: nextCursor,
      limit: Math.min(pageLinks, limit - codes.length),
    });
    codes.push(...page.links.map(({ code }) => code));
    nextCursor = page.nextCursor;
  } while (
    nextCursor !== undefined &&
    codes.length < limit &&
    context.clock.monotonicMs() - startedMs < selectMaxMs
  );
  return { codes, nextCursor };
}

/** A link that is named twice is changed once. When the store fails, nothing more is tried. */
async function editEach(
  { clock }: LinkContext,
  codes: readonly string[],
  edit: (code: string) => Promise<Link>,
): Promise<EditResult[]> {
  let failure: Problem | undefined;
  const distinct = [...new Set(codes)];
  const edited = await inSlices(clock, distinct, async code => {
    if (failure !== undefined) throw withOutcome(failure, 'none');
    try {
      return await edit(code);
    } catch (error) {
      if (error instanceof Problem && error.status >= 500) failure = error;
      throw error;
    }
  });
  if (failure !== undefined && edited.every(isFailure)) throw edited.find(isInDoubt) ?? failure;
  const results = new Map(distinct.map((code, index) => [code, edited[index]!]));
  return codes.map(code => results.get(code)!);
}

const isFailure = (result: EditResult): boolean => result instanceof Problem && result.status >= 500;
