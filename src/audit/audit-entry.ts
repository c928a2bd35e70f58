/**
 * One recorded change to something that matters: who, what, before and after, when and why. It lives here because
 * links, accounts and moderation all write entries, each beside its own change.
 */
export interface AuditRecord {
  readonly at: number;
  readonly actor: AuditActor;
  /** What kind of thing, a dot, what was done to it: `link.updated`, `key.revoked`. */
  readonly action: string;
  readonly subject: AuditSubject;
  /** The state before and after, as JSON; for a long record only the fields that differ. */
  readonly before: unknown;
  readonly after: unknown;
  readonly reason: string | null;
  /**
   * Whether it may be deleted after `auditDays`: an action on the actor's own things. Everything else, decisions of
   * moderators above all, is kept forever.
   */
  readonly isRoutine: boolean;
}

/** No setting makes a store delete an entry sooner, and the SQL engines refuse to. */
export const auditDaysMin = 30;
export const auditDaysDefault = 365;

/** A stored entry: ids are assigned in the order of writing. */
export interface AuditEntry extends AuditRecord {
  readonly id: string;
}

export interface AuditActor {
  readonly kind: 'anonymous' | 'account' | 'system';
  readonly accountId: string | null;
  /** Null for a session, for anonymous clients and for the system's own work. */
  readonly keyId: string | null;
}

export const auditSubjectKinds = ['link', 'account', 'key', 'report', 'domain'] as const;

export interface AuditSubject {
  readonly kind: (typeof auditSubjectKinds)[number];
  readonly id: string;
}

/** Terse itself, for a change that no request caused. */
export const systemActor: AuditActor = { kind: 'system', accountId: null, keyId: null };
