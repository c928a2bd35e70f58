import { beforeEach, describe, expect, test } from 'bun:test';
import type { AuditRecord } from '../audit/audit-entry.ts';
import { ManualClock, systemClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { createMemoryLimiter } from '../limits/bucket.ts';
import { defaultRates } from '../limits/plans.ts';
import { type Account, type Actor, actorOf } from './account.ts';
import { createAttempts } from './attempts.ts';
import { cheapPasswords, fakeAccount, fakeActor, fakeKey, fakeNote, fakeTurn } from './fake-actors.ts';
import { fakeAccountStore } from './fake-store.ts';
import { createMembers, type Members, type OwnChange } from './members.ts';
import { createPasswords, type Passwords } from './passwords.ts';
import { createSessions } from './sessions.ts';
import type { AccountStore } from './store.ts';

const random = seededRandom(1);
const passwords = createPasswords({ random, clock: systemClock, cost: cheapPasswords });
const turn = fakeTurn();

describe('members', () => {
  const admin = fakeActor('acc_admin', { role: 'admin' });
  const refused = (code: string) => expect.objectContaining({ code });
  let clock: ManualClock;
  let trail: AuditRecord[];
  let store: AccountStore;
  let members: Members;
  const membersWith = (hashing: Passwords): Members => {
    const limiter = createMemoryLimiter();
    const attempts = createAttempts({ limiter, rates: defaultRates, clock, onLimited: () => {} });
    return createMembers({ store, passwords: hashing, attempts, clock, random });
  };
  const changeOwn = (actor: Actor, change: OwnChange) => members.changeOwn(actor, change, turn);
  beforeEach(async () => {
    clock = new ManualClock();
    trail = [];
    store = fakeAccountStore(record => trail.push(record));
    members = membersWith(passwords);
    await store.insertAccount(fakeAccount('acc_admin', { role: 'admin' }), fakeNote());
  });

  test('are free members by default, and have one spelling of their address', async () => {
    const plain = await members.create(admin, { name: 'Plain' });
    expect(plain).toMatchObject({
      name: 'Plain',
      role: 'member',
      plan: 'free',
      email: null,
      passwordHash: null,
    });
    const full = { name: 'Ada', email: 'Ada@Example.com', plan: 'pro', role: 'moderator' } as const;
    const ada = await members.create(admin, full);
    expect(ada).toMatchObject({ ...full, email: 'ada@example.com' });
    expect(await members.find(ada.id)).toEqual(ada);
    const twin = members.create(admin, { name: 'Twin', email: 'ADA@example.com' });
    await expect(twin).rejects.toEqual(refused('email_taken'));
  });

  test('are found by their address in any case, or listed', async () => {
    const ada = await members.create(admin, { name: 'Ada', email: 'ada@example.com' });
    const page = { limit: 10, cursor: undefined };
    expect(await members.list({ ...page, email: 'ADA@example.com' })).toEqual({
      accounts: [ada],
      nextCursor: undefined,
    });
    expect((await members.list({ ...page, email: 'bob@example.com' })).accounts).toEqual([]);
    expect((await members.list({ ...page, email: undefined })).accounts).toHaveLength(2);
  });

  test('are changed by an admin, and the log says by whom', async () => {
    const { id } = await members.create(admin, { name: 'Ada' });
    const changed = await members.change(admin, id, { plan: 'pro', role: 'moderator', email: 'A@B.example' });
    expect(changed).toMatchObject({ name: 'Ada', plan: 'pro', role: 'moderator', email: 'a@b.example' });
    expect(trail.at(-1)).toMatchObject({
      action: 'account.changed',
      actor: { kind: 'account', accountId: 'acc_admin', keyId: 'key of acc_admin' },
      subject: { kind: 'account', id },
    });
    await expect(members.change(admin, 'nobody', { name: 'x' })).rejects.toEqual(refused('not_found'));
    await expect(members.change(admin, 'acc_admin', { role: 'member' })).rejects.toEqual(
      refused('last_admin'),
    );
  });

  test('that are suspended lose their sessions, and the reason is kept', async () => {
    const account = await members.create(admin, { name: 'Ada' });
    await createSessions(store, clock, random).open(account, { key: null, userAgent: '' });
    expect(await members.suspend(admin, account.id, 'sends spam')).toMatchObject({
      suspendedAt: clock.now(),
    });
    expect(await store.listSessions(account.id)).toEqual([]);
    expect(trail.at(-1)).toMatchObject({ action: 'account.suspended', reason: 'sends spam' });
    expect(await members.unsuspend(admin, account.id, null)).toMatchObject({ suspendedAt: null });
    await expect(members.suspend(admin, 'acc_admin', null)).rejects.toEqual(refused('last_admin'));
    await expect(members.suspend(admin, 'nobody', null)).rejects.toEqual(refused('not_found'));
    await expect(members.invite(admin, 'nobody', 'invitation')).rejects.toEqual(refused('not_found'));
  });

  describe('one’s own account', () => {
    const password = 'correct horse battery';
    const openFor = (account: Account) =>
      createSessions(store, clock, random).open(account, { key: null, userAgent: '' });

    test('gets its first password without further proof, and every other one with the current', async () => {
      const account = await members.create(admin, { name: 'Ada' });
      const self = actorOf(account, { sessionId: null });
      await changeOwn(self, { password });
      for (const currentPassword of [undefined, 'wrong', '']) {
        const change = changeOwn(self, { password: 'another password', currentPassword });
        await expect(change).rejects.toEqual(refused('forbidden'));
      }
      const { passwordHash } = await members.find(account.id);
      expect(await passwords.verify(password, passwordHash, turn)).toBe(true);
      const after = await changeOwn(self, {
        password: 'another password',
        currentPassword: password,
      });
      expect(await passwords.verify('another password', after.passwordHash, turn)).toBe(true);
    });

    test.each([
      ['its current password', password],
      ['no password', undefined],
    ])('keeps a password that was set while %s was being confirmed', async (_what, currentPassword) => {
      const account = await members.create(admin, { name: 'Ada' });
      const self = actorOf(account, { sessionId: null });
      if (currentPassword !== undefined) await changeOwn(self, { password: currentPassword });
      const slow: Passwords = {
        ...passwords,
        async hash(given, turn) {
          await store.changeAccount(account.id, { passwordHash: 'of the other one' }, fakeNote());
          return passwords.hash(given, turn);
        },
      };
      const change = membersWith(slow).changeOwn(self, { password: 'late', currentPassword }, turn);
      await expect(change).rejects.toEqual(refused('forbidden'));
      expect((await members.find(account.id)).passwordHash).toBe('of the other one');
    });

    test('allows thirty guesses of its current password an hour at most', async () => {
      const account = await members.create(admin, { name: 'Ada' });
      const self = actorOf(account, { sessionId: null });
      await changeOwn(self, { password });
      const guess = (currentPassword: string) => changeOwn(self, { password, currentPassword });
      for (let guesses = 0; guesses < 30; guesses += 1) {
        await expect(guess('wrong')).rejects.toEqual(refused('forbidden'));
      }
      await expect(guess(password)).rejects.toEqual(refused('rate_limited'));
      expect(await changeOwn(self, { name: 'Ada L.' })).toMatchObject({ name: 'Ada L.' });
      clock.advance(2 * 60_000);
      expect((await guess(password)).id).toBe(account.id);
    });

    test('loses all other sessions with a new password, and no session with a new name', async () => {
      const account = await members.create(admin, { name: 'Ada' });
      const [kept] = [await openFor(account), await openFor(account)];
      const self = actorOf(account, { sessionId: kept.session.id });
      await changeOwn(self, { name: 'Ada L.' });
      expect(await store.listSessions(account.id)).toHaveLength(2);
      await changeOwn(self, { password });
      expect((await store.listSessions(account.id)).map(({ id }) => id)).toEqual([kept.session.id]);
      const byKey = actorOf(account, { key: fakeKey('key_1', account.id) });
      await changeOwn(byKey, { password: 'by a key this time', currentPassword: password });
      expect(await store.listSessions(account.id)).toEqual([]);
    });

    test('keeps its address unless it is an admin’s', async () => {
      const account = await members.create(admin, { name: 'Ada' });
      const self = actorOf(account, { sessionId: null });
      await expect(changeOwn(self, { email: 'a@b.example' })).rejects.toEqual(refused('forbidden'));
      expect(await changeOwn(admin, { email: 'Root@B.example' })).toMatchObject({
        email: 'root@b.example',
      });
    });

    test('is not changed by a key with fewer scopes', async () => {
      const account = await members.create(admin, { name: 'Ada' });
      const narrow = actorOf(account, { key: fakeKey('key_1', account.id, { scopes: ['links:write'] }) });
      for (const change of [{ name: 'x' }, { password }]) {
        await expect(changeOwn(narrow, change)).rejects.toEqual(refused('forbidden'));
      }
      expect(await members.find(account.id)).toEqual(account);
    });
  });
});
