/** The calls about accounts, for admins, and the one of whoever was invited. */
import { request } from './request.ts';
import type { AccountView, Role } from './types.ts';

export interface ManagedAccount extends AccountView {
  readonly suspendedAt: string | null;
}

export interface AccountPage {
  readonly accounts: readonly ManagedAccount[];
  readonly nextCursor: string | null;
}

const path = (id: string): string => `/api/v1/accounts/${encodeURIComponent(id)}`;

export const listAccounts = (cursor: string | undefined, signal?: AbortSignal): Promise<AccountPage> =>
  request('GET', '/api/v1/accounts', { query: { limit: 100, cursor }, signal });

export interface AccountFields {
  readonly name?: string;
  readonly email?: string | null;
  readonly role?: Role;
  readonly plan?: string;
}

export const createAccount = (fields: AccountFields): Promise<ManagedAccount> =>
  request('POST', '/api/v1/accounts', { body: fields });

export const changeAccount = (id: string, fields: AccountFields): Promise<ManagedAccount> =>
  request('PATCH', path(id), { body: fields });

export const setSuspended = (id: string, isSuspended: boolean): Promise<ManagedAccount> =>
  request('POST', `${path(id)}/${isSuspended ? 'suspend' : 'unsuspend'}`, { body: {} });

export const invite = (id: string): Promise<{ readonly token: string; readonly expiresAt: string }> =>
  request('POST', `${path(id)}/invitation`);

export const acceptInvitation = (token: string, password: string): Promise<AccountView> =>
  request('POST', '/api/v1/invitations/accept', { body: { token, password }, waitsForSession: false });
