/** Accounts, keys and sessions as the API shows them: never a secret, nor a hash of one. */
import type { z } from 'zod';
import type { Account, ApiKey } from '../accounts/account.ts';
import type { Session } from '../accounts/session-store.ts';
import type { accountAnswer, keyAnswer, sessionAnswer } from './account-schemas.ts';
import { isoTime } from './link-view.ts';

const shown = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

export function accountView(account: Account): z.output<typeof accountAnswer> {
  const { id, name, email, role, plan, passwordHash, createdAt, suspendedAt } = account;
  return {
    id,
    name,
    email,
    role,
    plan,
    hasPassword: passwordHash !== null,
    createdAt: isoTime(createdAt),
    suspendedAt: shown(suspendedAt),
  };
}

export function keyView(key: ApiKey): z.output<typeof keyAnswer> {
  return {
    id: key.id,
    accountId: key.accountId,
    name: key.name,
    scopes: [...key.scopes],
    createdAt: isoTime(key.createdAt),
    lastUsedAt: shown(key.lastUsedAt),
    expiresAt: shown(key.expiresAt),
    previousUntil: shown(key.previousUntil),
    revokedAt: shown(key.revokedAt),
  };
}

export function sessionView(session: Session, currentId: string | null): z.output<typeof sessionAnswer> {
  return {
    id: session.id,
    isCurrent: session.id === currentId,
    userAgent: session.userAgent,
    createdAt: isoTime(session.createdAt),
    lastSeenAt: isoTime(session.lastSeenAt),
    expiresAt: isoTime(session.expiresAt),
  };
}
