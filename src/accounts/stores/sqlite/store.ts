/**
 * Accounts, keys and sessions in the embedded database, beside the links. Reads see whatever any process has
 * committed, so what one process revokes or suspends is refused by the next request in every other.
 */
import type { Database } from 'bun:sqlite';
import type { SqliteWriter } from '../../../engines/sqlite/writer.ts';
import type { Account } from '../../account.ts';
import { cursorOf, placeOf } from '../../account-cursor.ts';
import type { AccountStore } from '../../store.ts';
import {
  type AccountRow,
  type ApiKeyRow,
  accountOf,
  apiKeyOf,
  type InvitationRow,
  invitationOf,
  type SessionRow,
  sessionOf,
} from '../rows.ts';
import type { AccountOperations } from './operations.ts';

export function createSqliteAccountStore(
  reader: Database,
  writer: SqliteWriter<AccountOperations>,
): AccountStore {
  const byId = reader.query<AccountRow, [string]>('SELECT * FROM accounts WHERE id = ?');
  const byEmail = reader.query<AccountRow, [string]>('SELECT * FROM accounts WHERE email = ?');
  const page = reader.query<AccountRow, [number, string, number]>(`
    SELECT * FROM accounts WHERE (created_at, id) > (?1, ?2) ORDER BY created_at, id LIMIT ?3`);
  const keyByHash = reader.query<ApiKeyRow, [string]>(
    'SELECT * FROM api_keys WHERE key_hash = ?1 OR previous_hash = ?1',
  );
  const keyById = reader.query<ApiKeyRow, [string]>('SELECT * FROM api_keys WHERE id = ?');
  const keysOf = reader.query<ApiKeyRow, [string]>(
    'SELECT * FROM api_keys WHERE account_id = ? ORDER BY created_at, id',
  );
  const sessionByHash = reader.query<SessionRow, [string]>('SELECT * FROM sessions WHERE token_hash = ?');
  const sessionsOf = reader.query<SessionRow, [string]>(
    'SELECT * FROM sessions WHERE account_id = ? ORDER BY created_at DESC, id',
  );
  const invitationByHash = reader.query<InvitationRow, [string]>(
    'SELECT * FROM invitations WHERE token_hash = ?',
  );

  const account = (id: string): Account | undefined => optional(byId.get(id), accountOf);
  const key = (id: string) => optional(keyById.get(id), apiKeyOf);

  return {
    setUp: (candidate, firstKey, note, abandonedKeyId) =>
      writer.run('setUpAccount', { candidate, key: firstKey, note, abandonedKeyId }),
    insertAccount: (candidate, note) => writer.run('insertAccount', { account: candidate, note }),
    findAccount: async id => account(id),
    findAccountByEmail: async email => optional(byEmail.get(email), accountOf),
    async listAccounts({ limit, cursor }) {
      const from = cursor === undefined ? { createdAt: -1, id: '' } : placeOf(cursor);
      const accounts = page.all(from.createdAt, from.id, limit + 1).map(accountOf);
      const shown = accounts.slice(0, limit);
      const nextCursor = accounts.length > limit ? cursorOf(shown.at(-1)!) : undefined;
      return { accounts: shown, nextCursor };
    },
    changeAccount: (accountId, change, note) => writer.run('changeAccount', { accountId, change, note }),
    invite: (invitation, note) => writer.run('inviteAccount', { invitation, note }),
    async findInvitation(tokenHash) {
      const invitation = optional(invitationByHash.get(tokenHash), invitationOf);
      const invited = invitation && account(invitation.accountId);
      return invited && { account: invited, invitation };
    },
    acceptInvitation: (tokenHash, passwordHash, note) =>
      writer.run('acceptInvitation', { tokenHash, passwordHash, note }),

    adoptKey: (adopted, note) => writer.run('adoptKey', { key: adopted, note }),
    noteSeen: keyId => writer.run('noteKeySeen', keyId),
    insertKey: (inserted, note) => writer.run('insertKey', { key: inserted, note }),
    async findByKeyHash(keyHash) {
      const found = optional(keyByHash.get(keyHash), apiKeyOf);
      const owner = found && account(found.accountId);
      return owner && { account: owner, key: found };
    },
    findKey: async keyId => key(keyId),
    listKeys: async accountId => keysOf.all(accountId).map(apiKeyOf),
    rotateKey: (rotation, note) => writer.run('rotateKey', { rotation, note }),
    revokeKey: (accountId, keyId, note) => writer.run('revokeKey', { accountId, keyId, note }),
    touchKey: (keyId, at) => writer.run('touchKey', { keyId, at }),

    insertSession: (session, note) => writer.run('insertSession', { session, note }),
    async findSession(tokenHash) {
      const session = optional(sessionByHash.get(tokenHash), sessionOf);
      const owner = session && account(session.accountId);
      return owner && { session, account: owner, key: optional(session.keyId, key) };
    },
    listSessions: async accountId => sessionsOf.all(accountId).map(sessionOf),
    endSession: (accountId, sessionId, note) => writer.run('endSession', { accountId, sessionId, note }),
    touchSession: (sessionId, at) => writer.run('touchSession', { sessionId, at }),
  };
}

function optional<From, To>(value: From | null, convert: (value: From) => To): To | undefined {
  return value === null ? undefined : convert(value);
}
