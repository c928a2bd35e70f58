/** A moderator's note about a link: a separate entry in the audit log, which owners do not see. */
import type { Actor } from '../accounts/account.ts';
import { linkRecord } from '../links/trace.ts';
import type { ModerationContext } from './context.ts';
import { linkToDecide } from './decide.ts';

export const noteAction = 'link.noted';

export async function addNote(
  context: ModerationContext,
  actor: Actor,
  code: string,
  text: string,
): Promise<void> {
  const link = await linkToDecide(context, code);
  const now = context.links.clock.now();
  await context.audit.append([
    linkRecord(actor, noteAction, link, now, { before: null, after: null, reason: text }),
  ]);
}
