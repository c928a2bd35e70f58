/** Accounts that own links, the keys that act for them, and what each of them may do. */

import { Problem } from '../base/errors.ts';
import type { PlanName } from '../limits/plans.ts';
import type { AccountStore } from './store.ts';

/** The permissions of a key. `admin` grants access to the whole installation and to all links. */
export const scopes = ['links:read', 'links:write', 'stats:read', 'moderate', 'admin'] as const;
export type Scope = (typeof scopes)[number];

export const roles = ['member', 'moderator', 'admin'] as const;
export type Role = (typeof roles)[number];

/** The maximum permissions of any credential of an account with this role. */
export const scopesOfRole: Readonly<Record<Role, readonly Scope[]>> = {
  member: ['links:read', 'links:write', 'stats:read'],
  moderator: ['links:read', 'links:write', 'stats:read', 'moderate'],
  admin: scopes,
};

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly plan: PlanName;
  /** In lower case; the sign-in name. Null for an account that is only used with keys. */
  readonly email: string | null;
  /** An argon2id hash with its parameters; null until a password is set. */
  readonly passwordHash: string | null;
  readonly createdAt: number;
  /** Since when the account is suspended; null while it is not. Its links are judged separately. */
  readonly suspendedAt: number | null;
}

/** Whether the account may act as an admin now. */
export const isActiveAdmin = ({ role, suspendedAt }: Account): boolean =>
  role === 'admin' && suspendedAt === null;

/**
 * Where a key comes from. `issued`: created on request. `setting`: set by the operator; the setting's next value
 * replaces it. `unseen`: created by the first start, which may have ended before printing it.
 */
export type KeyOrigin = 'issued' | 'setting' | 'unseen';

export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly origin: KeyOrigin;
  /** The scopes the key was given; it can never do more than its account's role allows. */
  readonly scopes: readonly Scope[];
  /** SHA-256 of the key in hex; the key itself is shown once and stored nowhere. */
  readonly keyHash: string;
  /** The secret before the last rotation, which keeps working until `previousUntil`. */
  readonly previousHash: string | null;
  readonly previousUntil: number | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  /** When the key expires; null for never. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** The authenticated caller. Everything that changes something takes one. */
export type Actor =
  | { readonly kind: 'anonymous' }
  | {
      readonly kind: 'account';
      readonly accountId: string;
      /** Whether it may act as an admin: a narrow key of an admin may not. */
      readonly isAdmin: boolean;
      readonly plan: PlanName;
      readonly scopes: ReadonlySet<Scope>;
      /** Null for a session. */
      readonly keyId: string | null;
      /** Null for a key. */
      readonly sessionId: string | null;
    };

export const anonymous: Actor = { kind: 'anonymous' };

/** The credential: a key with the scopes it was given, or a session, which has all scopes of the role. */
export function actorOf(
  { id, role, plan }: Account,
  by: { readonly key: ApiKey } | { readonly sessionId: string | null },
): Actor {
  const given = 'key' in by ? by.key.scopes : scopes;
  const allowed = new Set(scopesOfRole[role].filter(scope => given.includes(scope)));
  return {
    kind: 'account',
    accountId: id,
    isAdmin: allowed.has('admin'),
    plan,
    scopes: allowed,
    keyId: 'key' in by ? by.key.id : null,
    sessionId: 'key' in by ? null : by.sessionId,
  };
}

export function ownerIdOf(actor: Actor): string | null {
  return actor.kind === 'account' ? actor.accountId : null;
}

/** The owner or an admin; callers answer 404 to any other account. */
export function mayManage(actor: Actor, ownerId: string | null): boolean {
  return actor.kind === 'account' && (actor.isAdmin || actor.accountId === ownerId);
}

export type AccountActor = Extract<Actor, { kind: 'account' }>;

export function accountActor(actor: Actor): AccountActor {
  if (actor.kind === 'account') return actor;
  throw new Problem('unauthorized');
}

/**
 * Whether the actor may manage the account itself: its keys, its password, its sessions. A key with fewer scopes than
 * the account's role has one purpose; an attacker who finds it must not be able to extend it.
 */
export function hasFullAccess(actor: AccountActor, { role }: Account): boolean {
  return actor.keyId === null || scopesOfRole[role].every(scope => actor.scopes.has(scope));
}

/** The actor's own account, if it may manage it. */
export async function wholeAccountOf(store: AccountStore, actor: Actor): Promise<Account> {
  const asking = accountActor(actor);
  const account = await store.findAccount(asking.accountId);
  if (account !== undefined && hasFullAccess(asking, account)) return account;
  throw new Problem('forbidden', {
    detail: 'This needs a session, or a key with all scopes of the account.',
  });
}

/** A suspended account may do nothing, whatever its credential. Only a client that holds its secret learns why. */
export function refuseSuspended({ suspendedAt }: Account): void {
  if (suspendedAt === null) return;
  throw new Problem('account_suspended', {
    detail: 'This account is suspended; ask the operator of the server.',
  });
}
