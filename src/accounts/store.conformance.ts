/** The contract of an account store, as tests; every driver runs them against its real engine. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { ruleTestOn } from '../../test/kit/record-engines.ts';
import type { AuditRecord } from '../audit/audit-entry.ts';
import type { Account, ApiKey } from './account.ts';
import { fakeAccount, fakeKey, fakeNote } from './fake-actors.ts';
import { keyStoreConformance } from './key-store.conformance.ts';
import { sessionStoreConformance } from './session-store.conformance.ts';
import type { AccountStore } from './store.ts';
import { sharedAccountsConformance } from './store-shared.conformance.ts';

export interface AccountStoreHarness {
  readonly store: AccountStore;
  /** Another handle to the same accounts, as another process would have; `dispose` closes it too. */
  readonly reopen: () => Promise<AccountStore>;
  /** The whole audit log, oldest first. */
  readonly trail: () => Promise<readonly AuditRecord[]>;
  readonly dispose: () => Promise<void>;
}

const admin = (id: string, overrides: Partial<Account> = {}): Account =>
  fakeAccount(id, { role: 'admin', ...overrides });
/** The key that a first start creates when the operator sets none. */
const firstKey = (id: string): ApiKey => fakeKey(id, 'replaced by the account', { origin: 'unseen' });
const note = fakeNote();

