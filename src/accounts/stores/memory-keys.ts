/** The keys of the memory store. */
import type { Account, ApiKey } from '../account.ts';
import { type ChangeNote, type KeepRecord, keyRecord } from '../change-note.ts';
import { deadKeysMax, isDead, type KeyStore, keysPerAccountMax } from '../key-store.ts';

export interface MemoryKeys extends KeyStore {
  keysOf(accountId: string): ApiKey[];
  removeKey(keyId: string): void;
}

export function createMemoryKeys(
  keep: KeepRecord,
  findAccount: (id: string) => Account | undefined,
): MemoryKeys {
  /** In the order of their creation. */
  const keys = new Map<string, ApiKey>();
  const byHash = (keyHash: string): ApiKey | undefined =>
    [...keys.values()].find(key => key.keyHash === keyHash);
  const keysOf = (accountId: string): ApiKey[] =>
    [...keys.values()].filter(key => key.accountId === accountId);
  const unrevoked = (accountId: string, keyId: string): ApiKey | undefined => {
    const key = keys.get(keyId);
    return key?.accountId === accountId && key.revokedAt === null ? key : undefined;
  };
  const write = (note: ChangeNote, before: ApiKey | undefined, after: ApiKey): void => {
    keys.set(after.id, after);
    keep(keyRecord(note, before, after));
  };

  return {
    keysOf,
    removeKey: keyId => void keys.delete(keyId),
    async adoptKey(key, note) {
      for (const earlier of keysOf(key.accountId)) {
        if (earlier.origin !== 'setting' || earlier.revokedAt !== null) continue;
        if (earlier.keyHash !== key.keyHash) write(note, earlier, { ...earlier, revokedAt: note.at });
      }
      const known = byHash(key.keyHash);
      if (known === undefined) {
        for (const rotated of [...keys.values()].filter(each => each.previousHash === key.keyHash)) {
          keys.set(rotated.id, { ...rotated, previousHash: null, previousUntil: null });
        }
        return write(note, undefined, key);
      }
      const { accountId, scopes } = key;
      const after: ApiKey = {
        ...known,
        accountId,
        scopes,
        origin: 'setting',
        expiresAt: null,
        revokedAt: null,
      };
      if (JSON.stringify(after) !== JSON.stringify(known)) write(note, known, after);
    },
    async noteSeen(keyId) {
      const key = keys.get(keyId);
      if (key?.origin === 'unseen') keys.set(keyId, { ...key, origin: 'issued' });
    },
    async insertKey(key, note) {
      const existing = keysOf(key.accountId);
      const dead = existing.filter(each => isDead(each, note.at));
      if (existing.length - dead.length >= keysPerAccountMax) return 'full';
      if (byHash(key.keyHash) !== undefined) return 'taken';
      for (const { id } of dead.slice(0, Math.max(0, dead.length - deadKeysMax))) keys.delete(id);
      write(note, undefined, key);
      return 'inserted';
    },
    async findByKeyHash(keyHash) {
      const key = [...keys.values()].find(each => [each.keyHash, each.previousHash].includes(keyHash));
      const account = key && findAccount(key.accountId);
      return account && { account, key };
    },
    findKey: async keyId => keys.get(keyId),
    listKeys: async accountId => keysOf(accountId),
    async rotateKey({ accountId, keyId, keyHash, previousUntil }, note) {
      const before = unrevoked(accountId, keyId);
      if (before === undefined) return undefined;
      const after: ApiKey = { ...before, keyHash, previousHash: before.keyHash, previousUntil };
      write(note, before, after);
      return after;
    },
    async revokeKey(accountId, keyId, note) {
      const key = unrevoked(accountId, keyId);
      if (key !== undefined) write(note, key, { ...key, revokedAt: note.at });
      return key !== undefined;
    },
    async touchKey(keyId, at) {
      const key = keys.get(keyId);
      if (key !== undefined) keys.set(keyId, { ...key, lastUsedAt: at });
    },
  };
}
