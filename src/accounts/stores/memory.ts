/** Accounts and keys in memory, for tests and for trying Terse out. */
import type { Account, ApiKey } from '../account.ts';
import { unseenKeyOf } from '../first-key.ts';
import type { AccountStore } from '../store.ts';

export function createMemoryAccountStore(): AccountStore {
  const accounts = new Map<string, Account>();
  const keys = new Map<string, ApiKey>();
  const keysOf = (accountId: string): ApiKey[] =>
    [...keys.values()].filter(key => key.accountId === accountId);
  return {
    async setUp(candidate, key, abandonedKeyId) {
      const [account = candidate] = accounts.values();
      accounts.set(account.id, account);
      const existing = keysOf(account.id);
      const unseen = unseenKeyOf(existing);
      if (existing.length > 0 && (unseen === undefined || unseen.id !== abandonedKeyId)) {
        return { account, keyed: false, unseenKeyId: unseen?.id };
      }
      if (unseen !== undefined) keys.delete(unseen.id);
      keys.set(key.id, { ...key, accountId: account.id });
      return { account, keyed: true, unseenKeyId: undefined };
    },
    async adoptKey(key) {
      for (const earlier of keysOf(key.accountId)) {
        if (earlier.origin !== 'setting' || earlier.revokedAt !== null) continue;
        keys.set(earlier.id, { ...earlier, revokedAt: key.createdAt });
      }
      const known = [...keys.values()].find(({ keyHash }) => keyHash === key.keyHash) ?? key;
      keys.set(known.id, { ...known, accountId: key.accountId, origin: 'setting', revokedAt: null });
    },
    async noteSeen(keyId) {
      const key = keys.get(keyId);
      if (key?.origin === 'unseen') keys.set(keyId, { ...key, origin: 'issued' });
    },
    async insertKey(key) {
      if ([...keys.values()].some(({ keyHash }) => keyHash === key.keyHash)) return false;
      keys.set(key.id, key);
      return true;
    },
    async findByKeyHash(keyHash) {
      const key = [...keys.values()].find(candidate => candidate.keyHash === keyHash);
      const account = key && accounts.get(key.accountId);
      return key && account ? { account, key } : undefined;
    },
    listKeys: async accountId => keysOf(accountId),
    async revokeKey(accountId, keyId, at) {
      const key = keys.get(keyId);
      if (key === undefined || key.accountId !== accountId || key.revokedAt !== null) return false;
      keys.set(keyId, { ...key, revokedAt: at });
      return true;
    },
    async touchKey(keyId, at) {
      const key = keys.get(keyId);
      if (key !== undefined) keys.set(keyId, { ...key, lastUsedAt: at });
    },
  };
}
