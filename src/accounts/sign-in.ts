/**
 * How people come in: with an e-mail address and a password, with a key as long as there is no password, by signing up
 * where that is open, and by an invitation. Invariant: nobody without the right secret learns which addresses have an
 * account, neither from an answer nor from how long it takes.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { type Account, actorOf, anonymous } from './account.ts';
import type { Credentials } from './api-key.ts';
import type { Attempts } from './attempts.ts';
import { noteOf } from './change-note.ts';
import type { Passwords } from './passwords.ts';
import { hashSecret, newId } from './secrets.ts';
import type { Session } from './session-store.ts';
import type { Sessions } from './sessions.ts';
import type { AccountStore } from './store.ts';
import { refuseSuspended } from './suspension.ts';
import { accountActor, wholeAccountOf } from './whole-account.ts';

export interface SignedIn {
  readonly account: Account;
  readonly session: Session;
  readonly token: string;
}

export interface SignIn {
  withPassword(email: string, password: string, userAgent: string): Promise<SignedIn>;
  withKey(secret: string, userAgent: string): Promise<SignedIn>;
  /** Says nothing of whether the address had an account before; then nothing changes. */
  signUp(newcomer: {
    readonly name: string;
    readonly email: string;
    readonly password: string;
  }): Promise<void>;
  /** Sets the password of the invited account, whose sessions end. */
  accept(token: string, password: string): Promise<Account>;
}

export interface SignInOptions {
  readonly store: AccountStore;
  readonly credentials: Credentials;
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly clock: Clock;
  readonly random: Random;
  readonly signUpAllowed: boolean;
}

export function createSignIn(options: SignInOptions): SignIn {
  const { store, credentials, sessions, passwords, attempts, clock, random } = options;

  return {
    async withPassword(givenEmail, password, userAgent) {
      const email = emailKey(givenEmail);
      await attempts.spend(email);
      const account = await store.findAccountByEmail(email);
      if (!(await passwords.verify(password, account?.passwordHash ?? null)) || account === undefined) {
        throw new Problem('sign_in_failed', { detail: 'The e-mail address or the password is wrong.' });
      }
      return { account, ...(await sessions.open(account, { keyId: null, userAgent })) };
    },

    async withKey(secret, userAgent) {
      const actor = accountActor(await credentials.authenticate(secret));
      // A session may do all that its account may, so the key must too.
      const account = await wholeAccountOf(store, actor);
      return { account, ...(await sessions.open(account, { keyId: actor.keyId, userAgent })) };
    },

    async signUp({ name, email, password }) {
      if (!options.signUpAllowed) {
        throw new Problem('forbidden', { detail: 'Accounts are made by invitation on this server.' });
      }
      const account: Account = {
        id: newId(random, 'acc'),
        name,
        role: 'member',
        plan: 'free',
        email: emailKey(email),
        passwordHash: await passwords.hash(password),
        createdAt: clock.now(),
        suspendedAt: null,
      };
      await store.insertAccount(account, noteOf(clock, anonymous, 'account.signedUp'));
    },

    async accept(token, password) {
      const tokenHash = hashSecret(token);
      const found = await store.findInvitation(tokenHash);
      if (found === undefined || found.invitation.expiresAt <= clock.now()) throw invalidInvitation();
      refuseSuspended(found.account);
      const invited = actorOf(found.account, { sessionId: null });
      const passwordHash = await passwords.hash(password);
      const note = noteOf(clock, invited, 'account.invitationAccepted');
      const account = await store.acceptInvitation(tokenHash, passwordHash, note);
      if (account === undefined) throw invalidInvitation();
      return account;
    },
  };
}

/** One spelling per address; mail providers tell no case apart, and people do not remember theirs. */
export const emailKey = (email: string): string => email.toLowerCase();

const invalidInvitation = (): Problem =>
  new Problem('invitation_invalid', {
    detail: 'The invitation was used, has expired, or never was; ask for another.',
  });
