/** The writes of API keys. */
import type { Database } from 'bun:sqlite';
import type { ApiKey } from '../../account.ts';
import { type ChangeNote, type KeepRecord, keyRecord } from '../../change-note.ts';
import { deadKeysMax, type KeyRotation, keysPerAccountMax } from '../../key-store.ts';
import { type ApiKeyRow, apiKeyOf } from '../rows.ts';

export function keyWrites(database: Database, keep: KeepRecord) {
  const find = database.query<ApiKeyRow, [string]>('SELECT * FROM api_keys WHERE id = ?');
  const findByHash = database.query<ApiKeyRow, [string]>('SELECT * FROM api_keys WHERE key_hash = ?');
  const add = database.query(`
    INSERT INTO api_keys (id, account_id, name, origin, scopes, key_hash, created_at, last_used_at, expires_at, revoked_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key_hash) DO NOTHING`);
  const countLive = database.query<{ live: number }, [string, number]>(`
    SELECT count(*) AS live FROM api_keys
    WHERE account_id = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)`);
  const forgetOldest = database.query(`
    DELETE FROM api_keys WHERE id IN (
      SELECT id FROM api_keys
      WHERE account_id = ?1 AND (revoked_at IS NOT NULL OR expires_at <= ?2) AND id <> ?3
      ORDER BY created_at DESC, id DESC LIMIT -1 OFFSET ${deadKeysMax})`);
  const settingKeys = database.query<ApiKeyRow, [string]>(
    "SELECT * FROM api_keys WHERE account_id = ? AND origin = 'setting' AND revoked_at IS NULL",
  );
  const forgetPrevious = database.query(
    'UPDATE api_keys SET previous_hash = NULL, previous_until = NULL WHERE previous_hash = ?',
  );
  const adopt = database.query(`
    UPDATE api_keys SET account_id = ?2, origin = 'setting', scopes = ?3, expires_at = NULL, revoked_at = NULL
    WHERE id = ?1`);
  const see = database.query("UPDATE api_keys SET origin = 'issued' WHERE id = ? AND origin = 'unseen'");
  const rotate = database.query(`
    UPDATE api_keys SET previous_hash = key_hash, previous_until = ?2, key_hash = ?3 WHERE id = ?1`);
  const endSessions = database.query(
    'DELETE FROM sessions WHERE account_id = ?1 AND key_id = ?2 AND id IS NOT ?3',
  );
  const revoke = database.query('UPDATE api_keys SET revoked_at = ? WHERE id = ?');
  const touch = database.query('UPDATE api_keys SET last_used_at = ? WHERE id = ?');

  const write = (key: ApiKey): boolean => {
    const { id, accountId, name, origin, keyHash, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
    const scopes = key.scopes.join(' ');
    return (
      add.run(id, accountId, name, origin, scopes, keyHash, createdAt, lastUsedAt, expiresAt, revokedAt)
        .changes === 1
    );
  };
  /** The key if it is the account's and not revoked. */
  const unrevoked = (accountId: string, keyId: string): ApiKey | undefined => {
    const row = find.get(keyId);
    return row?.account_id === accountId && row.revoked_at === null ? apiKeyOf(row) : undefined;
  };
  const revokeOne = (key: ApiKey, note: ChangeNote): void => {
    revoke.run(note.at, key.id);
    keep(keyRecord(note, key, { ...key, revokedAt: note.at }));
  };

  return {
    insertKey({ key, note }: { key: ApiKey; note: ChangeNote }): 'inserted' | 'taken' | 'full' {
      if (countLive.get(key.accountId, note.at)!.live >= keysPerAccountMax) return 'full';
      if (!write(key)) return 'taken';
      forgetOldest.run(key.accountId, note.at, key.id);
      keep(keyRecord(note, undefined, key));
      return 'inserted';
    },
    adoptKey({ key, note }: { key: ApiKey; note: ChangeNote }): void {
      for (const earlier of settingKeys.all(key.accountId)) {
        if (earlier.key_hash !== key.keyHash) revokeOne(apiKeyOf(earlier), note);
      }
      const row = findByHash.get(key.keyHash);
      if (row === null) {
        // A secret opens one key: the rotated one that had it before gives it up.
        forgetPrevious.run(key.keyHash);
        write(key);
        keep(keyRecord(note, undefined, key));
        return;
      }
      const known = apiKeyOf(row);
      const { accountId, scopes } = key;
      const after: ApiKey = {
        ...known,
        accountId,
        scopes,
        origin: 'setting',
        expiresAt: null,
        revokedAt: null,
      };
      if (JSON.stringify(after) === JSON.stringify(known)) return;
      adopt.run(known.id, accountId, scopes.join(' '));
      keep(keyRecord(note, known, after));
    },
    noteKeySeen(keyId: string): void {
      see.run(keyId);
    },
    rotateKey({ rotation, note }: { rotation: KeyRotation; note: ChangeNote }): ApiKey | undefined {
      const before = unrevoked(rotation.accountId, rotation.keyId);
      if (before === undefined) return undefined;
      const { keyHash, previousUntil } = rotation;
      const after: ApiKey = { ...before, keyHash, previousHash: before.keyHash, previousUntil };
      rotate.run(before.id, previousUntil, keyHash);
      endSessions.run(rotation.accountId, before.id, rotation.exceptSessionId);
      keep(keyRecord(note, before, after));
      return after;
    },
    revokeKey(request: { accountId: string; keyId: string; note: ChangeNote }): boolean {
      const key = unrevoked(request.accountId, request.keyId);
      if (key !== undefined) revokeOne(key, request.note);
      return key !== undefined;
    },
    touchKey({ keyId, at }: { keyId: string; at: number }): void {
      touch.run(at, keyId);
    },
  };
}

export type KeyWrites = ReturnType<typeof keyWrites>;
