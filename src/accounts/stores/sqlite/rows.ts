/** Accounts and keys as rows, and the way back to records. */
import type { Account, ApiKey, KeyOrigin } from '../../account.ts';

export interface AccountRow {
  id: string;
  name: string;
  is_admin: number;
  created_at: number;
}

export interface ApiKeyRow {
  id: string;
  account_id: string;
  name: string;
  key_hash: string;
  created_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
  origin: KeyOrigin;
}

export const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  isAdmin: row.is_admin === 1,
  createdAt: row.created_at,
});

export const apiKeyOf = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  origin: row.origin,
  keyHash: row.key_hash,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  revokedAt: row.revoked_at,
});
