/**
 * Accounts, keys and sessions in Postgres, beside the links. Every request is answered from what is committed, so what
 * one process revokes or suspends is refused by the next request in every other. A read is one statement: who asks and
 * what they ask with are of the same moment. The two that every request of the API makes are prepared.
 */
import { stateOf } from '../../../engines/postgres/failures.ts';
import type { Postgres } from '../../../engines/postgres/postgres.ts';
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
import { acceptInvitation, changeAccount, insertAccount, invite, setUp } from './account-writes.ts';
import { adoptKey, insertKey, revokeKey, rotateKey } from './key-writes.ts';
import { endSession, insertSession } from './session-writes.ts';

export function createPostgresAccountStore(postgres: Postgres): AccountStore {
  return {
    setUp: (candidate, key, note, abandonedKeyId) =>
      postgres.transaction(tx => setUp(tx, { candidate, key, note, abandonedKeyId })),
    insertAccount: (account, note) => postgres.transaction(tx => insertAccount(tx, account, note)),
    async findAccount(id) {
      const [row] = await postgres.read<AccountRow>('SELECT * FROM accounts WHERE id = $1', [id]);
      return row && accountOf(row);
    },
    async findAccountByEmail(email) {
      const [row] = await postgres.read<AccountRow>('SELECT * FROM accounts WHERE email = $1', [email]);
      return row && accountOf(row);
    },
    async listAccounts({ limit, cursor }) {
      const from = cursor === undefined ? { createdAt: -1, id: '' } : placeOf(cursor);
      const rows = await postgres.read<AccountRow>(
        'SELECT * FROM accounts WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT $3',
        [from.createdAt, from.id, limit + 1],
      );
      const accounts = rows.slice(0, limit).map(accountOf);
      return { accounts, nextCursor: rows.length > limit ? cursorOf(accounts.at(-1)!) : undefined };
    },
    async changeAccount(accountId, change, note) {
      try {
        return await postgres.transaction(tx => changeAccount(tx, accountId, change, note));
      } catch (error) {
        // Somebody else took the address after it was found free; the index has the last word.
        if (isRefusedAddress(error)) return { kind: 'email_taken' };
        throw error;
      }
    },
    invite: (invitation, note) => postgres.transaction(tx => invite(tx, invitation, note)),
    async findInvitation(tokenHash) {
      const [row] = await postgres.read<{ invitation: InvitationRow; account: AccountRow }>(
        `SELECT to_json(invitations) AS invitation, to_json(accounts) AS account
         FROM invitations JOIN accounts ON accounts.id = account_id WHERE token_hash = $1`,
        [tokenHash],
      );
      return row && { account: accountOf(row.account), invitation: invitationOf(row.invitation) };
    },
    acceptInvitation: (tokenHash, passwordHash, note) =>
      postgres.transaction(tx => acceptInvitation(tx, tokenHash, passwordHash, note)),

    adoptKey: (key, note) => postgres.transaction(tx => adoptKey(tx, key, note)),
    async noteSeen(keyId) {
      await postgres.query(`UPDATE api_keys SET origin = 'issued' WHERE id = $1 AND origin = 'unseen'`, [
        keyId,
      ]);
    },
    insertKey: (key, note) => postgres.transaction(tx => insertKey(tx, key, note)),
    async findByKeyHash(keyHash) {
      const [row] = await postgres.read<{ key: ApiKeyRow; account: AccountRow }>(
        `SELECT to_json(api_keys) AS key, to_json(accounts) AS account
         FROM api_keys JOIN accounts ON accounts.id = account_id WHERE key_hash = $1 OR previous_hash = $1`,
        [keyHash],
        { name: 'account-of-key' },
      );
      return row && { account: accountOf(row.account), key: apiKeyOf(row.key) };
    },
    async findKey(keyId) {
      const [row] = await postgres.read<ApiKeyRow>('SELECT * FROM api_keys WHERE id = $1', [keyId]);
      return row && apiKeyOf(row);
    },
    async listKeys(accountId) {
      const rows = await postgres.read<ApiKeyRow>(
        'SELECT * FROM api_keys WHERE account_id = $1 ORDER BY created_at, id',
        [accountId],
      );
      return rows.map(apiKeyOf);
    },
    rotateKey: (rotation, note) => postgres.transaction(tx => rotateKey(tx, rotation, note)),
    revokeKey: (accountId, keyId, note) => postgres.transaction(tx => revokeKey(tx, accountId, keyId, note)),
    async touchKey(keyId, at) {
      await postgres.query('UPDATE api_keys SET last_used_at = greatest(last_used_at, $2) WHERE id = $1', [
        keyId,
        at,
      ]);
    },

    insertSession: (session, note) => postgres.transaction(tx => insertSession(tx, session, note)),
    async findSession(tokenHash) {
      const [row] = await postgres.read<{ session: SessionRow; account: AccountRow; key: ApiKeyRow | null }>(
        `SELECT to_json(sessions) AS session, to_json(accounts) AS account, to_json(api_keys) AS key
         FROM sessions JOIN accounts ON accounts.id = sessions.account_id
         LEFT JOIN api_keys ON api_keys.id = sessions.key_id WHERE token_hash = $1`,
        [tokenHash],
        { name: 'account-of-session' },
      );
      if (row === undefined) return undefined;
      const key = row.key === null ? undefined : apiKeyOf(row.key);
      return { session: sessionOf(row.session), account: accountOf(row.account), key };
    },
    async listSessions(accountId) {
      const rows = await postgres.read<SessionRow>(
        'SELECT * FROM sessions WHERE account_id = $1 ORDER BY created_at DESC, id',
        [accountId],
      );
      return rows.map(sessionOf);
    },
    endSession: (accountId, sessionId, note) =>
      postgres.transaction(tx => endSession(tx, accountId, sessionId, note)),
    async touchSession(sessionId, at) {
      await postgres.query('UPDATE sessions SET last_seen_at = greatest(last_seen_at, $2) WHERE id = $1', [
        sessionId,
        at,
      ]);
    },
  };
}

const uniqueViolation = '23505';

const isRefusedAddress = (error: unknown): boolean =>
  stateOf(error) === uniqueViolation &&
  (error as { constraint?: unknown }).constraint === 'accounts_by_email';
