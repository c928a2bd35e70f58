/** Accounts and keys in memory, for tests and for trying Terse out. */
import type { Account, ApiKey } from '../account.ts';
import type { AccountStore } from '../store.ts';

export function createMemoryAccountStore(): AccountStore {
  const accounts = new Map<string, Account>();
  const keys = new Map<string, ApiKey>();
  return {
    async setUp(candidate) {
      const [existing] = accounts.values();
      if (existing !== undefined) return { account: existing, created: false };
      accounts.set(candidate.id, candidate);
      return { account: candidate, created: true };
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
    listKeys: async accountId => [...keys.values()].filter(key => key.accountId === accountId),
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
