/** Editing a link. Two edits at once never mix: each names the version it saw and starts over if it lost. */
import type { Actor } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import type { LinkContext } from './context.ts';
import { isHeld, type Link, type LinkStatus, type RedirectType } from './link.ts';
import { readLink } from './read.ts';
import { acceptAll, acceptExpiry, acceptUrl, judgeDestination } from './rules.ts';
import { changeTrace } from './trace.ts';

/** What an owner may choose between. */
type OwnersStatus = 'active' | 'disabled';

export interface LinkChange {
  readonly longUrl?: string | undefined;
  readonly expiresAt?: number | null | undefined;
  readonly status?: OwnersStatus | undefined;
  /** The status where none is named; a link that moderation holds stays as it is. */
  readonly statusElse?: OwnersStatus | undefined;
  readonly title?: string | null | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly redirectType?: RedirectType | undefined;
  readonly forwardQuery?: boolean | undefined;
  readonly publicStats?: boolean | undefined;
  readonly maxClicks?: number | null | undefined;
}

const attemptsMax = 8;

/** Changes what is named and keeps the rest. `address` is the caller's. */
export async function updateLink(
  context: LinkContext,
  actor: Actor,
  code: string,
  change: LinkChange,
  address?: string,
): Promise<Link> {
  return changerOf(context, actor, change, { address, items: 1 })(code);
}

/** Makes one change to any number of links, each for itself. Refuses at once what no link can be changed to. */
export function changerOf(
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
  /** Undefined when the link goes on leading where it does: what a moderator has let pass is not judged again. */
  const judgedFor = async (code: string) => {
    if (longUrl === undefined || (await readLink(context, actor, code)).longUrl === longUrl) return undefined;
    judging ??= judgeDestination(context, { url: longUrl, actor, address, items });
    return judging;
  };
  return async code => {
    const judged = await judgedFor(code);
    return rewriteLink(context, actor, code, link => ({
      ...link,
      longUrl: longUrl ?? link.longUrl,
      risk: judged === undefined ? link.risk : judged.risk,
      expiresAt: expiresAt === undefined ? link.expiresAt : expiresAt,
      status: stricter(statusAfter(link, change), judged?.status),
      title: change.title === undefined ? link.title : change.title,
      tags: change.tags === undefined ? link.tags : [...new Set(change.tags)],
      redirectType: change.redirectType ?? link.redirectType,
      forwardQuery: change.forwardQuery ?? link.forwardQuery,
      publicStats: change.publicStats ?? link.publicStats,
      maxClicks: change.maxClicks === undefined ? link.maxClicks : change.maxClicks,
    }));
  };
}

/** A new destination can bring a hold, or a harder one; it never lifts the one that is there. */
function stricter(status: LinkStatus, judged: 'active' | 'quarantined' | 'blocked' | undefined): LinkStatus {
  if (judged === 'blocked' || (judged === 'quarantined' && status !== 'blocked')) return judged;
  return status;
}

/** Moderation alone lifts what moderation imposed, so also switching such a link off and on again is not for owners. */
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
  return rewriteLink(context, actor, code, link => ({
    ...link,
    status: 'deleted',
    longUrl: '',
    title: null,
    tags: [],
    risk: null,
    expiresAt: null,
    maxClicks: null,
    publicStats: false,
  }));
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
    if ((await context.store.replace(next, changeTrace(actor, link, next))) === 'replaced') return next;
  }
  throw new Problem('edit_conflict', { detail: 'The link kept changing; try again.' });
}
