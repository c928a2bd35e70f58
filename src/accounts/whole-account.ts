/**
 * Who may manage an account itself: its keys, its password, its sessions. A key with fewer scopes than the account's
 * role has one purpose; an attacker who finds it must not be able to extend it.
 */
import { Problem } from '../base/errors.ts';
import { type Account, type Actor, scopesOfRole } from './account.ts';
import type { AccountStore } from './store.ts';

export type AccountActor = Extract<Actor, { kind: 'account' }>;

export function accountActor(actor: Actor): AccountActor {
  if (actor.kind === 'account') return actor;
  throw new Problem('unauthorized');
}

export function speaksForWhole(actor: AccountActor, { role }: Account): boolean {
  return actor.keyId === null || scopesOfRole[role].every(scope => actor.scopes.has(scope));
}

/** The actor's own account, if it may manage it. */
export async function wholeAccountOf(store: AccountStore, actor: Actor): Promise<Account> {
  const asking = accountActor(actor);
  const account = await store.findAccount(asking.accountId);
  if (account !== undefined && speaksForWhole(asking, account)) return account;
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
