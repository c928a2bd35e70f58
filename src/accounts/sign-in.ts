/**
 * How people sign in: with an e-mail address and a password, with a key as long as there is no password, by signing up
 * where that is open, and by an invitation. Invariant: a client without the right secret does not learn which addresses
 * have an account, neither from an answer nor from its timing.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Turn } from '../base/fair-queue.ts';
import type { Random } from '../base/random.ts';
import {
  type Account,
  accountActor,
  actorOf,
  anonymous,
  refuseSuspended,
  wholeAccountOf,
} from './account.ts';
import type { Credentials } from './api-key.ts';
import type { Attempts } from './attempts.ts';
import { noteOf } from './change-note.ts';
import type { Passwords } from './passwords.ts';
import { hashSecret, newId } from './secrets.ts';
import type { Session } from './session-store.ts';
import type { Sessions } from './sessions.ts';
import type { AccountStore, InvitationPurpose } from './store.ts';

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
  /** For the holder of a token, before choosing a password. */
  readInvitation(token: string): Promise<OpenInvitation>;
  /** Sets the password of the invited account, whose sessions end. */
  accept(token: string, password: string, client: SignInClient): Promise<Account>;
  /** For the sign-in page. */
  options(): Promise<SignInOptionsView>;
}

export interface OpenInvitation {
  readonly purpose: InvitationPurpose;
  readonly account: Account;
  /** The name of the admin who issued it; null if that is not known. */
  readonly from: string | null;
  readonly expiresAt: number;
}

/** What the sign-in page offers. */
export interface SignInOptionsView {
  /** False while the only account has only a key. */
  readonly passwords: boolean;
  readonly signUp: boolean;
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
  /** Never becomes false again, so the store is asked only until it is true. */
  let hasPasswords = false;

  /** A second account is created for someone who signs in, so only a single account is checked for a password. */
  async function someoneHasPassword(): Promise<boolean> {
    const { accounts } = await store.listAccounts({ limit: 2, cursor: undefined });
    return accounts.length > 1 || accounts.some(({ passwordHash }) => passwordHash !== null);
  }

  async function findInvitation(token: string) {
    const found = await store.findInvitation(hashSecret(token));
    if (found === undefined || found.invitation.expiresAt <= clock.now()) throw invalidInvitation();
    refuseSuspended(found.account);
    return found;
  }

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

    async readInvitation(token) {
      const { account, invitation } = await findInvitation(token);
      const { purpose = 'invitation', issuedBy, expiresAt } = invitation;
      const issuer = issuedBy === undefined ? undefined : await store.findAccount(issuedBy);
      return { purpose, account, from: issuer?.name ?? null, expiresAt };
    },

    async options() {
      hasPasswords ||= await someoneHasPassword();
      return { passwords: hasPasswords, signUp: options.signUpAllowed };
    },

    async accept(token, password, client) {
      const tokenHash = hashSecret(token);
      const found = await findInvitation(token);
      const invited = actorOf(found.account, { sessionId: null });
      // The holder of an invitation is not anonymous, so strangers do not delay it.
      const passwordHash = await passwords.hash(password, { ...client, isPreferred: true });
      const isReset = found.invitation.purpose === 'passwordReset';
      const note = noteOf(clock, invited, isReset ? 'account.passwordReset' : 'account.invitationAccepted');
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
    detail: 'This invitation is no longer valid. Ask for a new one.',
  });

/**
 * Browsers that an account has signed in with. Each keeps a token which proves it, so that its owner can sign in while
 * strangers guess the password. The token grants no access: it only has a separate limit instead of the strangers'.
 * Nothing is stored: the token is signed with a key of the installation, together with the password's hash, so a new
 * password invalidates every earlier token.
 */

export const deviceLifeMs = 365 * 24 * 60 * 60_000;

export interface KnownDevices {
  /** The id of the device that holds this token of the account; undefined when the token is invalid. */
  idOf(token: string | undefined, account: Account | undefined): string | undefined;
  /** A token for the device, or for a new one; undefined for an account without a password to guess. */
  issue(account: Account, deviceId?: string): string | undefined;
}

const idBytes = 9;
const tokenPattern = /^([0-9a-z]{1,9})\.([\w-]{12})\.([\w-]{43})$/;

export function createKnownDevices(key: Uint8Array, clock: Clock, random: Random): KnownDevices {
  const nowS = (): number => Math.floor(clock.now() / 1_000);
  const signature = ({ id, passwordHash }: Account, endS: number, deviceId: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([id, passwordHash, endS, deviceId]))
      .digest();

  return {
    idOf(token = '', account) {
      const [, digits = '', deviceId = '', given = ''] = tokenPattern.exec(token) ?? [];
      if (account === undefined || account.passwordHash === null || given === '') return undefined;
      const endS = Number.parseInt(digits, 36);
      if (endS <= nowS()) return undefined;
      const isOurs = timingSafeEqual(Buffer.from(given, 'base64url'), signature(account, endS, deviceId));
      return isOurs ? deviceId : undefined;
    },
    issue(account, deviceId = Buffer.from(random.bytes(idBytes)).toString('base64url')) {
      if (account.passwordHash === null) return undefined;
      const endS = nowS() + deviceLifeMs / 1_000;
      return `${endS.toString(36)}.${deviceId}.${signature(account, endS, deviceId).toString('base64url')}`;
    },
  };
}
