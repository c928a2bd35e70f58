import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Account, ApiKey } from './account.ts';
import { fakeNote } from './fake-actors.ts';
import { fakeAccountStore } from './fake-store.ts';
import { type KnownKeys, knownKeys } from './known-keys.ts';
import type { AccountStore } from './store.ts';

describe('a known key', () => {
  const account: Account = {
    id: 'acc_1',
    name: 'one',
    role: 'member',
    plan: 'free',
    email: null,
    passwordHash: null,
    createdAt: 1,
    suspendedAt: null,
  };
  const key: ApiKey = {
    id: 'key_1',
    accountId: account.id,
    name: 'one',
    origin: 'issued',
    scopes: ['links:write'],
    keyHash: 'hash',
    previousHash: null,
    previousUntil: null,
    createdAt: 1,
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
  };
  let clock: ManualClock;
  let engine: AccountStore;
  let known: KnownKeys;
  let isDown: boolean;
  let isFailing: boolean;
  let asked: number;
  let proof: { sinceMs: number; untilMs: number };
  let announced: string[];

  beforeEach(async () => {
    clock = new ManualClock(1_000);
    engine = fakeAccountStore();
    for (const id of ['acc_1', 'acc_2']) await engine.insertAccount({ ...account, id }, fakeNote({}));
    await engine.insertKey(key, fakeNote({}));
    [isDown, isFailing, asked, announced] = [false, false, 0, []];
    proof = { sinceMs: 0, untilMs: Number.POSITIVE_INFINITY };
    known = knownKeys(
      {
        ...engine,
        async findByKeyHash(keyHash) {
          asked += 1;
          if (isDown) throw new Problem('store_unavailable');
          return engine.findByKeyHash(keyHash);
        },
      },
      {
        clock,
        health: {
          get isFailing() {
            return isFailing;
          },
          watch: read => read(),
        },
        proof: () => proof,
        announce: async change => {
          announced.push(change);
          known.forget(change);
        },
      },
    );
    await known.store.findByKeyHash('hash');
  });
  const find = async (keyHash = 'hash') => (await known.store.findByKeyHash(keyHash))?.key.id;

  test('is read from the engine each time while that answers', async () => {
    expect(await find()).toBe('key_1');
    expect(asked).toBe(2);
    await engine.revokeKey('acc_1', 'key_1', fakeNote({}));
    expect((await known.store.findByKeyHash('hash'))?.key.revokedAt).not.toBeNull();
  });

  test('is recognised while the engine is down, without waiting for it once that is known', async () => {
    isDown = true;
    expect(await find()).toBe('key_1');
    expect(asked).toBe(2);
    isFailing = true;
    expect(await find()).toBe('key_1');
    expect(asked).toBe(2);
    expect(known.figures.usedCopies).toBe(2);
  });

  test('that was never seen is not recognised, and not rejected either', async () => {
    isDown = true;
    await expect(find('other')).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('is not trusted when an announcement may have been missed since it was read', async () => {
    isDown = true;
    proof = { sinceMs: 1_000, untilMs: Number.POSITIVE_INFINITY };
    await expect(find()).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('is read again in the background after an announcement may have been missed', async () => {
    known.start();
    clock.advance(500);
    proof = { sinceMs: clock.monotonicMs(), untilMs: Number.POSITIVE_INFINITY };
    clock.advance(1_000);
    await yieldToEventLoop();
    expect(asked).toBe(2);
    clock.advance(1_000);
    expect(asked).toBe(2);
    isDown = true;
    expect(await find()).toBe('key_1');
  });

  test('is not trusted when the channel has had no heartbeat for two seconds', async () => {
    isDown = true;
    proof = { sinceMs: 0, untilMs: 1_000 };
    clock.advance(2_000);
    expect(await find()).toBe('key_1');
    clock.advance(1);
    await expect(find()).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test.each([
    [
      'rotated',
      'key:key_1',
      () => {
        const rotation = { accountId: 'acc_1', keyId: 'key_1', keyHash: 'new', previousUntil: 0 };
        return known.store.rotateKey({ ...rotation, exceptSessionId: null }, fakeNote({}));
      },
    ],
    [
      'suspended with its account',
      'account:acc_1',
      () => known.store.changeAccount('acc_1', { suspendedAt: 5 }, fakeNote({})),
    ],
    [
      'replaced by the setting',
      'account:acc_1',
      () => known.store.adoptKey({ ...key, id: 'key_9', keyHash: 'new', origin: 'setting' }, fakeNote({})),
    ],
    [
      'made the setting’s key of another account',
      'account:acc_2 key:key_1',
      () => known.store.adoptKey({ ...key, accountId: 'acc_2', origin: 'setting' }, fakeNote({})),
    ],
  ])('that is %s is announced and forgotten', async (_what, changes, make) => {
    await make();
    expect(announced.join(' ')).toBe(changes);
    isDown = true;
    await expect(find()).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('that is revoked is remembered as revoked, and another of its account is still recognised', async () => {
    await engine.insertKey({ ...key, id: 'key_2', keyHash: 'other' }, fakeNote({}));
    await find('other');
    await known.store.revokeKey('acc_1', 'key_1', fakeNote({}));
    expect(announced).toEqual(['revoked:key_1']);
    isDown = true;
    expect((await known.store.findByKeyHash('hash'))?.key.revokedAt).toBe(clock.now());
    expect((await known.store.findByKeyHash('other'))?.key.revokedAt).toBeNull();
  });

  test('is announced even when its change may have been applied, or was applied before', async () => {
    isDown = true;
    const doubtful = knownKeys(
      {
        ...engine,
        revokeKey: () => Promise.reject(new Problem('store_unavailable')),
        changeAccount: () => Promise.reject(new Problem('store_unavailable')),
      },
      {
        clock,
        health: { isFailing: false, watch: read => read() },
        proof: () => proof,
        announce: async change => void announced.push(change),
      },
    ).store;
    await expect(doubtful.revokeKey('acc_1', 'key_1', fakeNote({}))).rejects.toThrow();
    await expect(doubtful.changeAccount('acc_1', {}, fakeNote({}))).rejects.toThrow();
    await engine.revokeKey('acc_1', 'key_1', fakeNote({}));
    expect(await known.store.revokeKey('acc_1', 'key_1', fakeNote({}))).toBe(false);
    expect(announced).toEqual(['key:key_1', 'account:acc_1', 'key:key_1']);
    await expect(find()).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('is not cached from a read that began before it changed', async () => {
    const held = Promise.withResolvers<void>();
    const slow = knownKeys(
      {
        ...engine,
        async findByKeyHash(keyHash) {
          const found = await engine.findByKeyHash(keyHash);
          await held.promise;
          if (isDown) throw new Problem('store_unavailable');
          return found;
        },
      },
      {
        clock,
        health: { isFailing: false, watch: read => read() },
        proof: () => proof,
        announce: async () => {},
      },
    );
    const early = slow.store.findByKeyHash('hash');
    slow.forget('account:acc_1');
    held.resolve();
    await early;
    isDown = true;
    await expect(slow.store.findByKeyHash('hash')).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});
