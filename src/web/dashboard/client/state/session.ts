/**
 * The signed-in account. A session that ends while the user works loses nothing: requests wait here, the sign-in form
 * opens over the page, and everything goes on afterwards.
 */
import type { AccountView } from '../api/types.ts';
import { createStore, whenStore } from './store.ts';

type Session =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'signedOut' }
  | { readonly kind: 'signedIn'; readonly account: AccountView }
  /** The previous account; the page stays as it is behind the form. */
  | { readonly kind: 'expired'; readonly account: AccountView };

export const session = createStore<Session>({ kind: 'unknown' });

/** Undefined while nobody is known to be signed in. */
export const accountIdIn = (current: Session): string | undefined =>
  'account' in current ? current.account.id : undefined;

/**
 * Scripts cannot see the cookie, so a hint beside it records whose it is. A wrong hint costs one rejected request or one
 * more sign-in, nothing else.
 */
const hint = 'terse-signed-in';

export const mayBeSignedIn = (): boolean => localStorage.getItem(hint) !== null;

export function noteSignedIn(account: AccountView): void {
  localStorage.setItem(hint, account.id);
  session.set({ kind: 'signedIn', account });
}

export function noteSignedOut(): void {
  localStorage.removeItem(hint);
  session.set({ kind: 'signedOut' });
}

/** Another account in another tab has taken over the cookie: this page would show one account and change the other. */
addEventListener('storage', event => {
  const { key, newValue } = event as StorageEvent;
  const own = accountIdIn(session.get());
  if (key !== hint || newValue === null || own === undefined || newValue === own) return;
  // Everything of the account leaves the page first: what is still to be sent would be sent for the other one.
  session.set({ kind: 'signedOut' });
  location.reload();
});

export function noteUnauthorized(): void {
  const current = session.get();
  if (current.kind === 'signedIn') session.set({ kind: 'expired', account: current.account });
  else if (current.kind === 'unknown') session.set({ kind: 'signedOut' });
}

/** Resolves when the user is signed in again; rejects when the caller or the user gives up. */
export async function signedInAgain(signal: AbortSignal | undefined): Promise<void> {
  const account = accountIdIn(session.get());
  await whenStore(session, ({ kind }) => kind === 'signedIn' || kind === 'signedOut', signal);
  const isSame = session.get().kind === 'signedIn' && accountIdIn(session.get()) === account;
  // A request of one account is never sent for another one.
  if (!isSame) throw new DOMException('The account has signed out.', 'AbortError');
}
