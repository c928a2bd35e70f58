/** Tokens that set a password: invitations and password resets; and what the sign-in page offers. */
import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, systemClock } from '../base/clock.ts';
import type { Problem } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import { createMemoryLimiter } from '../limits/bucket.ts';
import { defaultRates } from '../limits/plans.ts';
import { createCredentials } from './api-key.ts';
import { createAttempts } from './attempts.ts';
import { cheapPasswords, fakeAccount, fakeActor, fakeClient, fakeNote, fakeTurn } from './fake-actors.ts';
import { fakeAccountStore } from './fake-store.ts';
import { createMembers, invitationLifeMs, type Members } from './members.ts';
import { createPasswords } from './passwords.ts';
import { hashSecret } from './secrets.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createKnownDevices, createSignIn, type SignIn } from './sign-in.ts';
import type { AccountStore } from './store.ts';

const random = seededRandom(1);
const email = 'ada@example.com';
const password = 'correct horse battery';
const passwords = createPasswords({ random, clock: systemClock, cost: cheapPasswords });
const client = fakeClient();
const admin = fakeActor('acc_admin', { role: 'admin' });

let clock: ManualClock;
let store: AccountStore;
let sessions: Sessions;
let members: Members;
let signIn: SignIn;

function start(signUpAllowed: boolean): SignIn {
  const credentials = createCredentials(store, clock, random);
  const limiter = createMemoryLimiter();
  const attempts = createAttempts({ limiter, rates: defaultRates, clock, onLimited: () => {} });
  const devices = createKnownDevices(random.bytes(32), clock, random);
  sessions = createSessions(store, clock, random);
  members = createMembers({ store, passwords, attempts, clock, random });
  const parts = { store, credentials, sessions, passwords, attempts, devices, clock, random };
  return createSignIn({ ...parts, signUpAllowed });
}

beforeEach(async () => {
  clock = new ManualClock();
  store = fakeAccountStore();
  signIn = start(true);
  await store.insertAccount(fakeAccount('acc_admin', { role: 'admin' }), fakeNote());
  const passwordHash = await passwords.hash(password, fakeTurn());
  await store.insertAccount(fakeAccount('acc_1', { email, passwordHash }), fakeNote());
});

const withPassword = (givenEmail: string, givenPassword: string) =>
  signIn.withPassword(givenEmail, givenPassword, client);
const refused = (code: string) => expect.objectContaining({ code });

