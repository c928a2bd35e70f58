/**
 * The audit entry of every change of an account, a key or a session. The caller says who and why; the store adds the
 * facts it saw while it wrote, in the same transaction, so that the log cannot contain a change that did not happen.
 * Invariant: no secret and no hash of one is ever a fact.
 */
import { type AuditRecord, systemActor } from '../audit/audit-entry.ts';
import type { Clock } from '../base/clock.ts';
import type { Account, Actor, ApiKey } from './account.ts';

/** Who changed something, when and why. */
export type ChangeNote = Omit<AuditRecord, 'subject' | 'before' | 'after' | 'isRoutine'>;

export function noteOf(
  clock: Clock,
  actor: Actor | 'system',
  action: string,
  reason: string | null = null,
): ChangeNote {
  return { at: clock.now(), actor: actor === 'system' ? systemActor : authorOf(actor), action, reason };
}

function authorOf(actor: Actor): ChangeNote['actor'] {
  return actor.kind === 'anonymous'
    ? { kind: 'anonymous', accountId: null, keyId: null }
    : { kind: 'account', accountId: actor.accountId, keyId: actor.keyId };
}

export function accountRecord(note: ChangeNote, before: Account | undefined, after: Account): AuditRecord {
  return {
    ...note,
    subject: { kind: 'account', id: after.id },
    before: before === undefined ? null : accountFacts(before),
    after: accountFacts(after),
    isRoutine: isOwn(note, after.id) && (before === undefined || isOfSameRank(before, after)),
  };
}

export function keyRecord(note: ChangeNote, before: ApiKey | undefined, after: ApiKey): AuditRecord {
  return {
    ...note,
    subject: { kind: 'key', id: after.id },
    before: before === undefined ? null : keyFacts(before),
    after: keyFacts(after),
    isRoutine: isOwn(note, after.accountId) && !after.scopes.includes('admin'),
  };
}

/** The subject of a session's entry is its account. */
export function sessionRecord(
  note: ChangeNote,
  session: { readonly id: string; readonly accountId: string },
): AuditRecord {
  const subject = { kind: 'account', id: session.accountId } as const;
  const isRoutine = isOwn(note, session.accountId);
  return { ...note, subject, before: null, after: { sessionId: session.id }, isRoutine };
}

/** A change of role or plan is a decision, even on one's own account. */
const isOfSameRank = (before: Account, after: Account): boolean =>
  before.role === after.role && before.plan === after.plan;

const isOwn = ({ actor }: ChangeNote, accountId: string): boolean => actor.accountId === accountId;

function accountFacts({ name, role, plan, email, passwordHash, suspendedAt }: Account) {
  return { name, role, plan, email, hasPassword: passwordHash !== null, suspendedAt };
}

function keyFacts({ accountId, name, origin, scopes, previousUntil, expiresAt, revokedAt }: ApiKey) {
  return { accountId, name, origin, scopes, previousUntil, expiresAt, revokedAt };
}
