/** When a deterministic code is "taken", its link may be the very one that is asked for. */
import { isDeepStrictEqual } from 'node:util';
import { type Link, stateOf } from './link.ts';

/**
 * The live link of the same owner to the same URL. Strangers without an account share an owner: they share a link
 * only when they ask for all the same, so that nobody is shown what another wrote about it.
 */
export function isSameLink(found: Link, wanted: Link): boolean {
  if (found.ownerId !== wanted.ownerId || found.longUrl !== wanted.longUrl) return false;
  if (stateOf(found, wanted.createdAt) !== 'active') return false;
  return wanted.ownerId !== null || isDeepStrictEqual(wishesOf(found), wishesOf(wanted));
}

function wishesOf({ title, tags, redirectType, forwardQuery, publicStats, expiresAt, maxClicks }: Link) {
  return [title, tags, redirectType, forwardQuery, publicStats, expiresAt, maxClicks];
}
