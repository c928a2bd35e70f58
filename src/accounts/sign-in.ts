/**
 * How people sign in: with an e-mail address and a password, with a key as long as there is no password, by signing up
 * where that is open, and by an invitation. Invariant: a client without the right secret does not learn which addresses
 * have an account, neither from an answer nor from its timing.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Turn } from '../base/fair-queue.ts';
import type { Random } from '../base/random.ts';
import { type Account, actorOf, anonymous } from './account.ts';
import type { Credentials } from './api-key.ts';
import type { Attempts } from './attempts.ts';
import { noteOf } from './change-note.ts';
import type { KnownDevices } from './known-devices.ts';
import type { Passwords } from './passwords.ts';
import { hashSecret, newId } from './secrets.ts';
import type { Session } from './session-store.ts';
import type { Sessions } from './sessions.ts';
import type { AccountStore } from './store.ts';
import { accountActor, refuseSuspended, wholeAccountOf } from './whole-account.ts';

export interface SignedIn {
  readonly account: Account;
  readonly session: Session;
  readonly token: string;
  /** For the browser to keep beyond the session; undefined for an account without a password. */
  readonly deviceToken: string | undefined;
}

/** The requesting client. Its lane is its network: the addresses that count as one. */
export interface SignInClient extends Omit<Turn, 'isPreferred'> {
  readonly userAgent: string;
  /** The device token from an earlier sign-in. */
  readonly deviceToken: string | undefined;
}

export interface SignIn {
  withPassword(email: string, password: string, client: SignInClient): Promise<SignedIn>;
  withKey(secret: string, client: SignInClient): Promise<SignedIn>;
  /** Does not reveal whether the address already had an account; then nothing changes. */
  signUp(newcomer: Newcomer, client: SignInClient): Promise<void>;
  /** Sets the password of the invited account, whose sessions end. */
  accept(token: string, password: string, client: SignInClient): Promise<Account>;
}

export interface Newcomer {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

export interface SignInOptions {
  readonly store: AccountStore;
  readonly credentials: Credentials;
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly devices: KnownDevices;
  readonly clock: Clock;
  readonly random: Random;
  readonly signUpAllowed: boolean;
}

export function createSignIn(options: SignInOptions): SignIn {
  const { store, credentials, sessions, passwords, attempts, devices, clock, random } = options;

  return {
    async withPassword(givenEmail, password, client) {
      const email = emailKey(givenEmail);
      const account = await store.findAccountByEmail(email);
      const deviceId = devices.idOf(client.deviceToken, account);
      const onBegin = await attempts.signIn(email, { network: client.lane, deviceId });
      const turn = { ...client, isPreferred: deviceId !== undefined, onBegin };
      if (!(await passwords.verify(password, account?.passwordHash ?? null, turn)) || account === undefined) {
        throw new Problem('sign_in_failed', { detail: 'The e-mail address or the password is wrong.' });
      }
      const opened = await sessions.open(account, { key: null, userAgent: client.userAgent });
      return { account, ...opened, deviceToken: devices.issue(account, deviceId) };
    },

    async withKey(secret, { userAgent, deviceToken }) {
      const actor = accountActor(await credentials.authenticate(secret));
      // A session may do all that its account may, so the key must too.
      const account = await wholeAccountOf(store, actor);
      const key = { id: actor.keyId!, hash: hashSecret(secret) };
      const opened = await sessions.open(account, { key, userAgent });
      return {
        account,
        ...opened,
        deviceToken: devices.issue(account, devices.idOf(deviceToken, account)),
      };
    },

    async signUp({ name, email, password }, client) {
      if (!options.signUpAllowed) {
        throw new Problem('forbidden', { detail: 'Accounts are made by invitation on this server.' });
      }
      const account: Account = {
        id: newId(random, 'acc'),
        name,
        role: 'member',
        plan: 'free',
        email: emailKey(email),
        passwordHash: await passwords.hash(password, { ...client, isPreferred: false }),
        createdAt: clock.now(),
        suspendedAt: null,
      };
      await store.insertAccount(account, noteOf(clock, anonymous, 'account.signedUp'));
    },

    async accept(token, password, client) {
      const tokenHash = hashSecret(token);
      const found = await store.findInvitation(tokenHash);
      if (found === undefined || found.invitation.expiresAt <= clock.now()) throw invalidInvitation();
      refuseSuspended(found.account);
      const invited = actorOf(found.account, { sessionId: null });
      // The holder of an invitation is not an anonymous client.
      const passwordHash = await passwords.hash(password, { ...client, isPreferred: true });
      const note = noteOf(clock, invited, 'account.invitationAccepted');
      const account = await store.acceptInvitation(tokenHash, passwordHash, note);
      if (account === undefined) throw invalidInvitation();
      return account;
    },
  };
}

/** One spelling per address; mail providers ignore case, and people do not remember theirs. */
export const emailKey = (email: string): string => email.toLowerCase();

const invalidInvitation = (): Problem =>
  new Problem('invitation_invalid', {
    detail: 'The invitation was used, has expired, or never existed; ask for a new one.',
  });
