/** A link maps a code to a long URL. Every store keeps all of its fields (fields.ts). */

import {
  type LinkRisk,
  type LinkValues,
  linkOrigins,
  linkStatuses,
  redirectTypes,
  statedNames,
  unstated,
} from './fields.ts';

export { type LinkRisk, linkOrigins, linkStatuses, redirectTypes };

export interface Link extends LinkValues {}

export type RedirectType = Link['redirectType'];
export type LinkOrigin = Link['origin'];

/**
 * The stored status. `disabled` is the owner's own switch. `quarantined` (a warning first) and `blocked` (410) are set
 * by moderation, which alone lifts them. `deleted` is a tombstone: the code answers 410 and is never issued again.
 */
export type LinkStatus = Link['status'];

export const isHeld = ({ status }: Pick<Link, 'status'>): boolean =>
  status === 'quarantined' || status === 'blocked';

/** The state an owner sees: the stored status, or the one that results from time and clicks. */
export type LinkState = LinkStatus | 'expired' | 'exhausted';

export function stateOf(link: Link, now: number): LinkState {
  if (link.status !== 'active') return link.status;
  if (link.expiresAt !== null && link.expiresAt <= now) return 'expired';
  if (link.maxClicks !== null && link.usedClicks >= link.maxClicks) return 'exhausted';
  return 'active';
}

/** What stays of a link that was deleted, or has expired: nothing that its owner stated. */
export function tombstoneOf(link: Link): Link {
  return { ...link, ...unstated, status: 'deleted', risk: null };
}

/** The whole alphabet of codes and aliases; anything else in a path is not a link of ours. */
export const codePattern = /^[0-9A-Za-z_-]{1,64}$/;

/**
 * The live link of the same owner to the same URL. Clients without an account share an owner: they share a link only
 * when every field of the request is the same, so that no client sees what another wrote about it. Requesting an alias
 * again returns the link that was created with it, also one that moderation holds as it would hold the new one.
 */
export function isSameLink(found: Link, wanted: Link): boolean {
  if (found.ownerId !== wanted.ownerId || found.longUrl !== wanted.longUrl) return false;
  if (wanted.origin === 'custom') {
    if (found.origin !== 'custom') return false;
    if (isHeld(found) && found.status === wanted.status) return true;
  }
  if (stateOf(found, wanted.createdAt) !== 'active') return false;
  return (
    wanted.ownerId !== null || statedNames.every(name => Bun.deepEquals(found[name], wanted[name], true))
  );
}
