/**
 * Resolves an API key to its account, and creates the first key. While the store answers, each request gets the key's
 * record from a read that began after the request arrived, so a key that is revoked, rotated or suspended with its
 * account is rejected at once in every process (known-keys.ts says what happens while the store is down). A thousand
 * requests with the same key may share a read, and what follows from it.
 */
import { type Clock, sleep } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { SharedReads } from '../base/shared-reads.ts';
import {
  type Account,
  type Actor,
  type ApiKey,
  actorOf,
  type KeyOrigin,
  refuseSuspended,
  scopes,
} from './account.ts';
import { noteOf } from './change-note.ts';
import { opens, unseenKeyOf } from './key-store.ts';
import { hashSecret, newId, newSecret } from './secrets.ts';
import type { AccountStore } from './store.ts';

/** `lastUsedAt` is written at most this often per key: it informs, it does not audit. */
const touchPeriodMs = 60_000;
const touchedKeysMax = 10_000;

/** How long a start waits for the process that made the first key to print it, before it makes another. */
const printingWaitMs = 100;
const printingWaitsMax = 50;

export interface NewAdminKey {
  readonly secret: string;
  /** Call it once the operator can read the key: until then the next start treats it as lost and makes another. */
  noteShown(): Promise<void>;
}

export interface Credentials {
  /**
   * Makes sure that there is an admin account and that the operator has a key to it: the given one, whose predecessors
   * stop working, or a new one, which has to be shown.
   */
  setUpAdmin(givenKey: string | undefined): Promise<{ account: Account; newKey: NewAdminKey | undefined }>;
  /** The account behind a key; throws `unauthorized` for anything that is not a valid key. */
  authenticate(secret: string): Promise<Actor>;
}

export function createCredentials(store: AccountStore, clock: Clock, random: Random): Credentials {
  const touchedAt = new Map<string, number>();
  const keyReads = new SharedReads(async keyHash => {
    const found = await store.findByKeyHash(keyHash);
    return found && { ...found, actor: actorOf(found.account, found) };
  });

  const adminKey = (accountId: string, secret: string, origin: KeyOrigin): ApiKey => ({
    id: newId(random, 'key'),
    accountId,
    name: 'admin',
    origin,
    scopes,
    keyHash: hashSecret(secret),
    previousHash: null,
    previousUntil: null,
    createdAt: clock.now(),
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
  });

  const noteUse = (key: ApiKey): void => {
    const now = clock.now();
    if (now - (touchedAt.get(key.id) ?? key.lastUsedAt ?? 0) < touchPeriodMs) return;
    if (touchedAt.size >= touchedKeysMax) touchedAt.clear();
    touchedAt.set(key.id, now);
    // The request does not wait for this, and a failure to record it must not fail the request.
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
      const candidate: Account = {
        id: newId(random, 'acc'),
        name: 'admin',
        role: 'admin',
        plan: 'unlimited',
        email: null,
        passwordHash: null,
        createdAt: clock.now(),
        suspendedAt: null,
      };
      const note = noteOf(clock, 'system', 'installation.setUp');
      if (givenKey !== undefined) {
        const key = adminKey(candidate.id, givenKey, 'setting');
        const { account, keyed } = await store.setUp(candidate, key, note);
        const adoption = noteOf(clock, 'system', 'key.adopted');
        if (!keyed) await store.adoptKey({ ...key, accountId: account.id }, adoption);
        return { account, newKey: undefined };
      }
      const secret = newSecret(random, 'terse');
      const key = adminKey(candidate.id, secret, 'unseen');
      let { account, keyed, unseenKeyId } = await store.setUp(candidate, key, note);
      if (unseenKeyId !== undefined && !(await isShownInTime(account.id, unseenKeyId))) {
        ({ keyed } = await store.setUp(candidate, key, note, unseenKeyId));
      }
      return { account, newKey: keyed ? { secret, noteShown: () => store.noteSeen(key.id) } : undefined };
    },

    authenticate(secret) {
      const keyHash = hashSecret(secret);
      return keyReads.read(keyHash).then(found => {
        if (found === undefined || !opens(found.key, keyHash, clock.now())) {
          throw new Problem('unauthorized', { detail: 'This API key is not valid.' });
        }
        refuseSuspended(found.account);
        noteUse(found.key);
        return found.actor;
      });
    },
  };
}
