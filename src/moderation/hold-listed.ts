/**
 * A destination that a threat source lists only after its link was made: Terse blocks the link itself and queues it for
 * a moderator. The link's record remembers which listing that was, so a moderator who allows it has judged this
 * listing, and it does not block the link a second time.
 */
import { systemActor } from '../audit/audit-entry.ts';
import { Problem } from '../base/errors.ts';
import { isHeld, type Link } from '../links/link.ts';
import type { ModerationContext } from './context.ts';

export interface Listing {
  /** The destination that was looked up; a link that points elsewhere by now is not changed. */
  readonly url: string;
  /** Who lists it and as what: `safeBrowsing:malware`. */
  readonly signal: string;
  /** An explanation for the owner. */
  readonly reason: string;
}

const listedScore = 100;
const attemptsMax = 8;

export async function holdListed(
  { links }: ModerationContext,
  code: string,
  { url, signal, reason }: Listing,
): Promise<'held' | 'unchanged'> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const link = await links.store.find(code);
    if (link === undefined || link.status === 'deleted' || link.status === 'blocked') return 'unchanged';
    if (link.longUrl !== url || link.risk?.reasons.includes(signal)) return 'unchanged';
    const at = links.clock.now();
    const risk = { score: listedScore, reasons: [...(link.risk?.reasons ?? []), signal] };
    const next: Link = { ...link, status: 'blocked', risk, updatedAt: at, version: link.version + 1 };
    const outcome = await links.store.replace(next, {
      audit: {
        at,
        actor: systemActor,
        action: 'link.listed',
        subject: { kind: 'link', id: code },
        before: { status: link.status, risk: link.risk },
        after: { status: next.status, risk },
        reason,
        isRoutine: false,
      },
      review: {
        kind: 'open',
        code,
        at,
        score: listedScore,
        heldFrom: isHeld(link) ? undefined : link.status === 'disabled' ? 'disabled' : 'active',
      },
    });
    if (outcome === 'replaced') return 'held';
  }
  throw new Problem('edit_conflict', { detail: `The link ${code} kept changing; try again.` });
}
