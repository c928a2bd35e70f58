/**
 * One change to something that matters, as it is kept: who, what, before and after, when and why. It lies here because
 * links, accounts and moderation all write entries, each beside its own change.
 */
export interface AuditRecord {
  readonly at: number;
  readonly actor: AuditActor;
  /** What kind of thing, a dot, what was done to it: `link.updated`, `key.revoked`. */
  readonly action: string;
  readonly subject: AuditSubject;
  /** What was and what is, as JSON; of a long record only what differs. */
  readonly before: unknown;
  readonly after: unknown;
  readonly reason: string | null;
  /**
   * Whether it may be forgotten after `auditDays`: what somebody did to what is their own. Everything else, decisions of
   * moderators above all, is kept for ever.
   */
  readonly isRoutine: boolean;
}

/** No setting makes a store forget an entry sooner, and the SQL engines refuse to. */
export const auditDaysMin = 30;
export const auditDaysDefault = 365;

/** A record once it is kept: ids are given in the order of writing. */
export interface AuditEntry extends AuditRecord {
  readonly id: string;
}

export interface AuditActor {
  readonly kind: 'anonymous' | 'account' | 'system';
  readonly accountId: string | null;
  /** Null for a session, for strangers and for our own work. */
  readonly keyId: string | null;
}

export const auditSubjectKinds = ['link', 'account', 'key', 'report', 'domain'] as const;

export interface AuditSubject {
  readonly kind: (typeof auditSubjectKinds)[number];
  readonly id: string;
}

/** Terse itself, where no request is behind a change. */
export const systemActor: AuditActor = { kind: 'system', accountId: null, keyId: null };
