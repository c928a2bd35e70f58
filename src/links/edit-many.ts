/**
 * Changing or deleting many links in one call. Each has the rules, the trace and the announcement of a single call;
 * those of one turn are written together, and a link that cannot be changed does not stop the others.
 */
import type { Actor } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import type { LinkContext } from './context.ts';
import { inTurns } from './in-turns.ts';
import type { Link } from './link.ts';
import { listLinks } from './read.ts';
import type { ListFilter } from './store.ts';
import { changerOf, type LinkChange, removeLink } from './update.ts';

/** The link as it is now, or why it was not changed. */
export type EditResult = Link | Problem;

/** Which of the caller's links a filter chooses, up to a number of them. */
export interface Selection {
  readonly codes: readonly string[];
  /** Where to go on; undefined at the end. */
  readonly nextCursor: string | undefined;
}

/** Links read together. */
const pageLinks = 500;
/** What choosing may cost before the caller is handed a cursor instead. */
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

/** One result per code, in order; a link that was deleted is given as its tombstone. */
export function removeLinks(
  context: LinkContext,
  actor: Actor,
  codes: readonly string[],
): Promise<EditResult[]> {
  return editEach(context, codes, code => removeLink(context, actor, code));
}

/** Newest first. A change moves no link in that order, so a call can go on where the one before has ended. */
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
  const edited = await inTurns(clock, distinct, async code => {
    if (failure !== undefined) throw failure;
    try {
      return await edit(code);
    } catch (error) {
      if (error instanceof Problem && error.status >= 500) failure = error;
      throw error;
    }
  });
  if (failure !== undefined && edited.every(isFailure)) throw failure;
  const results = new Map(distinct.map((code, index) => [code, edited[index]!]));
  return codes.map(code => results.get(code)!);
}

const isFailure = (result: EditResult): boolean => result instanceof Problem && result.status >= 500;
