/**
 * Who is signed in. A session that ends while somebody works does not throw anything away: requests wait here,
 * the sign-in form comes up over the page, and everything goes on afterwards.
 */
import type { AccountView } from '../api/types.ts';
import { createStore } from './store.ts';

export type Session =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'signedOut' }
  | { readonly kind: 'signedIn'; readonly account: AccountView }
  /** Was signed in as this; the page stays as it is behind the form. */
  | { readonly kind: 'expired'; readonly account: AccountView };

export const session = createStore<Session>({ kind: 'unknown' });

/**
 * Scripts cannot see the cookie, so whether asking for the account makes sense is remembered beside it. A wrong hint
 * costs one refused request or one more sign-in, nothing else.
 */
const hint = 'terse-signed-in';

export const mayBeSignedIn = (): boolean => localStorage.getItem(hint) !== null;

export function noteSignedIn(account: AccountView): void {
  localStorage.setItem(hint, 'yes');
  session.set({ kind: 'signedIn', account });
}

export function noteSignedOut(): void {
  localStorage.removeItem(hint);
  session.set({ kind: 'signedOut' });
}

export function noteUnauthorized(): void {
  const current = session.get();
  if (current.kind === 'signedIn') session.set({ kind: 'expired', account: current.account });
  else if (current.kind === 'unknown') session.set({ kind: 'signedOut' });
}

/** Resolves when somebody is signed in again; rejects when the one who waits gives up. */
export function signedInAgain(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (session.get().kind === 'signedIn') return resolve();
    const stop = session.subscribe(next => {
      if (next.kind !== 'signedIn') return;
      stop();
      resolve();
    });
    signal?.addEventListener('abort', () => {
      stop();
      reject(signal.reason);
    });
  });
}
