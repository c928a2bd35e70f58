import type { Account, ApiKey } from './account.ts';

/** Where accounts and keys live; `store.conformance.ts` is the meaning of this file. */
export interface AccountStore {
  /**
   * Creates the first account if there is none, atomically: of many processes starting at once exactly one
   * creates it, the others get the existing account.
   */
  setUp(candidate: Account): Promise<{ readonly account: Account; readonly created: boolean }>;
  /** False when a key with this hash exists already. */
  insertKey(key: ApiKey): Promise<boolean>;
  findByKeyHash(keyHash: string): Promise<{ readonly account: Account; readonly key: ApiKey } | undefined>;
  listKeys(accountId: string): Promise<ApiKey[]>;
  /** False when the account has no such unrevoked key. */
  revokeKey(accountId: string, keyId: string, at: number): Promise<boolean>;
  touchKey(keyId: string, at: number): Promise<void>;
}
