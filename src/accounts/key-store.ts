/** The part of the account store that keeps API keys, by the hashes of their secrets. */
import type { Account, ApiKey } from './account.ts';
import type { ChangeNote } from './change-note.ts';

export interface KeyStore {
  /** From now on the setting's key: valid, whatever it was before; the setting's earlier keys are revoked. */
  adoptKey(key: ApiKey, note: ChangeNote): Promise<void>;
  /** An unseen key was printed and is like any other from now on. */
  noteSeen(keyId: string): Promise<void>;
  /** `full` when the account has `keysPerAccountMax` that work; the oldest of very many dead ones are forgotten. */
  insertKey(key: ApiKey, note: ChangeNote): Promise<'inserted' | 'taken' | 'full'>;
  /** By the secret of now or the one before; whether it still works is for the caller to judge. */
  findByKeyHash(keyHash: string): Promise<{ readonly account: Account; readonly key: ApiKey } | undefined>;
  findKey(keyId: string): Promise<ApiKey | undefined>;
  /** All of them, in the order of their creation: the two bounds below keep them few. */
  listKeys(accountId: string): Promise<ApiKey[]>;
  /**
   * Gives the key another secret; the one it had works until `previousUntil`, and the sessions that it opened end:
   * whoever rotates a secret because others have it means them too. Undefined for a revoked key.
   */
  rotateKey(rotation: KeyRotation, note: ChangeNote): Promise<ApiKey | undefined>;
  /** False when the account has no such unrevoked key. */
  revokeKey(accountId: string, keyId: string, note: ChangeNote): Promise<boolean>;
  touchKey(keyId: string, at: number): Promise<void>;
}

export interface KeyRotation {
  readonly accountId: string;
  readonly keyId: string;
  readonly keyHash: string;
  readonly previousUntil: number;
  /** The session that asks for it, which goes on; null when none does. */
  readonly exceptSessionId: string | null;
}

/** Of those that work. */
export const keysPerAccountMax = 100;
/** Revoked and expired keys that are still listed. */
export const deadKeysMax = 100;

export const isDead = ({ revokedAt, expiresAt }: ApiKey, now: number): boolean =>
  revokedAt !== null || (expiresAt !== null && expiresAt <= now);
