/** Accounts, keys and sessions as rows of SQL databases, and the way back to records. */
import type { Account, ApiKey, KeyOrigin, Role, Scope } from '../account.ts';
import type { PlanName } from '../plans.ts';
import type { Session } from '../session-store.ts';
import type { Invitation } from '../store.ts';

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
