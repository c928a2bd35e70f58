import { beforeEach, describe, expect, test } from 'bun:test';
import { until } from '../../test/kit/until.ts';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { type ApiKey, scopes } from './account.ts';
import { type Credentials, createCredentials } from './api-key.ts';
import { fakeAccount, fakeKey, fakeNote } from './fake-actors.ts';
import { fakeAccountStore } from './fake-store.ts';
import { hashSecret } from './secrets.ts';
import type { AccountStore } from './store.ts';

describe('credentials', () => {
  let clock: ManualClock;
  let store: AccountStore;
  let credentials: Credentials;
  let touched: Promise<void> | undefined;
  /** Also waits until the use of the key is recorded. */
  const authenticate = async (secret: string) => {
    const actor = await credentials.authenticate(secret);
    await touched;
    return actor;
  };
  beforeEach(() => {
    clock = new ManualClock();
    const engine = fakeAccountStore();
    store = { ...engine, touchKey: (...touch) => (touched = engine.touchKey(...touch)) };
    credentials = createCredentials(store, clock, seededRandom(1));
  });

  const keyWith = (secret: string, accountId: string, overrides: Partial<ApiKey> = {}): ApiKey =>
    fakeKey(`key of ${secret}`, accountId, { keyHash: hashSecret(secret), ...overrides });
  const expectRefused = (secret: string) =>
    expect(authenticate(secret)).rejects.toMatchObject({
      code: 'unauthorized',
      detail: 'This API key is not valid.',
    });

  test('the first start makes the admin and a key that works; the next start makes neither', async () => {
    const first = await credentials.setUpAdmin(undefined);
    expect(first.newKey?.secret).toMatch(/^terse_[\w-]{43}$/);
    await first.newKey?.noteShown();
    expect(await authenticate(first.newKey!.secret)).toMatchObject({
      accountId: first.account.id,
      isAdmin: true,
    });
    const second = await credentials.setUpAdmin(undefined);
    expect(second).toEqual({ account: first.account, newKey: undefined });
  });

  test('a key given by the operator works at every start and is not printed', async () => {
    for (let start = 0; start < 2; start += 1) {
      expect((await credentials.setUpAdmin('operators-own-key')).newKey).toBeUndefined();
      expect((await authenticate('operators-own-key')).kind).toBe('account');
    }
  });

  test('requests that come together share a read, but not one that began before a revocation', async () => {
    const account = fakeAccount('acc_1');
    const key = keyWith('shared', account.id);
    await store.setUp(account, key, fakeNote());
    const reads: (() => void)[] = [];
    const slow = {
      ...store,
      async findByKeyHash(keyHash: string) {
        const found = await store.findByKeyHash(keyHash);
        await new Promise<void>(resolve => reads.push(resolve));
        return found;
      },
    };
    credentials = createCredentials(slow, clock, seededRandom(1));
    const before = authenticate('shared');
    await until('the first read', () => reads.length >= 1);
    await store.revokeKey(account.id, key.id, fakeNote());
    const after = Array.from({ length: 10 }, () => authenticate('shared').catch(error => error.code));
    reads[0]!();
    expect(await before).toMatchObject({ accountId: account.id });
    await until('the second read', () => reads.length >= 2);
    reads[1]!();
    expect(new Set(await Promise.all(after))).toEqual(new Set(['unauthorized']));
    expect(reads).toHaveLength(2);
  });

  test('a key that is revoked between two requests of one turn is not valid for the second', async () => {
    const account = fakeAccount('acc_1');
    const key = keyWith('shared', account.id);
    await store.setUp(account, key, fakeNote());
    let reads = 0;
    let hasTurnEnded = false;
    const counting = {
      ...store,
      findByKeyHash(keyHash: string) {
        reads += 1;
        return store.findByKeyHash(keyHash);
      },
    };
    credentials = createCredentials(counting, clock, seededRandom(1));
    setImmediate(() => {
      hasTurnEnded = true;
    });
    const first = authenticate('shared').catch(error => error.code);
    await store.revokeKey(account.id, key.id, fakeNote());
    expect(hasTurnEnded).toBe(false);
    const second = authenticate('shared').catch(error => error.code);
    expect(await Promise.all([first, second])).toEqual(['unauthorized', 'unauthorized']);
    expect(reads).toBe(1);
  });

  /** Advances time until the work is done. */
  async function inTime<Result>(work: Promise<Result>): Promise<Result> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    work.then(settle, settle);
    while (!settled) {
      await yieldToEventLoop();
      clock.advance(50);
    }
    return work;
  }

  test('a first key that was never shown is replaced by one that is', async () => {
    const lost = await credentials.setUpAdmin(undefined);
    const next = await inTime(credentials.setUpAdmin(undefined));
    expect(next.account).toEqual(lost.account);
    await expectRefused(lost.newKey!.secret);
    expect((await authenticate(next.newKey!.secret)).kind).toBe('account');
  });

  test('a start waits for another to print the first key, and then prints none', async () => {
    const first = await credentials.setUpAdmin(undefined);
    const second = credentials.setUpAdmin(undefined);
    await yieldToEventLoop();
    clock.advance(1_000);
    await first.newKey?.noteShown();
    expect((await inTime(second)).newKey).toBeUndefined();
    expect((await authenticate(first.newKey!.secret)).kind).toBe('account');
  });

  test('a new key of the operator replaces the old one, and the old one can be given again', async () => {
    const { account } = await credentials.setUpAdmin('the-first-key');
    await store.insertKey(keyWith('issued', account.id), fakeNote());
    for (const [given, before] of [
      ['the-second-key', 'the-first-key'],
      ['the-first-key', 'the-second-key'],
    ] as const) {
      await credentials.setUpAdmin(given);
      expect((await authenticate(given)).kind).toBe('account');
      await expectRefused(before);
      expect((await authenticate('issued')).kind).toBe('account');
    }
    await credentials.setUpAdmin(undefined);
    expect((await authenticate('the-first-key')).kind).toBe('account');
  });

  test('only the hash of a key is kept', async () => {
    const { account, newKey } = await credentials.setUpAdmin(undefined);
    const stored = JSON.stringify(await store.listKeys(account.id));
    expect(stored).toContain(hashSecret(newKey!.secret));
    expect(stored).not.toContain(newKey!.secret.slice(6));
  });

  test('a wrong key, a revoked key and one that has expired are rejected alike', async () => {
    await store.insertAccount(fakeAccount('acc_1'), fakeNote());
    await store.insertKey(keyWith('revoked', 'acc_1', { revokedAt: 1 }), fakeNote());
    await store.insertKey(keyWith('expiring', 'acc_1', { expiresAt: clock.now() + 1_000 }), fakeNote());
    clock.advance(999);
    expect((await authenticate('expiring')).kind).toBe('account');
    clock.advance(1);
    for (const bad of ['revoked', 'expiring', 'terse_wrong', '']) await expectRefused(bad);
  });

  test('the secret before a rotation works until the given time, and the new one keeps working', async () => {
    await store.insertAccount(fakeAccount('acc_1'), fakeNote());
    await store.insertKey(keyWith('old', 'acc_1'), fakeNote());
    const rotation = { accountId: 'acc_1', keyId: 'key of old', keyHash: hashSecret('new') };
    const previousUntil = clock.now() + 1_000;
    await store.rotateKey({ ...rotation, previousUntil, exceptSessionId: null }, fakeNote());
    clock.advance(999);
    for (const secret of ['old', 'new']) {
      expect(await authenticate(secret)).toMatchObject({ keyId: 'key of old' });
    }
    clock.advance(1);
    await expectRefused('old');
    expect(await authenticate('new')).toMatchObject({ keyId: 'key of old' });
  });

  test('a key of a suspended account is rejected for as long as it is suspended', async () => {
    await store.insertAccount(fakeAccount('acc_1', { suspendedAt: 1 }), fakeNote());
    await store.insertKey(keyWith('secret', 'acc_1'), fakeNote());
    await expect(authenticate('secret')).rejects.toMatchObject({ code: 'account_suspended' });
    await store.changeAccount('acc_1', { suspendedAt: null }, fakeNote());
    expect((await authenticate('secret')).kind).toBe('account');
  });

  test.each([
    ['member', scopes, ['links:read', 'links:write', 'stats:read'], false],
    ['moderator', scopes, ['links:read', 'links:write', 'stats:read', 'moderate'], false],
    ['moderator', ['links:read', 'moderate', 'admin'], ['links:read', 'moderate'], false],
    ['admin', scopes, scopes, true],
    ['admin', ['links:write'], ['links:write'], false],
    ['admin', [], [], false],
  ] as const)('a key of a %s with %j may do %j', async (role, given, allowed, isAdmin) => {
    await store.insertAccount(fakeAccount('acc_1', { role, plan: 'pro' }), fakeNote());
    await store.insertKey(keyWith('secret', 'acc_1', { scopes: given }), fakeNote());
    expect(await authenticate('secret')).toEqual({
      kind: 'account',
      accountId: 'acc_1',
      isAdmin,
      plan: 'pro',
      scopes: new Set(allowed),
      keyId: 'key of secret',
      sessionId: null,
    });
  });

  test('use is recorded, but not on every request', async () => {
    const { account, newKey } = await credentials.setUpAdmin(undefined);
    const lastUsed = async () => (await store.listKeys(account.id))[0]?.lastUsedAt;
    const first = clock.now();
    await authenticate(newKey!.secret);
    clock.advance(1_000);
    await authenticate(newKey!.secret);
    expect(await lastUsed()).toBe(first);
    clock.advance(60_000);
    await authenticate(newKey!.secret);
    expect(await lastUsed()).toBe(clock.now());
  });
});
