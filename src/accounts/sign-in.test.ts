import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Turn } from '../base/fair-queue.ts';
import { seededRandom } from '../base/random.ts';
import { createMemoryLimiter } from '../limits/bucket.ts';
import { defaultRates } from '../limits/plans.ts';
import { actorOf } from './account.ts';
import { createCredentials } from './api-key.ts';
import { createAttempts } from './attempts.ts';
import {
  cheapPasswords,
  fakeAccount,
  fakeActor,
  fakeClient,
  fakeKey,
  fakeNote,
  fakeTurn,
} from './fake-actors.ts';
import { fakeAccountStore } from './fake-store.ts';
import { createMembers, type Members } from './members.ts';
import { createPasswords, type Passwords } from './passwords.ts';
import { hashSecret } from './secrets.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createKnownDevices, createSignIn, type SignIn, type SignInClient } from './sign-in.ts';
import type { AccountStore } from './store.ts';

const random = seededRandom(1);
const email = 'ada@example.com';
const password = 'correct horse battery';
const cheap = createPasswords({ random, clock: systemClock, cost: cheapPasswords });
const client = fakeClient();

describe('signing in', () => {
  let clock: ManualClock;
  let store: AccountStore;
  let sessions: Sessions;
  let members: Members;
  /** The hashes that were compared with, null for none, and the turn of each. */
  let verified: (string | null)[];
  let turns: Turn[];
  let hashes: number;
  /** Runs between the comparison of a password and the steps that follow. */
  let onVerified: () => Promise<unknown>;
  let signIn: SignIn;

  const start = (signUpAllowed: boolean): SignIn => {
    const passwords: Passwords = {
      waiting: 0,
      refused: 0,
      async hash(given, turn) {
        hashes += 1;
        turns.push(turn);
        return cheap.hash(given, turn);
      },
      async verify(given, hash, turn) {
        verified.push(hash);
        turns.push(turn);
        const isRight = await cheap.verify(given, hash, turn);
        await onVerified();
        return isRight;
      },
    };
    const credentials = createCredentials(store, clock, random);
    const limiter = createMemoryLimiter();
    const attempts = createAttempts({ limiter, rates: defaultRates, clock, onLimited: () => {} });
    const devices = createKnownDevices(random.bytes(32), clock, random);
    members = createMembers({ store, passwords, attempts, clock, random });
    return createSignIn({
      store,
      credentials,
      sessions,
      passwords,
      attempts,
      devices,
      clock,
      random,
      signUpAllowed,
    });
  };
  beforeEach(async () => {
    clock = new ManualClock();
    store = fakeAccountStore();
    sessions = createSessions(store, clock, random);
    verified = [];
    turns = [];
    hashes = 0;
    onVerified = async () => {};
    signIn = start(true);
    await store.insertAccount(fakeAccount('acc_admin', { role: 'admin' }), fakeNote());
    const passwordHash = await cheap.hash(password, fakeTurn());
    await store.insertAccount(fakeAccount('acc_1', { email, passwordHash }), fakeNote());
  });

  const withPassword = (givenEmail: string, givenPassword: string, from: Partial<SignInClient> = {}) =>
    signIn.withPassword(givenEmail, givenPassword, fakeClient(from));
  /** Guesses from this many networks until each of them is rejected. */
  const flood = async (networks: number): Promise<number> => {
    let guesses = 0;
    for (let n = 0; n < networks; n += 1) {
      for (;;) {
        const problem: Problem = await withPassword(email, 'a wrong password', {
          lane: `network ${n}`,
        }).catch(error => error);
        if (problem.code === 'rate_limited') break;
        expect(problem.code).toBe('sign_in_failed');
        guesses += 1;
      }
    }
    return guesses;
  };
  const refused = (code: string) => expect.objectContaining({ code });

  test('with the right password opens a session', async () => {
    const { account, session, token } = await withPassword('Ada@Example.COM', password);
    expect(account.id).toBe('acc_1');
    expect(session).toMatchObject({ accountId: 'acc_1', keyId: null, userAgent: 'Firefox' });
    expect(await sessions.authenticate(token)).toMatchObject({ accountId: 'acc_1' });
  });

  test('with a password that is replaced meanwhile fails, and opens no session', async () => {
    onVerified = () =>
      store.changeAccount('acc_1', { passwordHash: 'another hash', endSessions: 'all' }, fakeNote());
    await expect(withPassword(email, password)).rejects.toEqual(refused('sign_in_failed'));
    expect(await store.listSessions('acc_1')).toEqual([]);
  });

  test.each([
    ['rotated', () => rotate('new hash', 0)],
    ['rotated twice', async () => [await rotate('new hash', 0), await rotate('newer hash', clock.now() + 1)]],
    ['revoked', () => store.revokeKey('acc_1', 'key_1', fakeNote())],
  ])('with a key that is %s meanwhile fails, and opens no session', async (_what, change) => {
    const key = fakeKey('key_1', 'acc_1', { keyHash: hashSecret('the key') });
    await store.insertKey(key, fakeNote());
    const { findAccount } = store;
    store = {
      ...store,
      async findAccount(id) {
        await change();
        return findAccount(id);
      },
    };
    await expect(start(true).withKey('the key', client)).rejects.toEqual(refused('sign_in_failed'));
    expect(await sessions.list(actorOf(fakeAccount('acc_1'), { sessionId: null }))).toEqual([]);
  });
  const rotate = (keyHash: string, previousUntil: number) =>
    store.rotateKey(
      { accountId: 'acc_1', keyId: 'key_1', keyHash, previousUntil, exceptSessionId: null },
      fakeNote(),
    );

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

  test('reveals a suspension only to a client that knows the password', async () => {
    await store.changeAccount('acc_1', { suspendedAt: 1 }, fakeNote());
    await expect(withPassword(email, 'a wrong password')).rejects.toEqual(refused('sign_in_failed'));
    await expect(withPassword(email, password)).rejects.toEqual(refused('account_suspended'));
  });

  test('to one account is limited, also from many places and also with the right password', async () => {
    // Two each, and thirty together.
    expect(await flood(100)).toBe(230);
    // A rejected attempt takes no turn in the queue.
    expect(verified).toHaveLength(230);
    const late = await withPassword(email, password, { lane: 'network 5' }).catch(error => error);
    expect(late).toMatchObject({
      code: 'rate_limited',
      detail: expect.stringContaining('API keys still work'),
    });
    expect(Number(late.headers['Retry-After'])).toBeGreaterThan(0);
    await expect(withPassword('bob@example.com', password, { lane: 'network 5' })).rejects.toEqual(
      refused('sign_in_failed'),
    );
    clock.advance(Number(late.headers['Retry-After']) * 1_000);
    const { account } = await withPassword(email, password, { lane: 'network 5' });
    expect(account.id).toBe('acc_1');
  });

  test('is open to the owner on a new device while a hundred networks guess', async () => {
    for (let hour = 0; hour < 3; hour += 1) {
      await flood(100);
      const owner = { lane: `the owner in hour ${hour}` };
      await expect(withPassword(email, 'a slip of the owner', owner)).rejects.toEqual(
        refused('sign_in_failed'),
      );
      expect((await withPassword(email, password, owner)).account.id).toBe('acc_1');
      clock.advance(60 * 60_000);
    }
  });

  test('is open to the owner on a known device however many networks guess, and is served before them', async () => {
    const { deviceToken } = await withPassword(email, password);
    await flood(400);
    const strange = await withPassword(email, password, { lane: 'new' }).catch(error => error);
    expect(strange).toMatchObject({ code: 'rate_limited' });
    turns = [];
    const known = await withPassword(email, password, { lane: 'new', deviceToken });
    expect(known.account.id).toBe('acc_1');
    expect(turns).toMatchObject([{ lane: 'new', isPreferred: true }]);
  });

  test('from a known device is limited too, by what it tries itself', async () => {
    const { deviceToken } = await withPassword(email, password);
    const other = (await withPassword(email, password)).deviceToken;
    const guess = () => withPassword(email, 'a wrong password', { deviceToken });
    for (let n = 0; n < 30; n += 1) await expect(guess()).rejects.toEqual(refused('sign_in_failed'));
    await expect(guess()).rejects.toEqual(refused('rate_limited'));
    expect((await withPassword(email, password, { deviceToken: other })).account.id).toBe('acc_1');
    clock.advance(2 * 60_000);
    // A renewed token identifies the same device.
    const renewed = (await withPassword(email, password, { deviceToken })).deviceToken;
    await expect(withPassword(email, password, { deviceToken: renewed })).rejects.toEqual(
      refused('rate_limited'),
    );
  });

  test('knows no device by a wrong password, by another account’s token or after a new password', async () => {
    const { deviceToken } = await withPassword(email, password);
    await signIn.signUp({ name: 'Eve', email: 'eve@example.com', password }, client);
    const { deviceToken: eves } = await withPassword('eve@example.com', password);
    await flood(400);
    for (const token of [undefined, '', 'made up', eves, `${deviceToken}x`]) {
      const attempt = withPassword(email, password, { lane: 'new', deviceToken: token });
      await expect(attempt).rejects.toEqual(refused('rate_limited'));
    }
    const self = fakeActor('acc_1');
    await members.changeOwn(self, { password: 'a newer password', currentPassword: password }, fakeTurn());
    const stale = withPassword(email, 'a newer password', { lane: 'new', deviceToken });
    await expect(stale).rejects.toEqual(refused('rate_limited'));
  });

  test('counts only passwords that are checked, not those that found the queue full', async () => {
    const { verify } = cheap;
    cheap.verify = async () => {
      throw new Problem('overloaded');
    };
    try {
      for (let n = 0; n < 40; n += 1) {
        await expect(withPassword(email, password)).rejects.toEqual(refused('overloaded'));
      }
    } finally {
      cheap.verify = verify;
    }
    expect((await withPassword(email, password)).account.id).toBe('acc_1');
  });

  test('is limited exactly also when all attempts are made at once', async () => {
    await flood(2);
    // Enough for one more from each network.
    clock.advance(4 * 60_000);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        withPassword(email, 'a wrong password', { lane: `network ${n % 2}` }).catch(error => error.code),
      ),
    );
    expect(answers.filter(code => code === 'sign_in_failed')).toHaveLength(2);
    expect(answers.filter(code => code === 'rate_limited')).toHaveLength(8);
  });

  test('waits in the queue without preference, in the lane of its network', async () => {
    await withPassword(email, password, { lane: 'somewhere' });
    expect(turns).toMatchObject([{ lane: 'somewhere', isPreferred: false }]);
  });

  test('works with a key that may do all that its account may, and ends with it', async () => {
    const whole = fakeKey('whole', 'acc_admin', { keyHash: hashSecret('the whole key') });
    const narrow = fakeKey('narrow', 'acc_admin', { keyHash: hashSecret('narrow'), scopes: ['links:read'] });
    for (const key of [whole, narrow]) await store.insertKey(key, fakeNote());
    const { account, session, token } = await signIn.withKey('the whole key', client);
    expect(account.id).toBe('acc_admin');
    expect(session.keyId).toBe('whole');
    await expect(signIn.withKey('narrow', client)).rejects.toEqual(refused('forbidden'));
    await expect(signIn.withKey('unknown', client)).rejects.toEqual(refused('unauthorized'));
    await store.revokeKey('acc_admin', 'whole', fakeNote());
    await expect(sessions.authenticate(token)).rejects.toEqual(refused('unauthorized'));
  });

  describe('signing up', () => {
    const newcomer = { name: 'Bob', email: 'Bob@Example.com', password: 'another good password' };

    test('makes a member on the free plan who can sign in', async () => {
      await signIn.signUp(newcomer, client);
      const { account } = await withPassword('bob@example.com', newcomer.password);
      expect(account).toMatchObject({ name: 'Bob', role: 'member', plan: 'free', email: 'bob@example.com' });
    });

    test('with an address that has an account says the same and changes nothing', async () => {
      const before = await store.findAccount('acc_1');
      expect(await signIn.signUp({ ...newcomer, email }, client)).toBe(await signIn.signUp(newcomer, client));
      expect(await store.findAccount('acc_1')).toEqual(before);
      await expect(withPassword(email, newcomer.password)).rejects.toEqual(refused('sign_in_failed'));
    });

    test('does the same work whether the address has an account or not', async () => {
      const calls: string[] = [];
      const traced = tracedStore(store, calls);
      const work: unknown[] = [];
      for (const address of [email, 'free@example.com']) {
        store = traced;
        signIn = start(true);
        [hashes, turns, calls.length] = [0, [], 0];
        await signIn.signUp({ ...newcomer, email: address }, client);
        work.push({ hashes, turns: turns.length, calls: [...calls] });
      }
      expect(work[0]).toEqual({ hashes: 1, turns: 1, calls: ['insertAccount'] });
      expect(work[1]).toEqual(work[0]);
    });

    test('is closed where the server does not allow it', async () => {
      signIn = start(false);
      await expect(signIn.signUp(newcomer, client)).rejects.toEqual(refused('forbidden'));
      expect(await store.findAccountByEmail('bob@example.com')).toBeUndefined();
    });
  });
});

/** Adds the name of each call of the store to `calls`. */
function tracedStore(store: AccountStore, calls: string[]): AccountStore {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => {
        calls.push(String(name));
        return Reflect.apply(member, target, given);
      };
    },
  });
}
