/** The tables of accounts, as the SQL engines carry them in a migration. */
import type { TransferredTable } from '../../base/transferred-table.ts';
import type { Account, ApiKey } from '../account.ts';
import type { Session } from '../session-store.ts';
import type { Invitation } from '../store.ts';
import {
  type AccountRow,
  type ApiKeyRow,
  accountOf,
  apiKeyOf,
  type InvitationRow,
  invitationOf,
  type SessionRow,
  sessionOf,
} from './rows.ts';

/** The account may have been made after accounts were walked. */
const itsAccount = { table: 'accounts', column: 'account_id' } as const;

export const accountsTable: TransferredTable<Account, AccountRow> = {
  part: 'accounts',
  table: 'accounts',
  key: ['id'],
  columns: ['id', 'name', 'role', 'plan', 'email', 'password_hash', 'created_at', 'suspended_at'],
  rowOf: account => ({
    id: account.id,
    name: account.name,
    role: account.role,
    plan: account.plan,
    email: account.email,
    password_hash: account.passwordHash,
    created_at: account.createdAt,
    suspended_at: account.suspendedAt,
  }),
  valueOf: accountOf,
  unique: [{ column: 'email', givesUp: ['email'] }],
};

export const keysTable: TransferredTable<ApiKey, ApiKeyRow> = {
  part: 'keys',
  table: 'api_keys',
  key: ['id'],
  columns: [
    ...['id', 'account_id', 'name', 'origin', 'scopes', 'key_hash', 'previous_hash', 'previous_until'],
    ...['created_at', 'last_used_at', 'expires_at', 'revoked_at'],
  ],
  rowOf: key => ({
    id: key.id,
    account_id: key.accountId,
    name: key.name,
    origin: key.origin,
    scopes: key.scopes.join(' '),
    key_hash: key.keyHash,
    previous_hash: key.previousHash,
    previous_until: key.previousUntil,
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt,
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
  }),
  valueOf: apiKeyOf,
  unique: [
    { column: 'key_hash', givesUp: 'row' },
    { column: 'previous_hash', givesUp: ['previous_hash', 'previous_until'] },
  ],
  needs: itsAccount,
};

export const sessionsTable: TransferredTable<Session, SessionRow> = {
  part: 'sessions',
  table: 'sessions',
  key: ['id'],
  columns: [
    ...['id', 'account_id', 'token_hash', 'key_id', 'user_agent', 'created_at', 'last_seen_at', 'expires_at'],
  ],
  rowOf: session => ({
    id: session.id,
    account_id: session.accountId,
    token_hash: session.tokenHash,
    key_id: session.keyId,
    user_agent: session.userAgent,
    created_at: session.createdAt,
    last_seen_at: session.lastSeenAt,
    expires_at: session.expiresAt,
  }),
  valueOf: sessionOf,
  unique: [{ column: 'token_hash', givesUp: 'row' }],
  needs: itsAccount,
};

export const invitationsTable: TransferredTable<Invitation, InvitationRow> = {
  part: 'invitations',
  table: 'invitations',
  key: ['account_id'],
  columns: ['account_id', 'token_hash', 'expires_at'],
  rowOf: invitation => ({
    account_id: invitation.accountId,
    token_hash: invitation.tokenHash,
    expires_at: invitation.expiresAt,
  }),
  valueOf: invitationOf,
  unique: [{ column: 'token_hash', givesUp: 'row' }],
  needs: itsAccount,
};
