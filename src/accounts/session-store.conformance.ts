/** What an account store promises about sessions. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { ruleTestOn } from '../../test/kit/record-engines.ts';
import { fakeAccount, fakeKey, fakeNote } from './fake-actors.ts';
import { type Session, sessionsPerAccountMax } from './session-store.ts';
import type { AccountStoreHarness } from './store.conformance.ts';
import type { AccountStore } from './store.ts';

const note = fakeNote();
export const fakeSession = (id: string, overrides: Partial<Session> = {}): Session => ({
  id,
  accountId: 'acc_1',
  tokenHash: `hash of ${id}`,
  keyId: null,
  userAgent: 'Mozilla/5.0',
  createdAt: 1_000,
  lastSeenAt: 1_000,
  expiresAt: 100_000,
  ...overrides,
});

export function sessionStoreConformance(name: string, open: () => Promise<AccountStoreHarness>): void {
  const ruleTest = ruleTestOn(name);
  describe(`sessions of the account store: ${name}`, () => {
    let harness: AccountStoreHarness;
    let store: AccountStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
      for (const id of ['acc_1', 'acc_2']) await store.insertAccount(fakeAccount(id), note);
    });
    afterEach(() => harness.dispose());

    const insert = (id: string, overrides: Partial<Session> = {}) =>
      store.insertSession(fakeSession(id, overrides), hashOf(overrides.keyId), note);
    const hashOf = (keyId?: string | null): string | null => (keyId == null ? null : `hash of ${keyId}`);
    const idsOf = async (accountId = 'acc_1'): Promise<string[]> =>
      (await store.listSessions(accountId)).map(({ id }) => id);

    ruleTest('a key that is rotated ends the sessions it opened, except the requesting one', async () => {
      for (const id of ['key_1', 'key_2']) await store.insertKey(fakeKey(id, 'acc_1'), note);
      await insert('with a password');
      await insert('of another key', { keyId: 'key_2' });
      await insert('asking', { keyId: 'key_1' });
      await insert('stolen', { keyId: 'key_1' });
      const rotation = { accountId: 'acc_1', keyId: 'key_1', keyHash: 'new', previousUntil: 5_000 };
      await store.rotateKey({ ...rotation, exceptSessionId: 'asking' }, note);
      expect((await idsOf()).sort()).toEqual(['asking', 'of another key', 'with a password']);
      await store.rotateKey({ ...rotation, keyHash: 'newer', exceptSessionId: null }, note);
      expect((await idsOf()).sort()).toEqual(['of another key', 'with a password']);
    });

    ruleTest('a session that one rotation has ended is not revived by its own', async () => {
      await store.insertKey(fakeKey('key_1', 'acc_1'), note);
      for (const id of ['first', 'second']) await insert(id, { keyId: 'key_1' });
      const rotation = { accountId: 'acc_1', keyId: 'key_1', previousUntil: 5_000 };
      await store.rotateKey({ ...rotation, keyHash: 'new', exceptSessionId: 'first' }, note);
      await store.rotateKey({ ...rotation, keyHash: 'newer', exceptSessionId: 'second' }, note);
      expect(await idsOf()).toEqual([]);
      expect(await store.findSession('hash of second')).toBeUndefined();
    });

    test('a session is found by the hash of its token, with its account and the key that opened it', async () => {
      await insert('ses_1');
      const account = fakeAccount('acc_1');
      expect(await store.findSession('hash of ses_1')).toEqual({
        session: fakeSession('ses_1'),
        account,
        key: undefined,
      });
      const key = fakeKey('key_1', 'acc_1');
      await store.insertKey(key, note);
      await insert('ses_2', { keyId: 'key_1' });
      expect(await store.findSession('hash of ses_2')).toEqual({
        session: fakeSession('ses_2', { keyId: 'key_1' }),
        account,
        key,
      });
      expect(await store.findSession('hash of ses_3')).toBeUndefined();
    });

    ruleTest('a session is opened only while what was verified for it is still the secret', async () => {
      await store.insertAccount(fakeAccount('acc_3', { passwordHash: 'password' }), note);
      const key = fakeKey('key_3', 'acc_3', { previousHash: 'previous', previousUntil: 1_001 });
      await store.insertKey(key, note);
      const opens = (verifiedHash: string | null, keyId: string | null = null) =>
        store.insertSession(fakeSession('ses_3', { accountId: 'acc_3', keyId }), verifiedHash, note);
      for (const other of ['earlier', null]) expect(await opens(other)).toBe(false);
      for (const other of ['earlier', 'password', null]) expect(await opens(other, 'key_3')).toBe(false);
      expect(await opens('hash of key_3', 'gone')).toBe(false);
      expect(await idsOf('acc_3')).toEqual([]);
      expect(await opens('password')).toBe(true);
      await store.endSession('acc_3', 'ses_3', note);
      expect(await opens('previous', 'key_3')).toBe(true);
    });

    test('sessions are listed by account, the newest first', async () => {
      await insert('old', { createdAt: 1_000 });
      await insert('new', { createdAt: 3_000 });
      await insert('between', { createdAt: 2_000 });
      await insert('foreign', { accountId: 'acc_2' });
      expect(await idsOf()).toEqual(['new', 'between', 'old']);
      expect(await idsOf('acc_2')).toEqual(['foreign']);
    });

    ruleTest('a session ends once, and only for its own account', async () => {
      await insert('ses_1');
      expect(await store.endSession('acc_2', 'ses_1', note)).toBe(false);
      expect(await store.endSession('acc_1', 'ses_1', note)).toBe(true);
      expect(await store.endSession('acc_1', 'ses_1', note)).toBe(false);
      expect(await store.findSession('hash of ses_1')).toBeUndefined();
    });

    ruleTest('last-seen times are recorded and never go back', async () => {
      await insert('ses_1');
      await store.touchSession('hash of ses_1', 9_000);
      await store.touchSession('hash of ses_1', 8_000);
      expect((await store.findSession('hash of ses_1'))?.session.lastSeenAt).toBe(9_000);
    });

    ruleTest('past the limit of an account the least recently seen session ends', async () => {
      for (let n = 0; n < sessionsPerAccountMax; n += 1) await insert(`ses_${n}`, { lastSeenAt: 1_000 + n });
      await store.touchSession('hash of ses_0', 50_000);
      await insert('one more', { lastSeenAt: 60_000 });
      expect(await idsOf()).toHaveLength(sessionsPerAccountMax);
      expect(await idsOf()).toContain('ses_0');
      expect(await idsOf()).not.toContain('ses_1');
    });

    ruleTest('expired sessions make room for the next', async () => {
      await insert('over', { expiresAt: 2_000 });
      await store.insertSession(fakeSession('next'), null, fakeNote({ at: 2_000 }));
      expect(await idsOf()).toEqual(['next']);
    });

    test('a change of the account ends its sessions if it says so: all, or all but one', async () => {
      const change = (endSessions: 'all' | { except: string | null } | undefined) =>
        store.changeAccount('acc_1', { name: 'x', endSessions }, note);
      for (const id of ['ses_1', 'ses_2', 'ses_3']) await insert(id);
      await insert('foreign', { accountId: 'acc_2' });
      await change(undefined);
      expect(await idsOf()).toHaveLength(3);
      await change({ except: 'ses_2' });
      expect(await idsOf()).toEqual(['ses_2']);
      await change({ except: null });
      expect(await idsOf()).toEqual([]);
      await insert('ses_4');
      await change('all');
      expect(await idsOf()).toEqual([]);
      expect(await idsOf('acc_2')).toEqual(['foreign']);
    });

    ruleTest('accepting an invitation ends all earlier sessions', async () => {
      await insert('ses_1');
      await store.invite({ accountId: 'acc_1', tokenHash: 'token', expiresAt: 9_000 }, note);
      expect(await idsOf()).toEqual(['ses_1']);
      await store.acceptInvitation('token', 'password', note);
      expect(await idsOf()).toEqual([]);
    });

    ruleTest('opening and ending are in the audit log of the account, without the token', async () => {
      const before = (await harness.trail()).length;
      await store.insertSession(fakeSession('ses_1'), null, fakeNote({ action: 'opened' }));
      await store.endSession('acc_2', 'ses_1', fakeNote({ action: 'refused' }));
      await store.endSession('acc_1', 'ses_1', fakeNote({ action: 'ended' }));
      const trail = (await harness.trail()).slice(before);
      const subject = { kind: 'account', id: 'acc_1' };
      expect(trail).toMatchObject([
        { action: 'opened', subject, after: { sessionId: 'ses_1' } },
        { action: 'ended', subject, after: { sessionId: 'ses_1' } },
      ]);
      expect(JSON.stringify(trail)).not.toContain('hash');
    });
  });
}
