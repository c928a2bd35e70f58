/** What an account store promises about keys. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { ruleTestOn } from '../../test/kit/record-engines.ts';
import { inParallel } from '../base/in-parallel.ts';
import type { ApiKey } from './account.ts';
import { fakeAccount, fakeKey, fakeNote } from './fake-actors.ts';
import { deadKeysMax, keysPerAccountMax } from './key-store.ts';
import { fakeSession } from './session-store.conformance.ts';
import type { AccountStoreHarness } from './store.conformance.ts';
import type { AccountStore } from './store.ts';

const note = fakeNote();
const key = (id: string, overrides: Partial<ApiKey> = {}): ApiKey => fakeKey(id, 'acc_1', overrides);
const settingKey = (id: string, createdAt = 1_000): ApiKey => key(id, { origin: 'setting', createdAt });

export function keyStoreConformance(name: string, open: () => Promise<AccountStoreHarness>): void {
  const ruleTest = ruleTestOn(name);
  describe(`keys of the account store: ${name}`, () => {
    let harness: AccountStoreHarness;
    let store: AccountStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
      await store.insertAccount(fakeAccount('acc_1'), note);
      await store.insertKey(key('key_0'), note);
    });
    afterEach(() => harness.dispose());

    const keyIds = async (): Promise<string[]> => (await store.listKeys('acc_1')).map(({ id }) => id).sort();
    const isValid = async (id: string): Promise<boolean> =>
      (await store.findByKeyHash(`hash of ${id}`))?.key.revokedAt === null;
    const adopt = (adopted: ApiKey) => store.adoptKey(adopted, fakeNote({ at: adopted.createdAt }));
    const revoke = (accountId: string, keyId: string, at: number) =>
      store.revokeKey(accountId, keyId, fakeNote({ at, action: 'revoked' }));
    const rotate = (keyId: string, keyHash: string, previousUntil: number) =>
      store.rotateKey(
        { accountId: 'acc_1', keyId, keyHash, previousUntil, exceptSessionId: null },
        fakeNote({ action: 'rotated' }),
      );

    test('a key is found by its hash, with its account, and by its id', async () => {
      const made = key('key_1', {
        scopes: ['links:read', 'stats:read'],
        expiresAt: 9_000,
        lastUsedAt: 2_000,
      });
      expect(await store.insertKey(made, note)).toBe('inserted');
      expect(await store.findByKeyHash('hash of key_1')).toEqual({
        account: fakeAccount('acc_1'),
        key: made,
      });
      expect(await store.findByKeyHash('hash of key_2')).toBeUndefined();
      expect(await store.findKey('key_1')).toEqual(made);
      expect(await store.findKey('key_2')).toBeUndefined();
    });

    ruleTest('the same hash is stored once', async () => {
      await store.insertKey(key('key_1'), note);
      expect(await store.insertKey(key('key_2', { keyHash: 'hash of key_1' }), note)).toBe('taken');
      expect(await keyIds()).toEqual(['key_0', 'key_1']);
    });

    ruleTest('an account has a limited number of working keys, however many are made at once', async () => {
      for (const dead of [key('revoked', { revokedAt: 1 }), key('expired', { expiresAt: note.at })]) {
        await store.insertKey(dead, note);
      }
      const outcomes = await Promise.all(
        Array.from({ length: keysPerAccountMax + 5 }, (_, n) => store.insertKey(key(`many_${n}`), note)),
      );
      expect(outcomes.filter(outcome => outcome === 'inserted')).toHaveLength(keysPerAccountMax - 1);
      expect(outcomes.filter(outcome => outcome === 'full')).toHaveLength(6);
      await revoke('acc_1', 'key_0', 2_000);
      expect(await store.insertKey(key('one more'), note)).toBe('inserted');
    });

    ruleTest('of very many dead keys the oldest are deleted', async () => {
      const excess = 3;
      // Not all at the same time: a store may reject more than it can queue.
      await inParallel(deadKeysMax + excess, 20, async n => {
        await store.insertKey(key(`dead_${n}`, { createdAt: 2_000 + n, revokedAt: 1 }), note);
      });
      await store.insertKey(key('newest', { createdAt: 9_000 }), note);
      const left = await keyIds();
      expect(left).toHaveLength(deadKeysMax + 2);
      expect(left).toContain('key_0');
      expect(left).not.toContain('dead_0');
      expect(left).not.toContain(`dead_${excess - 1}`);
      expect(left).toContain(`dead_${excess}`);
    });

    ruleTest('revoking works once, and only for the account’s own keys', async () => {
      await store.insertKey(key('key_1'), note);
      expect(await revoke('acc_2', 'key_1', 2_000)).toBe(false);
      expect(await revoke('acc_1', 'key_1', 2_000)).toBe(true);
      expect(await revoke('acc_1', 'key_1', 3_000)).toBe(false);
      expect((await store.findByKeyHash('hash of key_1'))?.key.revokedAt).toBe(2_000);
    });

    ruleTest('use is recorded', async () => {
      await store.touchKey('key_0', 5_000);
      expect((await store.findByKeyHash('hash of key_0'))?.key.lastUsedAt).toBe(5_000);
    });

    test('a rotated key is found by its new secret and the one before, and by no earlier one', async () => {
      const rotated = await rotate('key_0', 'second', 5_000);
      expect(rotated).toEqual(
        key('key_0', { keyHash: 'second', previousHash: 'hash of key_0', previousUntil: 5_000 }),
      );
      for (const hash of ['second', 'hash of key_0']) {
        expect((await store.findByKeyHash(hash))?.key).toEqual(rotated);
      }
      await rotate('key_0', 'third', 6_000);
      expect(await store.findByKeyHash('hash of key_0')).toBeUndefined();
      expect((await store.findByKeyHash('second'))?.key.previousUntil).toBe(6_000);
      expect(await keyIds()).toEqual(['key_0']);
    });

    ruleTest('a revoked key or another account’s key is not rotated', async () => {
      await revoke('acc_1', 'key_0', 2_000);
      expect(await rotate('key_0', 'new', 5_000)).toBeUndefined();
      expect(await rotate('key_9', 'new', 5_000)).toBeUndefined();
      await store.insertKey(key('key_1'), note);
      const foreign = { accountId: 'acc_2', keyId: 'key_1', keyHash: 'new', previousUntil: 5_000 };
      expect(await store.rotateKey({ ...foreign, exceptSessionId: null }, note)).toBeUndefined();
      expect(await store.findByKeyHash('new')).toBeUndefined();
    });

    ruleTest('the key of the setting replaces the previous one and no other', async () => {
      await store.insertKey(key('issued'), note);
      await adopt(settingKey('old'));
      await adopt(settingKey('new', 5_000));
      expect((await store.findByKeyHash('hash of old'))?.key.revokedAt).toBe(5_000);
      for (const id of ['new', 'issued', 'key_0']) expect(await isValid(id)).toBe(true);
      await adopt(settingKey('same', 6_000));
      await adopt({ ...settingKey('again', 7_000), keyHash: 'hash of same' });
      expect(await isValid('same')).toBe(true);
      expect(await keyIds()).toEqual(['issued', 'key_0', 'new', 'old', 'same']);
    });

    ruleTest(
      'a key that was revoked, narrowed or has expired is fully valid again when the setting names it',
      async () => {
        await store.insertKey(key('issued', { scopes: ['links:read'], expiresAt: 1_500 }), note);
        await revoke('acc_1', 'issued', 2_000);
        await adopt({ ...settingKey('other id', 3_000), keyHash: 'hash of issued' });
        expect((await store.findByKeyHash('hash of issued'))?.key).toEqual({
          ...settingKey('issued'),
          keyHash: 'hash of issued',
        });
      },
    );

    ruleTest(
      'a key of another account becomes the setting’s, fully valid and with both of its secrets',
      async () => {
        await store.insertAccount(fakeAccount('acc_2'), note);
        await store.insertSession(fakeSession('ses_1', { keyId: 'key_0' }), 'hash of key_0', note);
        await rotate('key_0', 'second', 9_000);
        await store.insertSession(fakeSession('ses_2', { keyId: 'key_0' }), 'second', note);
        await adopt({ ...settingKey('other id'), accountId: 'acc_2', keyHash: 'second' });
        expect(await keyIds()).toEqual([]);
        expect((await store.listKeys('acc_2')).map(({ id }) => id)).toEqual(['key_0']);
        for (const hash of ['second', 'hash of key_0']) {
          expect(await store.findByKeyHash(hash)).toMatchObject({
            account: { id: 'acc_2' },
            key: { id: 'key_0', accountId: 'acc_2', origin: 'setting', previousHash: 'hash of key_0' },
          });
        }
        expect(await store.findKey('key_0')).toMatchObject({ accountId: 'acc_2' });
        expect((await store.findSession('hash of ses_2'))?.key?.accountId).toBe('acc_2');
        expect(await revoke('acc_1', 'key_0', 2_000)).toBe(false);
        expect(await revoke('acc_2', 'key_0', 2_000)).toBe(true);
      },
    );

    ruleTest('a rotated secret opens only the setting’s key once the setting names it', async () => {
      await rotate('key_0', 'second', 9_000);
      await adopt({ ...settingKey('adopted'), keyHash: 'hash of key_0' });
      expect((await store.findByKeyHash('hash of key_0'))?.key.id).toBe('adopted');
      expect((await store.findByKeyHash('second'))?.key).toMatchObject({ id: 'key_0', previousHash: null });
    });

    ruleTest('the setting’s key ends with its new secret when the setting names the one before', async () => {
      await adopt(settingKey('first'));
      await rotate('first', 'second', 9_000);
      const before = (await harness.trail()).length;
      await adopt({ ...settingKey('again', 5_000), keyHash: 'hash of first' });
      expect((await store.findByKeyHash('hash of first'))?.key).toMatchObject({
        id: 'again',
        revokedAt: null,
      });
      expect((await store.findByKeyHash('second'))?.key).toMatchObject({
        id: 'first',
        previousHash: null,
        previousUntil: null,
        revokedAt: 5_000,
      });
      const trail = (await harness.trail()).slice(before);
      expect(trail).toHaveLength(2);
      const ended = trail.find(({ subject }) => subject.id === 'first');
      expect(ended).toMatchObject({ before: { revokedAt: null }, after: { revokedAt: 5_000 } });
      await adopt({ ...settingKey('once more', 6_000), keyHash: 'hash of first' });
      expect(await keyIds()).toEqual(['again', 'first', 'key_0']);
    });

    ruleTest('each change is in the audit log, without a secret, and rejected changes are not', async () => {
      const before = (await harness.trail()).length;
      await store.insertKey(key('key_1'), fakeNote({ action: 'made' }));
      await store.insertKey(key('key_2', { keyHash: 'hash of key_1' }), fakeNote({ action: 'refused' }));
      await rotate('key_1', 'new hash', 5_000);
      await revoke('acc_1', 'key_1', 6_000);
      await revoke('acc_1', 'key_1', 7_000);
      await rotate('key_1', 'newer hash', 5_000);
      await adopt(settingKey('adopted'));
      await adopt(settingKey('adopted'));
      const trail = (await harness.trail()).slice(before);
      expect(trail.map(({ action, subject }) => [action, subject.id])).toEqual([
        ['made', 'key_1'],
        ['rotated', 'key_1'],
        ['revoked', 'key_1'],
        [note.action, 'adopted'],
      ]);
      expect(trail[2]).toMatchObject({ before: { revokedAt: null }, after: { revokedAt: 6_000 } });
      expect(JSON.stringify(trail)).not.toContain('hash');
    });
  });
}