describe('an invitation', () => {
  const chosen = 'a password of my own';

  test('sets the password once, within its time', async () => {
    const { token, expiresAt } = await members.invite(admin, 'acc_1', 'invitation');
    expect(expiresAt).toBe(clock.now() + invitationLifeMs.invitation);
    clock.advance(invitationLifeMs.invitation - 1);
    const { token: opened } = await withPassword(email, password);
    expect(await signIn.accept(token, chosen, client)).toEqual((await store.findAccount('acc_1'))!);
    await expect(sessions.authenticate(opened)).rejects.toEqual(refused('unauthorized'));
    await expect(withPassword(email, password)).rejects.toEqual(refused('sign_in_failed'));
    expect((await withPassword(email, chosen)).account.id).toBe('acc_1');
    await expect(signIn.accept(token, 'yet another password', client)).rejects.toEqual(
      refused('invitation_invalid'),
    );
  });

  test('that is used, expired, replaced or made up is rejected alike', async () => {
    const { token: replaced } = await members.invite(admin, 'acc_1', 'invitation');
    const { token } = await members.invite(admin, 'acc_1', 'invitation');
    clock.advance(invitationLifeMs.invitation);
    const problems: Problem[] = [];
    for (const bad of [replaced, token, 'made up', '']) {
      problems.push(await signIn.accept(bad, chosen, client).catch(error => error));
    }
    expect(new Set(problems.map(({ code, detail }) => `${code} ${detail}`)).size).toBe(1);
    expect(problems[0]?.code).toBe('invitation_invalid');
    expect((await withPassword(email, password)).account.id).toBe('acc_1');
  });

  test('is used by one of many who try at once', async () => {
    const { token } = await members.invite(admin, 'acc_1', 'invitation');
    const attempts = await Promise.allSettled(
      [1, 2, 3].map(n => signIn.accept(token, `password number ${n}`, client)),
    );
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('does not open a suspended account', async () => {
    const { token } = await members.invite(admin, 'acc_1', 'invitation');
    await members.suspend(admin, 'acc_1', null);
    await expect(signIn.accept(token, chosen, client)).rejects.toEqual(refused('account_suspended'));
    await expect(signIn.readInvitation(token)).rejects.toEqual(refused('account_suspended'));
  });

  test('says from whom it is, for which account and until when, and is not used up by that', async () => {
    await members.change(admin, 'acc_admin', { name: 'Anna' });
    const { token, expiresAt } = await members.invite(admin, 'acc_1', 'invitation');
    const said = { purpose: 'invitation', from: 'Anna', expiresAt } as const;
    expect(await signIn.readInvitation(token)).toMatchObject({ ...said, account: { id: 'acc_1' } });
    expect(await signIn.accept(token, chosen, client)).toMatchObject({ id: 'acc_1' });
    await expect(signIn.readInvitation(token)).rejects.toEqual(refused('invitation_invalid'));
  });

  test('of an earlier version names nobody', async () => {
    const tokenHash = hashSecret('earlier');
    await store.invite({ accountId: 'acc_1', tokenHash, expiresAt: clock.now() + 1_000 }, fakeNote());
    expect(await signIn.readInvitation('earlier')).toMatchObject({ purpose: 'invitation', from: null });
  });
});

describe('a password reset', () => {
  const chosen = 'a password of my own';

  test('sets another password once, within a day, and ends what was open', async () => {
    const { token, expiresAt } = await members.invite(admin, 'acc_1', 'passwordReset');
    expect(expiresAt).toBe(clock.now() + 24 * 60 * 60_000);
    expect(await signIn.readInvitation(token)).toMatchObject({ purpose: 'passwordReset' });
    clock.advance(invitationLifeMs.passwordReset - 1);
    const { token: opened } = await withPassword(email, password);
    await signIn.accept(token, chosen, client);
    await expect(sessions.authenticate(opened)).rejects.toEqual(refused('unauthorized'));
    await expect(withPassword(email, password)).rejects.toEqual(refused('sign_in_failed'));
    await expect(signIn.accept(token, password, client)).rejects.toEqual(refused('invitation_invalid'));
    expect((await withPassword(email, chosen)).account.id).toBe('acc_1');
  });

  test('that is over, or replaced by a newer token, changes nothing', async () => {
    const { token: replaced } = await members.invite(admin, 'acc_1', 'passwordReset');
    const { token } = await members.invite(admin, 'acc_1', 'passwordReset');
    await expect(signIn.accept(replaced, chosen, client)).rejects.toEqual(refused('invitation_invalid'));
    clock.advance(invitationLifeMs.passwordReset);
    await expect(signIn.accept(token, chosen, client)).rejects.toEqual(refused('invitation_invalid'));
    expect((await withPassword(email, password)).account.id).toBe('acc_1');
  });
});

describe('what the sign-in page offers', () => {
  test('is a password as soon as anyone may have one', async () => {
    expect(await signIn.options()).toEqual({ passwords: true, signUp: true });
    store = fakeAccountStore();
    signIn = start(false);
    const only = fakeAccount('acc_admin', { role: 'admin', passwordHash: null });
    await store.insertAccount(only, fakeNote());
    expect(await signIn.options()).toEqual({ passwords: false, signUp: false });
    await store.changeAccount('acc_admin', { passwordHash: 'some hash' }, fakeNote());
    expect(await signIn.options()).toEqual({ passwords: true, signUp: false });
  });
});
