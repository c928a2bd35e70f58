/**
 * The accounts of an installation, as its admins manage them, and each account as it manages itself. An admin hands out
 * the links that set a password: an invitation to a new person, a password reset to one who has lost it.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Turn } from '../base/fair-queue.ts';
import type { Random } from '../base/random.ts';
import type { PlanName } from '../limits/plans.ts';
import { type Account, type Actor, accountActor, type Role, wholeAccountOf } from './account.ts';
import type { Attempts } from './attempts.ts';
import { type ChangeNote, noteOf } from './change-note.ts';
import type { Passwords } from './passwords.ts';
import { hashSecret, newId, newSecret } from './secrets.ts';
import { emailKey } from './sign-in.ts';
import type { AccountChange, AccountPage, AccountQuery, AccountStore, InvitationPurpose } from './store.ts';

const dayMs = 24 * 60 * 60_000;
/** A reset gives access to an account that is in use, so it expires sooner than an invitation. */
export const invitationLifeMs: Readonly<Record<InvitationPurpose, number>> = {
  invitation: 7 * dayMs,
  passwordReset: dayMs,
};
const issuedActions: Readonly<Record<InvitationPurpose, string>> = {
  invitation: 'account.invited',
  passwordReset: 'account.passwordResetIssued',
};

export interface MemberInput {
  readonly name: string;
  readonly email?: string | null | undefined;
  readonly plan?: PlanName | undefined;
  readonly role?: Role | undefined;
}

/** What an account may change of itself. */
export interface OwnChange {
  readonly name?: string | undefined;
  readonly email?: string | null | undefined;
  readonly password?: string | undefined;
  readonly currentPassword?: string | undefined;
}

export interface MemberChange {
  readonly name?: string | undefined;
  readonly email?: string | null | undefined;
  readonly plan?: PlanName | undefined;
  readonly role?: Role | undefined;
}

export interface Members {
  create(actor: Actor, input: MemberInput): Promise<Account>;
  find(accountId: string): Promise<Account>;
  /** The display names of those that exist, by id. */
  names(accountIds: readonly string[]): Promise<Readonly<Record<string, string>>>;
  list(query: AccountQuery & { readonly email: string | undefined }): Promise<AccountPage>;
  change(actor: Actor, accountId: string, change: MemberChange): Promise<Account>;
  suspend(actor: Actor, accountId: string, reason: string | null): Promise<Account>;
  unsuspend(actor: Actor, accountId: string, reason: string | null): Promise<Account>;
  /** Give the token to the person, who sets a password with it. It replaces the account's earlier token, if any. */
  invite(
    actor: Actor,
    accountId: string,
    purpose: InvitationPurpose,
  ): Promise<{ token: string; expiresAt: number }>;
  /** `turn` is for the queue of password hashing. */
  changeOwn(actor: Actor, change: OwnChange, turn: Turn): Promise<Account>;
}

export interface MembersOptions {
  readonly store: AccountStore;
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly clock: Clock;
  readonly random: Random;
}

