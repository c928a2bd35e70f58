/**
 * What an account store promises to concurrent processes: every read-then-write is atomic, even when another process
 * does the same. Part of the suite in store.conformance.ts.
 */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Account } from './account.ts';
import { fakeAccount, fakeKey, fakeNote } from './fake-actors.ts';
import { keysPerAccountMax } from './key-store.ts';
import { fakeSession } from './session-store.conformance.ts';
import { sessionsPerAccountMax } from './session-store.ts';
import type { AccountStoreHarness } from './store.conformance.ts';
import type { AccountStore } from './store.ts';

const processes = 3;
/** Races are tried this many times. */
const rounds = 4;
const note = fakeNote();
const admin = (id: string, overrides: Partial<Account> = {}): Account =>
  fakeAccount(id, { role: 'admin', ...overrides });

export function sharedAccountsConformance(current: () => AccountStoreHarness): void {
  describe('several processes at once', () => {
    let stores: AccountStore[];
    let store: AccountStore;
    beforeEach(async () => {
      const { store: first, reopen } = current();
      stores = [first];
      while (stores.length < processes) stores.push(await reopen());
      store = first;
    });
    /** `count` calls, spread over all processes and made concurrently. */
    const atOnce = <T>(count: number, call: (store: AccountStore, n: number) => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: count }, (_, n) => call(stores[n % processes]!, n)));
    const recorded = async (action: string): Promise<number> =>
      (await current().trail()).filter(record => record.action === action).length;

    test('see at once what one of them has changed', async () => {
      const [one, other] = stores as [AccountStore, AccountStore];
      await one.insertAccount(fakeAccount('acc_1'), note);
      await one.insertKey(fakeKey('key_1', 'acc_1'), note);
      expect((await other.findByKeyHash('hash of key_1'))?.account.suspendedAt).toBeNull();
      await other.revokeKey('acc_1', 'key_1', fakeNote({ at: 2_000 }));
      await other.changeAccount('acc_1', { suspendedAt: 3_000 }, note);
      expect(await one.findByKeyHash('hash of key_1')).toMatchObject({
        account: { suspendedAt: 3_000 },
        key: { revokedAt: 2_000 },
      });
    });

    test('set up one first account with one key', async () => {
      const outcomes = await atOnce(9, (each, n) =>
        each.setUp(admin(`acc_${n}`), fakeKey(`key_${n}`, 'none', { origin: 'unseen' }), note),
      );
      expect(outcomes.filter(({ keyed }) => keyed)).toHaveLength(1);
      const [account, ...others] = new Set(outcomes.map(outcome => outcome.account.id));
      expect(others).toEqual([]);
      expect(await store.listKeys(account!)).toHaveLength(1);
      expect((await store.listAccounts({ limit: 10, cursor: undefined })).accounts).toHaveLength(1);
    });

    test('leave one admin, however many give it up', async () => {
      const ids = ['acc_0', 'acc_1', 'acc_2'];
      for (const id of ids) await store.insertAccount(admin(id), note);
      const givingUp = [
        { role: 'member' },
        { suspendedAt: 1 },
        { role: 'moderator', suspendedAt: 1 },
      ] as const;
      for (let round = 0; round < rounds; round += 1) {
        const kinds = await atOnce(ids.length, async (each, n) => {
          return (await each.changeAccount(ids[n]!, givingUp[n]!, note)).kind;
        });
        expect(kinds.sort()).toEqual(['changed', 'changed', 'last_admin']);
        for (const id of ids) await store.changeAccount(id, { role: 'admin', suspendedAt: null }, note);
      }
    });

    test('give an e-mail address to one account, whether it is new or changed', async () => {
      await store.insertAccount(fakeAccount('known'), note);
      for (let round = 0; round < rounds; round += 1) {
        const email = `${round}@example.com`;
        const given = await atOnce(3, async (each, n) => {
          if (n > 0) return each.insertAccount(fakeAccount(`new_${round}_${n}`, { email }), note);
          return (await each.changeAccount('known', { email }, note)).kind === 'changed';
        });
        expect(given.filter(Boolean)).toHaveLength(1);
      }
    });

    test('respect the maximum number of keys of an account', async () => {
      await store.insertAccount(fakeAccount('acc_1'), note);
      const room = 4;
      for (let n = 0; n < keysPerAccountMax - room; n += 1)
        await store.insertKey(fakeKey(`early_${n}`, 'acc_1'), note);
      const outcomes = await atOnce(12, (each, n) => each.insertKey(fakeKey(`late_${n}`, 'acc_1'), note));
      expect(outcomes.filter(outcome => outcome === 'inserted')).toHaveLength(room);
      expect(await store.listKeys('acc_1')).toHaveLength(keysPerAccountMax);
    });

    test('respect the maximum number of sessions of an account', async () => {
      await store.insertAccount(fakeAccount('acc_1'), note);
      for (let n = 0; n < sessionsPerAccountMax - 4; n += 1)
        await store.insertSession(fakeSession(`early_${n}`), null, note);
      await atOnce(12, (each, n) => each.insertSession(fakeSession(`late_${n}`), null, note));
      expect(await store.listSessions('acc_1')).toHaveLength(sessionsPerAccountMax);
    });

    test('use an invitation once', async () => {
      await store.insertAccount(fakeAccount('acc_1'), note);
      for (let round = 0; round < rounds; round += 1) {
        const tokenHash = `token ${round}`;
        await store.invite({ accountId: 'acc_1', tokenHash, expiresAt: 9_000 }, note);
        const accepted = await atOnce(3, (each, n) =>
          each.acceptInvitation(tokenHash, `password of ${n}`, fakeNote({ action: `accepted ${round}` })),
        );
        const [account, ...others] = accepted.filter(each => each !== undefined);
        expect(others).toEqual([]);
        expect(await store.findAccount('acc_1')).toEqual(account!);
        expect(await recorded(`accepted ${round}`)).toBe(1);
      }
    });

    test('rotate a key one after the other, and revoke it once', async () => {
      await store.insertAccount(fakeAccount('acc_1'), note);
      await store.insertKey(fakeKey('key_1', 'acc_1'), note);
      const rotation = { accountId: 'acc_1', keyId: 'key_1', previousUntil: 5_000, exceptSessionId: null };
      const rotated = await atOnce(6, (each, n) =>
        each.rotateKey({ ...rotation, keyHash: `hash ${n}` }, note),
      );
      const hashes = rotated.map(key => key?.keyHash);
      const before = rotated.map(key => key?.previousHash);
      expect(hashes.toSorted()).toEqual(['hash 0', 'hash 1', 'hash 2', 'hash 3', 'hash 4', 'hash 5']);
      // Each replaced another secret: one the first, and none the last.
      expect(new Set(before).size).toBe(6);
      const [last] = hashes.filter(hash => !before.includes(hash));
      expect((await store.findKey('key_1'))?.keyHash).toBe(last!);
      const revoked = await atOnce(6, each =>
        each.revokeKey('acc_1', 'key_1', fakeNote({ action: 'revoked' })),
      );
      expect(revoked.filter(Boolean)).toHaveLength(1);
      expect(await recorded('revoked')).toBe(1);
    });

    test('adopt one key for one secret, and the last of several', async () => {
      await store.insertAccount(admin('acc_1'), note);
      const adopt = (each: AccountStore, id: string, keyHash: string) =>
        each.adoptKey(fakeKey(id, 'acc_1', { origin: 'setting', keyHash }), note);
      await atOnce(6, (each, n) => adopt(each, `same_${n}`, 'the secret'));
      expect(await store.listKeys('acc_1')).toHaveLength(1);
      await atOnce(6, (each, n) => adopt(each, `other_${n}`, `secret ${n}`));
      const valid = (await store.listKeys('acc_1')).filter(({ revokedAt }) => revokedAt === null);
      expect(valid).toHaveLength(1);
    });
  });
}
