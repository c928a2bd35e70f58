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
  origin: 'issued',
  createdAt: 1_000,
  lastUsedAt: null,
  revokedAt: null,
  ...overrides,
});

/** As a start makes it that was given none. */
const firstKey = (id: string): ApiKey => key(id, { accountId: 'replaced by the account', origin: 'unseen' });
const settingKey = (id: string, createdAt = 1_000): ApiKey => key(id, { origin: 'setting', createdAt });

export function accountStoreConformance(name: string, open: () => Promise<AccountStoreHarness>): void {
  describe(`account store: ${name}`, () => {
    let harness: AccountStoreHarness;
    let store: AccountStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
      await store.setUp(account('acc_1'), firstKey('key_0'));
      await store.noteSeen('key_0');
    });
    afterEach(() => harness.dispose());

    const keyIds = async (): Promise<string[]> => (await store.listKeys('acc_1')).map(({ id }) => id).sort();
    const isValid = async (id: string): Promise<boolean> =>
      (await store.findByKeyHash(`hash of ${id}`))?.key.revokedAt === null;

    test('the first account is set up once and with one key, however many try', async () => {
      const fresh = await open();
      const attempts = await Promise.all(
        Array.from({ length: 8 }, (_, n) => fresh.store.setUp(account(`acc_${n}`), firstKey(`key_${n}`))),
      );
      const [maker, ...others] = attempts.filter(({ keyed }) => keyed);
      expect(others).toEqual([]);
      expect(new Set(attempts.map(attempt => attempt.account.id))).toEqual(new Set([maker!.account.id]));
      const [made, ...more] = await fresh.store.listKeys(maker!.account.id);
      expect(more).toEqual([]);
      expect(made).toMatchObject({ accountId: maker!.account.id, origin: 'unseen' });
      expect(new Set(attempts.map(attempt => attempt.unseenKeyId))).toEqual(new Set([undefined, made!.id]));
      await fresh.dispose();
    });

    test('an account that can be opened gets no other key', async () => {
      const again = { account: account('acc_1'), keyed: false, unseenKeyId: undefined };
      expect(await store.setUp(account('acc_2'), firstKey('key_9'))).toEqual(again);
      expect(await store.setUp(account('acc_2'), firstKey('key_9'), 'key_0')).toEqual(again);
      await store.revokeKey('acc_1', 'key_0', 2_000);
      expect(await store.setUp(account('acc_2'), firstKey('key_9'), 'key_0')).toEqual(again);
      expect(await keyIds()).toEqual(['key_0']);
    });

    test('a first key that nobody has seen gives way to another, once it is named', async () => {
      const fresh = await open();
      const setUp = (id: string, abandoned?: string) =>
        fresh.store.setUp(account('acc_1'), firstKey(id), abandoned);
      await setUp('key_1');
      const inDoubt = { account: account('acc_1'), keyed: false, unseenKeyId: 'key_1' };
      expect(await setUp('key_2')).toEqual(inDoubt);
      expect(await setUp('key_2', 'another')).toEqual(inDoubt);
      const replacements = await Promise.all([setUp('key_2', 'key_1'), setUp('key_3', 'key_1')]);
      expect(replacements.filter(({ keyed }) => keyed)).toHaveLength(1);
      expect(await fresh.store.findByKeyHash('hash of key_1')).toBeUndefined();
      const [left, ...more] = await fresh.store.listKeys('acc_1');
      expect(more).toEqual([]);
      await fresh.store.touchKey(left!.id, 2_000);
      expect(await setUp('key_4', left!.id)).toMatchObject({ keyed: false, unseenKeyId: undefined });
      await fresh.dispose();
    });

    test('the key of the setting takes the place of the one before and of no other', async () => {
      await store.insertKey(key('issued'));
      await store.adoptKey(settingKey('old'));
      await store.adoptKey(settingKey('new', 5_000));
      expect((await store.findByKeyHash('hash of old'))?.key.revokedAt).toBe(5_000);
      for (const id of ['new', 'issued', 'key_0']) expect(await isValid(id)).toBe(true);
      await store.adoptKey(settingKey('same', 6_000));
      await store.adoptKey({ ...settingKey('again', 7_000), keyHash: 'hash of same' });
      expect(await isValid('same')).toBe(true);
      expect(await keyIds()).toEqual(['issued', 'key_0', 'new', 'old', 'same']);
    });

    test('a revoked key is valid again when the setting names it', async () => {
      await store.insertKey(key('issued'));
      await store.revokeKey('acc_1', 'issued', 2_000);
      await store.adoptKey({ ...settingKey('other id', 3_000), keyHash: 'hash of issued' });
      expect((await store.findByKeyHash('hash of issued'))?.key).toMatchObject({
        id: 'issued',
        origin: 'setting',
        revokedAt: null,
      });
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
      expect(await keyIds()).toEqual(['key_0', 'key_1']);
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
      expect((await store.findByKeyHash('hash of key_1'))?.key.lastUsedAt).toBe(5_000);
    });
  });
}