export function createMembers({ store, passwords, attempts, clock, random }: MembersOptions): Members {
  const find = async (accountId: string): Promise<Account> => {
    const account = await store.findAccount(accountId);
    if (account !== undefined) return account;
    throw new Problem('not_found', { detail: 'Account not found.' });
  };
  const change = async (accountId: string, wanted: AccountChange, note: ChangeNote): Promise<Account> => {
    const outcome = await store.changeAccount(accountId, wanted, note);
    if (outcome.kind === 'changed') return outcome.account;
    if (outcome.kind === 'email_taken') throw emailTaken();
    if (outcome.kind === 'missing') throw new Problem('not_found', { detail: 'Account not found.' });
    if (outcome.kind === 'other_password') throw currentPasswordNeeded();
    throw new Problem('last_admin', { detail: 'Make someone else an admin first.' });
  };

  return {
    find,
    async create(actor, { name, email = null, plan = 'free', role = 'member' }) {
      const account: Account = {
        id: newId(random, 'acc'),
        name,
        role,
        plan,
        email: email === null ? null : emailKey(email),
        passwordHash: null,
        createdAt: clock.now(),
        suspendedAt: null,
      };
      if (await store.insertAccount(account, noteOf(clock, actor, 'account.created'))) return account;
      throw emailTaken();
    },

    async names(accountIds) {
      const found = await Promise.all([...new Set(accountIds)].map(id => store.findAccount(id)));
      return Object.fromEntries(found.flatMap(account => (account ? [[account.id, account.name]] : [])));
    },

    async list({ email, ...query }) {
      if (email === undefined) return store.listAccounts(query);
      const account = await store.findAccountByEmail(emailKey(email));
      return { accounts: account === undefined ? [] : [account], nextCursor: undefined };
    },

    change(actor, accountId, { name, email, plan, role }) {
      const wanted = { name, email: email == null ? email : emailKey(email), plan, role };
      return change(accountId, wanted, noteOf(clock, actor, 'account.changed'));
    },

    suspend(actor, accountId, reason) {
      const note = noteOf(clock, actor, 'account.suspended', reason);
      return change(accountId, { suspendedAt: note.at, endSessions: 'all' }, note);
    },

    unsuspend(actor, accountId, reason) {
      return change(accountId, { suspendedAt: null }, noteOf(clock, actor, 'account.unsuspended', reason));
    },

    async invite(actor, accountId, purpose) {
      const token = newSecret(random, purpose === 'invitation' ? 'invitation' : 'reset');
      const expiresAt = clock.now() + invitationLifeMs[purpose];
      const { accountId: issuedBy } = accountActor(actor);
      const invitation = { accountId, tokenHash: hashSecret(token), expiresAt, purpose, issuedBy };
      if (await store.invite(invitation, noteOf(clock, actor, issuedActions[purpose])))
        return { token, expiresAt };
      throw new Problem('not_found', { detail: 'Account not found.' });
    },

    async changeOwn(actor, { name, email, password, currentPassword }, turn) {
      const account = await wholeAccountOf(store, actor);
      const { isAdmin, sessionId } = accountActor(actor);
      if (email !== undefined && !isAdmin) {
        // Addresses are not verified here; the operator vouches for them.
        throw new Problem('forbidden', { detail: 'An admin can change your e-mail address.' });
      }
      const isConfirmed = email !== undefined || password !== undefined;
      if (isConfirmed) await confirm(account, currentPassword, turn);
      const wanted: AccountChange = {
        // A password that was replaced in the meantime confirms nothing.
        ...(isConfirmed && { ifPasswordHash: account.passwordHash }),
        name,
        email: email == null ? email : emailKey(email),
        ...(password !== undefined && {
          passwordHash: await passwords.hash(password, turn),
          endSessions: { except: sessionId },
        }),
      };
      const action = password === undefined ? 'account.changed' : 'account.passwordChanged';
      return change(account.id, wanted, noteOf(clock, actor, action));
    },
  };

  /** A session that was left open must not be enough to take the account over. */
  async function confirm(account: Account, currentPassword: string | undefined, turn: Turn): Promise<void> {
    const { passwordHash } = account;
    if (passwordHash === null) return;
    if (currentPassword !== undefined) {
      const onBegin = await attempts.currentPassword(account);
      if (await passwords.verify(currentPassword, passwordHash, { ...turn, onBegin })) return;
    }
    throw currentPasswordNeeded();
  }
}

const currentPasswordNeeded = (): Problem =>
  new Problem('forbidden', {
    detail: 'Your current password is needed for this.',
    fields: { field: 'currentPassword' },
  });

const emailTaken = (): Problem =>
  new Problem('email_taken', {
    detail: 'Another account has this e-mail address.',
    fields: { field: 'email' },
  });
