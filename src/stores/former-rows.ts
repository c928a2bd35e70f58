/** Rows of the tables that are records now, as the values they became. */
import type { OperatorEntry } from '../abuse/operator-entries.ts';
import type { Account, ApiKey, KeyOrigin, Role, Scope } from '../accounts/account.ts';
import type { Session } from '../accounts/session-store.ts';
import type { Invitation } from '../accounts/store.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import { auditIdOfNumber } from '../audit/audit-log.ts';
import type { PlanName } from '../limits/plans.ts';
import type { Review } from '../moderation/review.ts';

export interface AccountRow {
  id: string;
  name: string;
  role: Role;
  plan: PlanName;
  email: string | null;
  password_hash: string | null;
  created_at: number;
  suspended_at: number | null;
}

export interface ApiKeyRow {
  id: string;
  account_id: string;
  name: string;
  origin: KeyOrigin;
  /** With spaces between. */
  scopes: string;
  key_hash: string;
  previous_hash: string | null;
  previous_until: number | null;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

export interface SessionRow {
  id: string;
  account_id: string;
  token_hash: string;
  key_id: string | null;
  user_agent: string;
  created_at: number;
  last_seen_at: number;
  expires_at: number;
}

export interface InvitationRow {
  account_id: string;
  token_hash: string;
  expires_at: number;
}

export const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  role: row.role,
  plan: row.plan,
  email: row.email,
  passwordHash: row.password_hash,
  createdAt: row.created_at,
  suspendedAt: row.suspended_at,
});

export const apiKeyOf = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  origin: row.origin,
  scopes: row.scopes === '' ? [] : (row.scopes.split(' ') as Scope[]),
  keyHash: row.key_hash,
  previousHash: row.previous_hash,
  previousUntil: row.previous_until,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
});

export const sessionOf = (row: SessionRow): Session => ({
  id: row.id,
  accountId: row.account_id,
  tokenHash: row.token_hash,
  keyId: row.key_id,
  userAgent: row.user_agent,
  createdAt: row.created_at,
  lastSeenAt: row.last_seen_at,
  expiresAt: row.expires_at,
});

export const invitationOf = (row: InvitationRow): Invitation => ({
  accountId: row.account_id,
  tokenHash: row.token_hash,
  expiresAt: row.expires_at,
});

export interface AuditRow {
  seq: number;
  at: number;
  actor_kind: AuditEntry['actor']['kind'];
  account_id: string | null;
  key_id: string | null;
  action: string;
  subject_kind: AuditEntry['subject']['kind'];
  subject_id: string;
  before: string | null;
  after: string | null;
  reason: string | null;
  routine: number | boolean;
}

export const auditEntryOf = (row: AuditRow): AuditEntry => ({
  id: auditIdOfNumber(row.at, row.seq),
  at: row.at,
  actor: { kind: row.actor_kind, accountId: row.account_id, keyId: row.key_id },
  action: row.action,
  subject: { kind: row.subject_kind, id: row.subject_id },
  before: parsed(row.before),
  after: parsed(row.after),
  reason: row.reason,
  isRoutine: Boolean(row.routine),
});

const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));

export interface ReviewRow {
  code: string;
  opened_at: number | null;
  score: number;
  held_from: 'active' | 'disabled' | null;
  reporters: number;
  appeal: string | null;
  appealed_at: number | null;
  appeals: number;
  decided_at: number | null;
}

export const reviewOf = (row: ReviewRow): Review => ({
  code: row.code,
  openedAt: row.opened_at,
  score: row.score,
  heldFrom: row.held_from,
  reporters: row.reporters,
  appeal: row.appeal === null || row.appealed_at === null ? null : { at: row.appealed_at, text: row.appeal },
  appeals: row.appeals,
  decidedAt: row.decided_at,
});

export interface BlockEntryRow {
  seq: number;
  id: string;
  entry: string;
  reason: string | null;
  added_at: number;
  added_by: string | null;
}

export const blockEntryOf = (row: BlockEntryRow): OperatorEntry => ({
  id: row.id,
  entry: row.entry,
  reason: row.reason,
  addedAt: row.added_at,
  addedBy: row.added_by,
});
