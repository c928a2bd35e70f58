/** The owner's response to a held link: a short text that puts it in front of a moderator again. */
import { type Actor, mayManage } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import { isHeld } from '../links/link.ts';
import { linkRecord } from '../links/trace.ts';
import type { ModerationContext } from './context.ts';
import { linkToDecide } from './decide.ts';
import { appealsMax } from './review.ts';

export async function appealLink(
  context: ModerationContext,
  actor: Actor,
  code: string,
  text: string,
): Promise<void> {
  const link = await context.links.store.find(code);
  if (link === undefined || !mayManage(actor, link.ownerId))
    throw new Problem('not_found', { detail: 'Link not found.' });
  const { status } = await linkToDecide(context, code);
  if (!isHeld({ status })) throw refused(`This link is ${status}: there is nothing to appeal against.`);
  const at = context.links.clock.now();
  const audit = linkRecord(actor, 'link.appealed', link, at, { before: null, after: null, reason: text });
  const outcome = await context.reviews.appeal(code, { at, text }, audit);
  if (outcome === 'pending') throw refused('An appeal is waiting for an answer already.');
  if (outcome === 'used up') throw refused(`A decision can be appealed against ${appealsMax} times.`);
}

function refused(detail: string): Problem {
  return new Problem('appeal_refused', { detail });
}
