import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import { createCredentials } from './api-key.ts';
import { createAttempts } from './attempts.ts';
import { fakeAccount, fakeActor, fakeKey, fakeNote } from './fake-actors.ts';
import { createMemoryLimiter } from './limiters/memory.ts';
import { createMembers, invitationLifeMs, type Members } from './members.ts';
import { createPasswords, type Passwords } from './passwords.ts';
import { hashSecret } from './secrets.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createSignIn, type SignIn } from './sign-in.ts';
import type { AccountStore } from './store.ts';
import { createMemoryAccountStore } from './stores/memory.ts';

const random = seededRandom(1);
const email = 'ada@example.com';
const password = 'correct horse battery';
const cheap = createPasswords(random, { memoryKiB: 64, passes: 1, atOnceMax: 2, waitingMax: 10 });

describe('signing in', () => {
  let clock: ManualClock;
  let store: AccountStore;
  let sessions: Sessions;
  let members: Members;
  /** The hashes that were compared with, null for none. */
  let verified: (string | null)[];
  let signIn: SignIn;
  const admin = fakeActor('acc_admin', { role: 'admin' });

  const start = (signUpAllowed: boolean): SignIn => {
    const passwords: Passwords = {
      hash: given => cheap.hash(given),
      async verify(given, hash) {
        verified.push(hash);
        return cheap.verify(given, hash);
      },
    };
    const credentials = createCredentials(store, clock, random);
    const attempts = createAttempts(createMemoryLimiter(), clock);
    members = createMembers({ store, passwords, attempts, clock, random });
    return createSignIn({ store, credentials, sessions, passwords, attempts, clock, random, signUpAllowed });
  };
  beforeEach(async () => {
    clock = new ManualClock();
    store = createMemoryAccountStore();
    sessions = createSessions(store, clock, random);
    verified = [];
    signIn = start(true);
    await store.insertAccount(fakeAccount('acc_admin', { role: 'admin' }), fakeNote());
    const passwordHash = await cheap.hash(password);
    await store.insertAccount(fakeAccount('acc_1', { email, passwordHash }), fakeNote());
  });

  const withPassword = (givenEmail: string, givenPassword: string) =>
    signIn.withPassword(givenEmail, givenPassword, 'Firefox');
  const refused = (code: string) => expect.objectContaining({ code });

  test('with the right password opens a session', async () => {
    const { account, session, token } = await withPassword('Ada@Example.COM', password);
    expect(account.id).toBe('acc_1');
    expect(session).toMatchObject({ accountId: 'acc_1', keyId: null, userAgent: 'Firefox' });
    expect(await sessions.authenticate(token)).toMatchObject({ accountId: 'acc_1' });
  });

  test('fails in the same words and after the same work, whatever is wrong', async () => {
    await store.insertAccount(fakeAccount('acc_2', { email: 'bob@example.com' }), fakeNote());
    const answers: unknown[] = [];
    for (const [address, given] of [
      [email, 'a wrong password'],
      ['nobody@example.com', password],
      ['bob@example.com', password],
      ['', ''],
    ] as const) {
      const problem = await withPassword(address, given).catch(error => error);
      expect(problem).toBeInstanceOf(Problem);
      answers.push([problem.code, problem.detail, problem.fields, problem.headers]);
    }
    expect(answers[0]).toEqual(['sign_in_failed', 'The e-mail address or the password is wrong.', {}, {}]);
    expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1);
    expect(verified.map(hash => hash !== null)).toEqual([true, false, false, false]);
    expect(await store.listSessions('acc_1')).toEqual([]);
  });

  test('tells of a suspension only whoever knows the password', async () => {
    await store.changeAccount('acc_1', { suspendedAt: 1 }, fakeNote());
    await expect(withPassword(email, 'a wrong password')).rejects.toEqual(refused('sign_in_failed'));
    await expect(withPassword(email, password)).rejects.toEqual(refused('account_suspended'));
  });

  test('to one account is limited, also from many places and also with the right password', async () => {
    let failures = 0;
    for (;;) {
      const problem: Problem = await withPassword(email, 'a wrong password').catch(error => error);
      if (problem.code === 'rate_limited') {
        expect(Number(problem.headers['Retry-After'])).toBeGreaterThan(0);
        break;
      }
      expect(problem.code).toBe('sign_in_failed');
      failures += 1;
    }
    expect(failures).toBe(30);
    await expect(withPassword(email, password)).rejects.toEqual(refused('rate_limited'));
    await expect(withPassword('bob@example.com', password)).rejects.toEqual(refused('sign_in_failed'));
    clock.advance(2 * 60_000);
    expect((await withPassword(email, password)).account.id).toBe('acc_1');
  });

  test('works with a key that may do all that its account may, and ends with it', async () => {
    const whole = fakeKey('whole', 'acc_admin', { keyHash: hashSecret('the whole key') });
    const narrow = fakeKey('narrow', 'acc_admin', { keyHash: hashSecret('narrow'), scopes: ['links:read'] });
    for (const key of [whole, narrow]) await store.insertKey(key, fakeNote());
    const { account, session, token } = await signIn.withKey('the whole key', 'Firefox');
    expect(account.id).toBe('acc_admin');
    expect(session.keyId).toBe('whole');
    await expect(signIn.withKey('narrow', '')).rejects.toEqual(refused('forbidden'));
    await expect(signIn.withKey('unknown', '')).rejects.toEqual(refused('unauthorized'));
    await store.revokeKey('acc_admin', 'whole', fakeNote());
    await expect(sessions.authenticate(token)).rejects.toEqual(refused('unauthorized'));
  });

  describe('signing up', () => {
    const newcomer = { name: 'Bob', email: 'Bob@Example.com', password: 'another good password' };

    test('makes a member on the free plan who can sign in', async () => {
      await signIn.signUp(newcomer);
      const { account } = await withPassword('bob@example.com', newcomer.password);
      expect(account).toMatchObject({ name: 'Bob', role: 'member', plan: 'free', email: 'bob@example.com' });
    });

    test('with an address that has an account says the same and changes nothing', async () => {
      const before = await store.findAccount('acc_1');
      expect(await signIn.signUp({ ...newcomer, email })).toBe(await signIn.signUp(newcomer));
      expect(await store.findAccount('acc_1')).toEqual(before);
      await expect(withPassword(email, newcomer.password)).rejects.toEqual(refused('sign_in_failed'));
    });

    test('is closed where the server does not allow it', async () => {
      signIn = start(false);
      await expect(signIn.signUp(newcomer)).rejects.toEqual(refused('forbidden'));
      expect(await store.findAccountByEmail('bob@example.com')).toBeUndefined();
    });
  });

  describe('an invitation', () => {
    const chosen = 'a password of my own';

    test('sets the password once, within its time', async () => {
      const { token, expiresAt } = await members.invite(admin, 'acc_1');
      expect(expiresAt).toBe(clock.now() + invitationLifeMs);
      const { token: opened } = await withPassword(email, password);
      clock.advance(invitationLifeMs - 1);
      expect(await signIn.accept(token, chosen)).toEqual((await store.findAccount('acc_1'))!);
      await expect(sessions.authenticate(opened)).rejects.toEqual(refused('unauthorized'));
      await expect(withPassword(email, password)).rejects.toEqual(refused('sign_in_failed'));
      expect((await withPassword(email, chosen)).account.id).toBe('acc_1');
      await expect(signIn.accept(token, 'yet another password')).rejects.toEqual(
        refused('invitation_invalid'),
      );
    });

    test('that is used, too old, replaced or made up is refused alike', async () => {
      const { token: replaced } = await members.invite(admin, 'acc_1');
      const { token } = await members.invite(admin, 'acc_1');
      clock.advance(invitationLifeMs);
      const problems: Problem[] = [];
      for (const bad of [replaced, token, 'made up', '']) {
        problems.push(await signIn.accept(bad, chosen).catch(error => error));
      }
      expect(new Set(problems.map(({ code, detail }) => `${code} ${detail}`)).size).toBe(1);
      expect(problems[0]?.code).toBe('invitation_invalid');
      expect((await withPassword(email, password)).account.id).toBe('acc_1');
    });

    test('is used by one of many who try at once', async () => {
      const { token } = await members.invite(admin, 'acc_1');
      const attempts = await Promise.allSettled(
        [1, 2, 3].map(n => signIn.accept(token, `password number ${n}`)),
      );
      expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });

    test('does not open a suspended account', async () => {
      const { token } = await members.invite(admin, 'acc_1');
      await members.suspend(admin, 'acc_1', null);
      await expect(signIn.accept(token, chosen)).rejects.toEqual(refused('account_suspended'));
    });
  });
});
