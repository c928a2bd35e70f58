/** Editing a link. Two edits at once never mix: each names the version it saw and starts over if it lost. */
import type { Actor } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import type { LinkContext } from './context.ts';
import type { Link, RedirectType } from './link.ts';
import { readLink } from './read.ts';
import { acceptExpiry, acceptUrl } from './rules.ts';

export interface LinkChange {
  readonly longUrl?: string | undefined;
  readonly expiresAt?: number | null | undefined;
  readonly status?: 'active' | 'disabled' | undefined;
  readonly title?: string | null | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly redirectType?: RedirectType | undefined;
  readonly forwardQuery?: boolean | undefined;
  readonly publicStats?: boolean | undefined;
  readonly maxClicks?: number | null | undefined;
}

const attemptsMax = 8;

/** Changes what is named and keeps the rest. */
export async function updateLink(
  context: LinkContext,
  actor: Actor,
  code: string,
  change: LinkChange,
): Promise<Link> {
  const longUrl = change.longUrl === undefined ? undefined : acceptUrl(context, change.longUrl);
  const expiresAt = change.expiresAt === undefined ? undefined : acceptExpiry(context, change.expiresAt);
  return rewriteLink(context, actor, code, link => ({
    ...link,
    longUrl: longUrl ?? link.longUrl,
    expiresAt: expiresAt === undefined ? link.expiresAt : expiresAt,
    status: change.status ?? link.status,
    title: change.title === undefined ? link.title : change.title,
    tags: change.tags === undefined ? link.tags : [...new Set(change.tags)],
    redirectType: change.redirectType ?? link.redirectType,
    forwardQuery: change.forwardQuery ?? link.forwardQuery,
    publicStats: change.publicStats ?? link.publicStats,
    maxClicks: change.maxClicks === undefined ? link.maxClicks : change.maxClicks,
  }));
}

/** Leaves a tombstone: the destination is erased, the code answers 410 and is never issued again. */
export async function removeLink(context: LinkContext, actor: Actor, code: string): Promise<void> {
  await rewriteLink(context, actor, code, link => ({
    ...link,
    status: 'deleted',
    longUrl: '',
    title: null,
    tags: [],
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
    if ((await context.store.replace(next)) === 'replaced') {
      context.onChanged(code);
      return next;
    }
  }
  throw new Problem('edit_conflict', { detail: 'The link kept changing; try again.' });
}
