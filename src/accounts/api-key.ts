/**
 * API keys: 256 random bits, shown once, stored as their SHA-256. The lookup is by hash, so comparing costs
 * the same whatever the guess, and a stolen database holds no usable key.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Account, Actor, ApiKey } from './account.ts';
import type { AccountStore } from './store.ts';

/** `lastUsedAt` is written at most this often per key: it informs, it does not audit. */
const touchPeriodMs = 60_000;
const touchedKeysMax = 10_000;
export const keysPerAccountMax = 100;

export interface Credentials {
  setUpAdmin(givenKey: string | undefined): Promise<{ account: Account; newKey: string | undefined }>;
  /** The account behind a key; throws `unauthorized` for anything that is not a valid key. */
  authenticate(secret: string): Promise<Actor>;
  createKey(accountId: string, name: string): Promise<{ key: ApiKey; secret: string }>;
  listKeys(accountId: string): Promise<ApiKey[]>;
  revokeKey(accountId: string, keyId: string): Promise<void>;
}

export function createCredentials(store: AccountStore, clock: Clock, random: Random): Credentials {
  const touchedAt = new Map<string, number>();

  const newId = (prefix: string): string => `${prefix}_${Buffer.from(random.bytes(9)).toString('base64url')}`;
  const newKey = (accountId: string, name: string, secret: string): ApiKey => ({
    id: newId('key'),
    accountId,
    name,
    keyHash: hashKey(secret),
    createdAt: clock.now(),
    lastUsedAt: null,
    revokedAt: null,
  });
  const newSecret = (): string => `terse_${Buffer.from(random.bytes(32)).toString('base64url')}`;

  const noteUse = (key: ApiKey): void => {
    const now = clock.now();
    if (now - (touchedAt.get(key.id) ?? key.lastUsedAt ?? 0) < touchPeriodMs) return;
    if (touchedAt.size >= touchedKeysMax) touchedAt.clear();
    touchedAt.set(key.id, now);
    // The request does not wait for this, and a failure to note it must not fail the request.
    store.touchKey(key.id, now).catch(() => touchedAt.delete(key.id));
  };

  return {
    async setUpAdmin(givenKey) {
      const { account, created } = await store.setUp({
        id: newId('acc'),
        name: 'admin',
        isAdmin: true,
        createdAt: clock.now(),
      });
      const secret = givenKey ?? (created ? newSecret() : undefined);
      if (secret !== undefined) await store.insertKey(newKey(account.id, 'admin', secret));
      return { account, newKey: givenKey === undefined ? secret : undefined };
    },

    async authenticate(secret) {
      const found = await store.findByKeyHash(hashKey(secret));
      if (found === undefined || found.key.revokedAt !== null) {
        throw new Problem('unauthorized', { detail: 'This API key is not valid.' });
      }
      noteUse(found.key);
      return {
        kind: 'account',
        accountId: found.account.id,
        isAdmin: found.account.isAdmin,
        keyId: found.key.id,
      };
    },

    async createKey(accountId, name) {
      if (
        (await store.listKeys(accountId)).filter(key => key.revokedAt === null).length >= keysPerAccountMax
      ) {
        throw new Problem('forbidden', {
          detail: `An account has at most ${keysPerAccountMax} keys; revoke one first.`,
        });
      }
      const secret = newSecret();
      const key = newKey(accountId, name, secret);
      await store.insertKey(key);
      return { key, secret };
    },

    listKeys: accountId => store.listKeys(accountId),

    async revokeKey(accountId, keyId) {
      if (!(await store.revokeKey(accountId, keyId, clock.now()))) {
        throw new Problem('not_found', { detail: 'There is no such key.' });
      }
    },
  };
}

export function hashKey(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
