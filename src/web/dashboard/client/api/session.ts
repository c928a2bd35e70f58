/** Signing in and out, and who one is. */
import { request } from './request.ts';
import type { AccountView, OpenSession } from './types.ts';

export type SignInWith = { readonly key: string } | { readonly email: string; readonly password: string };

export const signIn = (credentials: SignInWith): Promise<AccountView> =>
  request<{ account: AccountView }>('POST', '/api/v1/session', {
    body: credentials,
    waitsForSession: false,
  }).then(({ account }) => account);

export const readAccount = (): Promise<AccountView> =>
  request('GET', '/api/v1/account', { waitsForSession: false });

export const signOut = (): Promise<void> => request('DELETE', '/api/v1/session', { waitsForSession: false });

export interface AccountChange {
  readonly name?: string;
  readonly email?: string | null;
  readonly password?: string;
  readonly currentPassword?: string;
}

export const editAccount = (change: AccountChange): Promise<AccountView> =>
  request('PATCH', '/api/v1/account', { body: change });

export const listSessions = (signal: AbortSignal): Promise<readonly OpenSession[]> =>
  request<{ sessions: readonly OpenSession[] }>('GET', '/api/v1/sessions', { signal }).then(
    ({ sessions }) => sessions,
  );

export const endSession = (id: string): Promise<void> =>
  request('DELETE', `/api/v1/sessions/${encodeURIComponent(id)}`);
