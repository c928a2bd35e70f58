/**
 * An account store whose keys are still recognised while the engine is down. Each lookup asks the engine, so a
 * revocation takes effect everywhere at once; the answer is also cached, and used only while the engine does not answer
 * and the message channel proves that the key has not changed since: every change to an account or its keys is
 * announced there before it is acknowledged. Without such a proof the lookup fails, as it would without a cache.
 */
import type { Clock } from '../base/clock.ts';
import type { Account, ApiKey } from './account.ts';
import type { AccountStore } from './store.ts';

export interface KnownKeysOptions {
  readonly clock: Clock;
  /** Whether the engine answers, as its reads report it. */
  readonly health: { readonly isFailing: boolean; watch<T>(read: () => Promise<T>): Promise<T> };
  /** No announcement was missed between these two moments of the monotonic clock. */
  readonly proof: () => { readonly sinceMs: number; readonly untilMs: number };
  /** Passes the change to `forget` in every process. */
  readonly announce: (change: string) => Promise<void>;
}

export interface KnownKeys {
  readonly store: AccountStore;
  /** An account or a key changed, as passed to `announce`. */
  forget(change: string): void;
  readonly figures: { readonly size: number; readonly usedCopies: number };
  /** Starts to refresh doubtful copies; the returned function stops that. */
  start(): () => void;
}

interface Copy {
  readonly found: { readonly account: Account; readonly key: ApiKey };
  readonly readAtMs: number;
}

const copiesMax = 10_000;
/** How old the channel's proof may be: two heartbeats. */
const proofAgeMaxMs = 2_000;
/** Copies that a missed announcement has made doubtful are refreshed, this many each second. */
const rereadsPerS = 50;

export function knownKeys(store: AccountStore, options: KnownKeysOptions): KnownKeys {
  const { clock, health, proof, announce } = options;
  /** By the hash of the secret, in the order in which they were read. */
  const copies = new Map<string, Copy>();
  let forgotten = 0;
  let usedCopies = 0;

  const provenCopy = (keyHash: string): Copy['found'] | undefined => {
    const copy = copies.get(keyHash);
    const { sinceMs, untilMs } = proof();
    const isProven = copy !== undefined && copy.readAtMs > sinceMs;
    if (!isProven || clock.monotonicMs() - untilMs > proofAgeMaxMs) return undefined;
    usedCopies += 1;
    return copy.found;
  };

  const remember = (keyHash: string, found: Copy['found'] | undefined, readAtMs: number): void => {
    copies.delete(keyHash);
    if (found === undefined) return;
    if (copies.size >= copiesMax) copies.delete(copies.keys().next().value!);
    copies.set(keyHash, { found, readAtMs });
  };

  /** A change names its subject: an account, a key that has to be read again, or one that is revoked. */
  const forget = (change: string): void => {
    forgotten += 1;
    const [kind, id] = change.split(':');
    for (const [keyHash, copy] of copies) {
      const { account, key } = copy.found;
      if (kind === 'account' ? account.id !== id : key.id !== id) continue;
      // Remembered as revoked, so that its user gets that answer and does not retry.
      const revoked = { account, key: { ...key, revokedAt: clock.now() } };
      if (kind === 'revoked') copies.set(keyHash, { ...copy, found: revoked });
      else copies.delete(keyHash);
    }
  };

  const read = async (keyHash: string): Promise<Copy['found'] | undefined> => {
    const readAtMs = clock.monotonicMs();
    const forgottenBefore = forgotten;
    const found = await health.watch(() => store.findByKeyHash(keyHash));
    // A read that overlaps a change may return the state before the change.
    if (forgotten === forgottenBefore) remember(keyHash, found, readAtMs);
    return found;
  };

  const rereadDoubtful = (): void => {
    if (health.isFailing) return;
    const { sinceMs } = proof();
    const doubtful = copies.entries().filter(([, { readAtMs }]) => readAtMs <= sinceMs);
    for (const [keyHash] of [...doubtful.take(rereadsPerS)]) read(keyHash).catch(() => undefined);
  };

  /**
   * Announces a change even if it failed or changed nothing: it may have been applied, now or at an earlier attempt.
   */
  const announced = async <Result>(
    change: () => Promise<Result>,
    announcement: string,
    announcementOf: (result: Result) => string = () => announcement,
  ): Promise<Result> => {
    let words = announcement;
    try {
      const result = await change();
      words = announcementOf(result);
      return result;
    } finally {
      await announce(words);
    }
  };

  return {
    start: () => clock.every(1_000, rereadDoubtful),
    get figures() {
      return { size: copies.size, usedCopies };
    },
    forget,
    store: {
      ...store,
      async findByKeyHash(keyHash) {
        // An engine that hangs would keep each request waiting for its deadline.
        const known = health.isFailing ? provenCopy(keyHash) : undefined;
        if (known !== undefined) return known;
        try {
          return await read(keyHash);
        } catch (error) {
          const copy = provenCopy(keyHash);
          if (copy === undefined) throw error;
          return copy;
        }
      },
      async adoptKey(key, note) {
        const adopt = () => announced(() => store.adoptKey(key, note), `account:${key.accountId}`);
        // The key that has the secret may be another account's until now.
        const holder = await store.findByKeyHash(key.keyHash);
        return holder === undefined ? adopt() : announced(adopt, `key:${holder.key.id}`);
      },
      rotateKey: (rotation, note) =>
        announced(() => store.rotateKey(rotation, note), `key:${rotation.keyId}`),
      revokeKey: (accountId, keyId, note) =>
        announced(
          () => store.revokeKey(accountId, keyId, note),
          `key:${keyId}`,
          isRevoked => (isRevoked ? `revoked:${keyId}` : `key:${keyId}`),
        ),
      changeAccount: (accountId, change, note) =>
        announced(() => store.changeAccount(accountId, change, note), `account:${accountId}`),
    },
  };
}
