import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { type Credentials, createCredentials, hashKey, keysPerAccountMax } from './api-key.ts';
import type { AccountStore } from './store.ts';
import { createMemoryAccountStore } from './stores/memory.ts';

describe('credentials', () => {
  let clock: ManualClock;
  let store: AccountStore;
  let credentials: Credentials;
  beforeEach(() => {
    clock = new ManualClock();
    store = createMemoryAccountStore();
    credentials = createCredentials(store, clock, seededRandom(1));
  });

  test('the first start makes the admin and a key that works; the next start makes neither', async () => {
    const first = await credentials.setUpAdmin(undefined);
    expect(first.newKey).toMatch(/^terse_[\w-]{43}$/);
    expect(await credentials.authenticate(first.newKey!)).toMatchObject({
      accountId: first.account.id,
      isAdmin: true,
    });
    const second = await credentials.setUpAdmin(undefined);
    expect(second).toEqual({ account: first.account, newKey: undefined });
  });

  test('a key given by the operator works at every start and is not shown', async () => {
    for (let start = 0; start < 2; start += 1) {
      expect((await credentials.setUpAdmin('operators-own-key')).newKey).toBeUndefined();
      expect((await credentials.authenticate('operators-own-key')).kind).toBe('account');
    }
  });

  test('only the hash of a key is kept', async () => {
    const { account, newKey } = await credentials.setUpAdmin(undefined);
    const stored = JSON.stringify(await store.listKeys(account.id));
    expect(stored).toContain(hashKey(newKey!));
    expect(stored).not.toContain(newKey!.slice(6));
  });

  test('a wrong key and a revoked key are refused alike', async () => {
    const { account } = await credentials.setUpAdmin(undefined);
    const { key, secret } = await credentials.createKey(account.id, 'ci');
    await credentials.revokeKey(account.id, key.id);
    for (const bad of [secret, 'terse_wrong', '']) {
      await expect(credentials.authenticate(bad)).rejects.toMatchObject({
        code: 'unauthorized',
        detail: 'This API key is not valid.',
      });
    }
    await expect(credentials.revokeKey(account.id, key.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('use is noted, but not on every request', async () => {
    const { account, newKey } = await credentials.setUpAdmin(undefined);
    const lastUsed = async () => (await store.listKeys(account.id))[0]?.lastUsedAt;
    const first = clock.now();
    await credentials.authenticate(newKey!);
    clock.advance(1_000);
    await credentials.authenticate(newKey!);
    expect(await lastUsed()).toBe(first);
    clock.advance(60_000);
    await credentials.authenticate(newKey!);
    expect(await lastUsed()).toBe(clock.now());
  });

  test('an account cannot hoard keys', async () => {
    const { account } = await credentials.setUpAdmin(undefined);
    for (let n = 1; n < keysPerAccountMax; n += 1) await credentials.createKey(account.id, `key ${n}`);
    await expect(credentials.createKey(account.id, 'one too many')).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});
