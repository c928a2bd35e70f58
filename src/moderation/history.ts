/**
 * The history of a link as its owner may see it: own changes, and what moderation decided and why. Who the moderator
 * was, moderators' internal notes, and the risk signals are not included.
 */
import { type Actor, mayManage } from '../accounts/account.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import { everythingAbout } from '../audit/audit-log.ts';
import { Problem } from '../base/errors.ts';
import type { Link } from '../links/link.ts';
import { linkRecord } from '../links/trace.ts';
import { linkToDecide } from './decide.ts';
import type { ModerationContext } from './store.ts';

export interface HistoryEntry {
  readonly at: number;
  readonly action: string;
  readonly by: 'owner' | 'moderation' | 'operator' | 'anonymous' | 'system';
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
}

export interface HistoryPage {
  readonly entries: HistoryEntry[];
  readonly nextCursor: string | undefined;
}

const hiddenFields: ReadonlySet<string> = new Set(['risk', 'ownerId']);

/** Also for a deleted link: its owner may ask what happened to it. */
export async function readHistory(
  context: ModerationContext,
  actor: Actor,
  code: string,
  page: { readonly limit: number; readonly cursor: string | undefined },
): Promise<HistoryPage> {
  const link = await context.links.store.find(code);
  if (link === undefined || !mayManage(actor, link.ownerId))
    throw new Problem('not_found', { detail: 'Link not found.' });
  const found = await context.audit.query(everythingAbout({ kind: 'link', id: code }, page));
  const entries = found.entries
    .filter(({ action }) => action !== noteAction)
    .map(entry => shown(entry, link));
  // An ordinary creation is not in the log: the record itself has its time.
  if (found.nextCursor === undefined && entries.at(-1)?.action !== 'link.created')
    entries.push(created(link));
  return { entries, nextCursor: found.nextCursor };
}

function shown(entry: AuditEntry, link: Link): HistoryEntry {
  const { at, action, before, after, reason } = entry;
  return { at, action, by: authorOf(entry, link), before: visible(before), after: visible(after), reason };
}

function authorOf({ action, actor }: AuditEntry, { ownerId }: Link): HistoryEntry['by'] {
  if (action === 'link.decided') return 'moderation';
  if (actor.kind !== 'account') return actor.kind;
  return actor.accountId === ownerId ? 'owner' : 'operator';
}

function visible(fields: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof fields !== 'object' || fields === null) return null;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !hiddenFields.has(name)));
}

function created({ createdAt, ownerId }: Link): HistoryEntry {
  const by = ownerId === null ? 'anonymous' : 'owner';
  return { at: createdAt, action: 'link.created', by, before: null, after: null, reason: null };
}

/** A moderator's note about a link: a separate entry in the audit log, which owners do not see. */

const noteAction = 'link.noted';

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
