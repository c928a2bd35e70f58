/** Accounts, keys and actors for tests, which name only what they care about. */

import type { Turn } from '../base/fair-queue.ts';
import { type Account, type Actor, type ApiKey, actorOf, scopes } from './account.ts';
import type { ChangeNote } from './change-note.ts';
import type { PasswordCost } from './passwords.ts';
import type { SignInClient } from './sign-in.ts';

export const fakeAccount = (id: string, overrides: Partial<Account> = {}): Account => ({
  id,
  name: `name of ${id}`,
  role: 'member',
  plan: 'unlimited',
  email: null,
  passwordHash: null,
  createdAt: 1_000,
  suspendedAt: null,
  ...overrides,
});

export const fakeKey = (id: string, accountId: string, overrides: Partial<ApiKey> = {}): ApiKey => ({
  id,
  accountId,
  name: `name of ${id}`,
  origin: 'issued',
  scopes,
  keyHash: `hash of ${id}`,
  previousHash: null,
  previousUntil: null,
  createdAt: 1_000,
  lastUsedAt: null,
  expiresAt: null,
  revokedAt: null,
  ...overrides,
});

/** An account that uses a key with all scopes of its role. */
export function fakeActor(accountId: string, overrides: Partial<Account> = {}): Actor {
  return actorOf(fakeAccount(accountId, overrides), { key: fakeKey(`key of ${accountId}`, accountId) });
}

export const fakeNote = (overrides: Partial<ChangeNote> = {}): ChangeNote => ({
  at: 1_000,
  actor: { kind: 'account', accountId: 'acc_author', keyId: 'key_author' },
  action: 'something.done',
  reason: null,
  ...overrides,
});

export const fakeTurn = (overrides: Partial<Turn> = {}): Turn => ({
  lane: '192.0.2.1',
  isPreferred: false,
  isAbandoned: () => false,
  ...overrides,
});

/** A browser that has never signed in. */
export const fakeClient = (overrides: Partial<SignInClient> = {}): SignInClient => ({
  lane: '192.0.2.1',
  isAbandoned: () => false,
  userAgent: 'Firefox',
  deviceToken: undefined,
  ...overrides,
});

/** Passwords that take no time to hash, for tests that are not about them. */
export const cheapPasswords: PasswordCost = {
  memoryKiB: 64,
  passes: 1,
  concurrency: 2,
  waitingMax: 10,
  waitingPerLaneMax: 10,
  waitMaxMs: 60_000,
};
