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
    expect(first.newKey?.secret).toMatch(/^terse_[\w-]{43}$/);
    await first.newKey?.noteShown();
    expect(await credentials.authenticate(first.newKey!.secret)).toMatchObject({
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

  /** Lets time pass until the work is done. */
  async function inTime<Result>(work: Promise<Result>): Promise<Result> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    work.then(settle, settle);
    while (!settled) {
      await Bun.sleep(0);
      clock.advance(50);
    }
    return work;
  }

  test('a first key that was never shown is replaced by one that is', async () => {
    const lost = await credentials.setUpAdmin(undefined);
    const next = await inTime(credentials.setUpAdmin(undefined));
    expect(next.account).toEqual(lost.account);
    await expect(credentials.authenticate(lost.newKey!.secret)).rejects.toMatchObject({
      code: 'unauthorized',
    });
    expect((await credentials.authenticate(next.newKey!.secret)).kind).toBe('account');
  });

  test('a start waits for another to show the first key, and then shows none', async () => {
    const first = await credentials.setUpAdmin(undefined);
    const second = credentials.setUpAdmin(undefined);
    await Bun.sleep(0);
    clock.advance(1_000);
    await first.newKey?.noteShown();
    expect((await inTime(second)).newKey).toBeUndefined();
    expect((await credentials.authenticate(first.newKey!.secret)).kind).toBe('account');
  });

  test('a new key of the operator takes the place of the old one, and the old one can be given again', async () => {
    const { account } = await credentials.setUpAdmin('the-first-key');
    const issued = await credentials.createKey(account.id, 'ci');
    for (const [given, before] of [
      ['the-second-key', 'the-first-key'],
      ['the-first-key', 'the-second-key'],
    ] as const) {
      await credentials.setUpAdmin(given);
      expect((await credentials.authenticate(given)).kind).toBe('account');
      await expect(credentials.authenticate(before)).rejects.toMatchObject({ code: 'unauthorized' });
      expect((await credentials.authenticate(issued.secret)).kind).toBe('account');
    }
    await credentials.setUpAdmin(undefined);
    expect((await credentials.authenticate('the-first-key')).kind).toBe('account');
  });

  test('only the hash of a key is kept', async () => {
    const { account, newKey } = await credentials.setUpAdmin(undefined);
    const stored = JSON.stringify(await store.listKeys(account.id));
    expect(stored).toContain(hashKey(newKey!.secret));
    expect(stored).not.toContain(newKey!.secret.slice(6));
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
    await credentials.authenticate(newKey!.secret);
    clock.advance(1_000);
    await credentials.authenticate(newKey!.secret);
    expect(await lastUsed()).toBe(first);
    clock.advance(60_000);
    await credentials.authenticate(newKey!.secret);
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