export function accountStoreConformance(name: string, open: () => Promise<AccountStoreHarness>): void {
  const ruleTest = ruleTestOn(name);
  keyStoreConformance(name, open);
  sessionStoreConformance(name, open);

  describe(`account store: ${name}`, () => {
    let harness: AccountStoreHarness;
    let store: AccountStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
    });
    afterEach(() => harness.dispose());

    const setUp = (account: Account, key: ApiKey, abandoned?: string) =>
      store.setUp(account, key, note, abandoned);
    const start = async (): Promise<void> => {
      await setUp(admin('acc_1'), firstKey('key_0'));
      await store.noteSeen('key_0');
    };
    const keyIds = async (accountId: string): Promise<string[]> =>
      (await store.listKeys(accountId)).map(({ id }) => id).sort();

    describe('the first account', () => {
      ruleTest('is set up once and with one key, however many try', async () => {
        const attempts = await Promise.all(
          Array.from({ length: 8 }, (_, n) => setUp(admin(`acc_${n}`), firstKey(`key_${n}`))),
        );
        const [maker, ...others] = attempts.filter(({ keyed }) => keyed);
        expect(others).toEqual([]);
        expect(new Set(attempts.map(attempt => attempt.account.id))).toEqual(new Set([maker!.account.id]));
        const [made, ...more] = await store.listKeys(maker!.account.id);
        expect(more).toEqual([]);
        expect(made).toMatchObject({ accountId: maker!.account.id, origin: 'unseen' });
        expect(new Set(attempts.map(attempt => attempt.unseenKeyId))).toEqual(new Set([undefined, made!.id]));
        expect((await store.listAccounts({ limit: 10, cursor: undefined })).accounts).toHaveLength(1);
      });

      ruleTest('gets no other key once it is accessible', async () => {
        await start();
        const again = { account: admin('acc_1'), keyed: false, unseenKeyId: undefined };
        expect(await setUp(admin('acc_2'), firstKey('key_9'))).toEqual(again);
        expect(await setUp(admin('acc_2'), firstKey('key_9'), 'key_0')).toEqual(again);
        await store.revokeKey('acc_1', 'key_0', fakeNote({ at: 2_000 }));
        expect(await setUp(admin('acc_2'), firstKey('key_9'), 'key_0')).toEqual(again);
        expect(await keyIds('acc_1')).toEqual(['key_0']);
      });

      ruleTest('replaces an unseen first key by another, once it is named', async () => {
        await setUp(admin('acc_1'), firstKey('key_1'));
        const inDoubt = { account: admin('acc_1'), keyed: false, unseenKeyId: 'key_1' };
        expect(await setUp(admin('acc_1'), firstKey('key_2'))).toEqual(inDoubt);
        expect(await setUp(admin('acc_1'), firstKey('key_2'), 'another')).toEqual(inDoubt);
        const replacements = await Promise.all([
          setUp(admin('acc_1'), firstKey('key_2'), 'key_1'),
          setUp(admin('acc_1'), firstKey('key_3'), 'key_1'),
        ]);
        expect(replacements.filter(({ keyed }) => keyed)).toHaveLength(1);
        expect(await store.findByKeyHash('hash of key_1')).toBeUndefined();
        const [left, ...more] = await store.listKeys('acc_1');
        expect(more).toEqual([]);
        await store.touchKey(left!.id, 2_000);
        expect(await setUp(admin('acc_1'), firstKey('key_4'), left!.id)).toMatchObject({
          keyed: false,
          unseenKeyId: undefined,
        });
      });

      ruleTest('is the oldest admin that may act, and not just the oldest account', async () => {
        await store.insertAccount(fakeAccount('member', { createdAt: 1 }), note);
        await store.insertAccount(admin('suspended', { createdAt: 2, suspendedAt: 3 }), note);
        await store.insertAccount(admin('younger', { createdAt: 5 }), note);
        await store.insertAccount(admin('elder', { createdAt: 4 }), note);
        expect(await setUp(admin('new'), firstKey('key_1'))).toMatchObject({
          account: { id: 'elder' },
          keyed: true,
        });
      });

      ruleTest('that has a password is given no key', async () => {
        await store.insertAccount(admin('acc_1', { passwordHash: 'hash' }), note);
        expect(await setUp(admin('new'), firstKey('key_1'))).toMatchObject({ keyed: false });
        expect(await keyIds('acc_1')).toEqual([]);
      });
    });

    describe('an account', () => {
      beforeEach(start);
      const ada = fakeAccount('acc_2', { email: 'ada@example.com', plan: 'pro', createdAt: 2_000 });

      ruleTest('is found by its id and by its e-mail address, with all of its fields', async () => {
        const account = { ...ada, passwordHash: 'some hash', suspendedAt: 3_000, role: 'moderator' } as const;
        expect(await store.insertAccount(account, note)).toBe(true);
        expect(await store.findAccount('acc_2')).toEqual(account);
        expect(await store.findAccountByEmail('ada@example.com')).toEqual(account);
        expect(await store.findAccount('acc_3')).toBeUndefined();
        expect(await store.findAccountByEmail('bob@example.com')).toBeUndefined();
      });

      test('has a unique e-mail address, however many request it at once', async () => {
        const made = await Promise.all(
          Array.from({ length: 8 }, (_, n) => store.insertAccount({ ...ada, id: `acc_${n + 2}` }, note)),
        );
        expect(made.filter(Boolean)).toHaveLength(1);
        const other = fakeAccount('other', { email: 'bob@example.com' });
        await store.insertAccount(other, note);
        expect(await store.changeAccount('other', { email: ada.email }, note)).toEqual({
          kind: 'email_taken',
        });
        expect(await store.findAccount('other')).toEqual(other);
        expect(await store.changeAccount('other', { email: other.email }, note)).toMatchObject({
          kind: 'changed',
        });
      });

      ruleTest('may be one of many without an e-mail address', async () => {
        expect(await store.insertAccount(fakeAccount('acc_8'), note)).toBe(true);
        expect(await store.insertAccount(fakeAccount('acc_9'), note)).toBe(true);
      });

      ruleTest('changes in what is named and keeps the rest', async () => {
        await store.insertAccount(ada, note);
        for (const change of [
          { name: 'Ada L.' },
          { plan: 'verified' },
          { role: 'moderator' },
          { email: null },
          { suspendedAt: 5_000 },
          { suspendedAt: null },
          { passwordHash: 'a hash' },
        ] as const) {
          const before = (await store.findAccount('acc_2'))!;
          const after = { ...before, ...change };
          expect(await store.changeAccount('acc_2', change, note)).toEqual({
            kind: 'changed',
            account: after,
          });
          expect(await store.findAccount('acc_2')).toEqual(after);
        }
        expect(await store.changeAccount('nobody', { name: 'x' }, note)).toEqual({ kind: 'missing' });
      });

      ruleTest('that is the last admin stays one, even when two step down at once', async () => {
        const lose = (id: string) => store.changeAccount(id, { role: 'member' }, note);
        expect(await lose('acc_1')).toEqual({ kind: 'last_admin' });
        expect(await store.changeAccount('acc_1', { suspendedAt: 1 }, note)).toEqual({ kind: 'last_admin' });
        expect(await store.findAccount('acc_1')).toEqual(admin('acc_1'));
        await store.insertAccount(admin('suspended', { suspendedAt: 1 }), note);
        expect(await lose('acc_1')).toEqual({ kind: 'last_admin' });
        await store.insertAccount(admin('acc_2'), note);
        const outcomes = await Promise.all([lose('acc_1'), lose('acc_2')]);
        expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['changed', 'last_admin']);
        expect(await lose('suspended')).toMatchObject({ kind: 'changed' });
      });

      test('is listed once and in the order of creation, page by page', async () => {
        for (const [id, createdAt] of [
          ['c', 3_000],
          ['a', 3_000],
          ['b', 2_000],
          ['d', 3_000],
        ] as const) {
          await store.insertAccount(fakeAccount(id, { createdAt }), note);
        }
        for (const limit of [1, 2, 5, 10]) {
          const ids: string[] = [];
          let cursor: string | undefined;
          do {
            const page = await store.listAccounts({ limit, cursor });
            expect(page.accounts.length).toBeLessThanOrEqual(limit);
            ids.push(...page.accounts.map(({ id }) => id));
            cursor = page.nextCursor;
          } while (cursor !== undefined);
          expect(ids).toEqual(['acc_1', 'b', 'a', 'c', 'd']);
        }
        await expect(store.listAccounts({ limit: 1, cursor: "'; DROP TABLE" })).rejects.toThrow('cursor');
      });

      ruleTest('can be opened with its newest invitation, once', async () => {
        await store.insertAccount(ada, note);
        const invitation = (tokenHash: string) => ({ accountId: 'acc_2', tokenHash, expiresAt: 9_000 });
        expect(await store.invite(invitation('first'), note)).toBe(true);
        expect(await store.invite(invitation('second'), note)).toBe(true);
        expect(await store.invite({ ...invitation('third'), accountId: 'nobody' }, note)).toBe(false);
        expect(await store.findInvitation('first')).toBeUndefined();
        expect(await store.findInvitation('second')).toEqual({
          account: ada,
          invitation: invitation('second'),
        });
        const accepted = await Promise.all(
          ['first', 'second', 'second'].map(token => store.acceptInvitation(token, `by ${token}`, note)),
        );
        expect(accepted.filter(Boolean)).toEqual([{ ...ada, passwordHash: 'by second' }]);
        expect(await store.findInvitation('second')).toBeUndefined();
        expect((await store.findAccount('acc_2'))?.passwordHash).toBe('by second');
      });

      test('leaves each change in the audit log, and none of rejected ones', async () => {
        const before = (await harness.trail()).length;
        const said = (action: string) => fakeNote({ action, at: 7_000, reason: 'why' });
        await store.insertAccount(ada, said('made'));
        await store.changeAccount('acc_2', { plan: 'free' }, said('changed'));
        await store.insertAccount({ ...ada, id: 'acc_3' }, said('refused'));
        await store.changeAccount('acc_1', { role: 'member' }, said('refused'));
        await store.changeAccount('nobody', { name: 'x' }, said('refused'));
        await store.invite({ accountId: 'acc_2', tokenHash: 'token', expiresAt: 9_000 }, said('invited'));
        await store.acceptInvitation('token', 'secret hash', said('accepted'));
        await store.acceptInvitation('token', 'secret hash', said('refused'));
        const trail = (await harness.trail()).slice(before);
        expect(trail.map(({ action }) => action)).toEqual(['made', 'changed', 'invited', 'accepted']);
        expect(trail[1]).toMatchObject({
          at: 7_000,
          reason: 'why',
          actor: { kind: 'account', accountId: 'acc_author', keyId: 'key_author' },
          subject: { kind: 'account', id: 'acc_2' },
          before: { plan: 'pro', email: 'ada@example.com' },
          after: { plan: 'free', hasPassword: false },
        });
        expect(trail[3]).toMatchObject({ before: { hasPassword: false }, after: { hasPassword: true } });
        expect(JSON.stringify(trail)).not.toMatch(/secret hash|token/);
      });
    });

    sharedAccountsConformance(() => harness);
  });
}
