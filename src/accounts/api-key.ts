/**
 * API keys: 256 random bits, shown once, stored as their SHA-256. The lookup is by hash, so comparing costs
 * the same whatever the guess, and a stolen database holds no usable key.
 */
import { createHash } from 'node:crypto';
import { type Clock, sleep } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Account, Actor, ApiKey, KeyOrigin } from './account.ts';
import { unseenKeyOf } from './first-key.ts';
import type { AccountStore } from './store.ts';

/** `lastUsedAt` is written at most this often per key: it informs, it does not audit. */
const touchPeriodMs = 60_000;
const touchedKeysMax = 10_000;
export const keysPerAccountMax = 100;

/** How long a start waits for the one that made the first key to print it, before it makes another. */
const printingWaitMs = 100;
const printingWaitsMax = 50;

export interface NewAdminKey {
  readonly secret: string;
  /** To be called once the key is printed: until then the next start takes it for lost and makes another. */
  noteShown(): Promise<void>;
}

export interface Credentials {
  /**
   * Makes sure that there is an admin account and that the operator has a key to it: the given one, whose
   * predecessors stop working, or a new one, which is to be shown.
   */
  setUpAdmin(givenKey: string | undefined): Promise<{ account: Account; newKey: NewAdminKey | undefined }>;
  /** The account behind a key; throws `unauthorized` for anything that is not a valid key. */
  authenticate(secret: string): Promise<Actor>;
  createKey(accountId: string, name: string): Promise<{ key: ApiKey; secret: string }>;
  listKeys(accountId: string): Promise<ApiKey[]>;
  revokeKey(accountId: string, keyId: string): Promise<void>;
}

export function createCredentials(store: AccountStore, clock: Clock, random: Random): Credentials {
  const touchedAt = new Map<string, number>();

  const newId = (prefix: string): string => `${prefix}_${Buffer.from(random.bytes(9)).toString('base64url')}`;
  const newKey = (accountId: string, name: string, secret: string, origin: KeyOrigin): ApiKey => ({
    id: newId('key'),
    accountId,
    name,
    origin,
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

  /** Another process made the key: it is about to print it, or ended before it could. */
  const isShownInTime = async (accountId: string, keyId: string): Promise<boolean> => {
    for (let waits = 0; waits < printingWaitsMax; waits += 1) {
      await sleep(clock, printingWaitMs);
      if (unseenKeyOf(await store.listKeys(accountId))?.id !== keyId) return true;
    }
    return false;
  };

  return {
    async setUpAdmin(givenKey) {
      const candidate = { id: newId('acc'), name: 'admin', isAdmin: true, createdAt: clock.now() };
      if (givenKey !== undefined) {
        const key = newKey(candidate.id, 'admin', givenKey, 'setting');
        const { account, keyed } = await store.setUp(candidate, key);
        if (!keyed) await store.adoptKey({ ...key, accountId: account.id });
        return { account, newKey: undefined };
      }
      const secret = newSecret();
      const key = newKey(candidate.id, 'admin', secret, 'unseen');
      let { account, keyed, unseenKeyId } = await store.setUp(candidate, key);
      if (unseenKeyId !== undefined && !(await isShownInTime(account.id, unseenKeyId))) {
        ({ keyed } = await store.setUp(candidate, key, unseenKeyId));
      }
      return { account, newKey: keyed ? { secret, noteShown: () => store.noteSeen(key.id) } : undefined };
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
      const key = newKey(accountId, name, secret, 'issued');
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
