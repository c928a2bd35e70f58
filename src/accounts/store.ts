import type { Account, ApiKey } from './account.ts';

/** Where accounts and keys live; `store.conformance.ts` is the meaning of this file. */
export interface AccountStore {
  /**
   * Creates the first account with its first key, in one step: of many processes starting at once exactly one
   * does, the others get the existing account. Also an account without any key gets this one, and one whose only
   * key is the unseen and unused `abandonedKeyId`, which is removed.
   */
  setUp(candidate: Account, key: ApiKey, abandonedKeyId?: string): Promise<SetUp>;
  /** From now on the setting's key: valid, whatever it was before; the setting's earlier keys are revoked. */
  adoptKey(key: ApiKey): Promise<void>;
  /** An unseen key was printed and is like any other from now on. */
  noteSeen(keyId: string): Promise<void>;
  /** False when a key with this hash exists already. */
  insertKey(key: ApiKey): Promise<boolean>;
  findByKeyHash(keyHash: string): Promise<{ readonly account: Account; readonly key: ApiKey } | undefined>;
  listKeys(accountId: string): Promise<ApiKey[]>;
  /** False when the account has no such unrevoked key. */
  revokeKey(accountId: string, keyId: string, at: number): Promise<boolean>;
  touchKey(keyId: string, at: number): Promise<void>;
}

export interface SetUp {
  readonly account: Account;
  /** Whether the account was given the key. */
  readonly keyed: boolean;
  /** The account's only key when nobody is known to have seen or used it. */
  readonly unseenKeyId: string | undefined;
}
