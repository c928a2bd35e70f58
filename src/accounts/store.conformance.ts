/** What an account store promises, as tests; every driver runs them against its real engine. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Account, ApiKey } from './account.ts';
import type { AccountStore } from './store.ts';

export interface AccountStoreHarness {
  readonly store: AccountStore;
  readonly dispose: () => Promise<void>;
}

const account = (id: string): Account => ({ id, name: id, isAdmin: true, createdAt: 1_000 });
const key = (id: string, overrides: Partial<ApiKey> = {}): ApiKey => ({
  id,
  accountId: 'acc_1',
  name: `name of ${id}`,
  keyHash: `hash of ${id}`,
  createdAt: 1_000,
  lastUsedAt: null,
  revokedAt: null,
  ...overrides,
});

export function accountStoreConformance(name: string, open: () => Promise<AccountStoreHarness>): void {
  describe(`account store: ${name}`, () => {
    let harness: AccountStoreHarness;
    let store: AccountStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
      await store.setUp(account('acc_1'));
    });
    afterEach(() => harness.dispose());

    test('the first account is set up once, however many try', async () => {
      const attempts = await Promise.all(
        Array.from({ length: 8 }, (_, n) => store.setUp(account(`late_${n}`))),
      );
      expect(attempts.every(({ created }) => !created)).toBe(true);
      expect(new Set(attempts.map(attempt => attempt.account.id))).toEqual(new Set(['acc_1']));
    });

    test('a key is found by its hash, with its account', async () => {
      expect(await store.insertKey(key('key_1'))).toBe(true);
      expect(await store.findByKeyHash('hash of key_1')).toEqual({
        account: account('acc_1'),
        key: key('key_1'),
      });
      expect(await store.findByKeyHash('hash of key_2')).toBeUndefined();
    });

    test('the same hash is stored once', async () => {
      await store.insertKey(key('key_1'));
      expect(await store.insertKey(key('key_2', { keyHash: 'hash of key_1' }))).toBe(false);
      expect((await store.listKeys('acc_1')).map(({ id }) => id)).toEqual(['key_1']);
    });

    test('revoking works once, and only for the account’s own keys', async () => {
      await store.insertKey(key('key_1'));
      expect(await store.revokeKey('acc_2', 'key_1', 2_000)).toBe(false);
      expect(await store.revokeKey('acc_1', 'key_1', 2_000)).toBe(true);
      expect(await store.revokeKey('acc_1', 'key_1', 3_000)).toBe(false);
      expect((await store.findByKeyHash('hash of key_1'))?.key.revokedAt).toBe(2_000);
    });

    test('use is noted', async () => {
      await store.insertKey(key('key_1'));
      await store.touchKey('key_1', 5_000);
      expect((await store.listKeys('acc_1'))[0]?.lastUsedAt).toBe(5_000);
    });
  });
}
