/** Converts rows of former tables to the values of records: the column `created_at` becomes `createdAt`. */
import type { OperatorEntry } from '../abuse/operator-entries.ts';
import type { Account, ApiKey } from '../accounts/account.ts';
import type { Session } from '../accounts/session-store.ts';
import type { Invitation } from '../accounts/store.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import { auditIdOfNumber } from '../audit/audit-log.ts';
import type { Review } from '../moderation/review.ts';
import type { ReportRecord } from '../moderation/store.ts';

/** `names` are the fields, separated by spaces; other columns are ignored. A column that the table lacks is null. */
function readerOf<Value>(names: string): (row: unknown) => Value {
  const columns = names
    .split(' ')
    .map(name => [name, name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)] as const);
  return row =>
    Object.fromEntries(
      columns.map(([name, column]) => [name, (row as Record<string, unknown>)[column] ?? null]),
    ) as Value;
}

const accountRowOf = readerOf<Account>('id name role plan email passwordHash createdAt suspendedAt');

/** The first accounts had the column `is_admin` instead of a role. */
export function accountOf(row: unknown): Account {
  const account = accountRowOf(row);
  if (account.role !== null) return account;
  const isAdmin = Boolean((row as { readonly is_admin: number }).is_admin);
  return { ...account, role: isAdmin ? 'admin' : 'member', plan: isAdmin ? 'unlimited' : 'free' };
}

export const sessionOf = readerOf<Session>(
  'id accountId tokenHash keyId userAgent createdAt lastSeenAt expiresAt',
);
export const invitationOf = readerOf<Invitation>('accountId tokenHash expiresAt');
export const blockEntryOf = readerOf<OperatorEntry & { readonly seq: number }>(
  'seq id entry reason addedAt addedBy',
);
export const reportOf = readerOf<ReportRecord>('code reporter category text at times');

const keyOf = readerOf<Omit<ApiKey, 'scopes'> & { readonly scopes: string | null }>(
  'id accountId name origin scopes keyHash previousHash previousUntil createdAt lastUsedAt expiresAt revokedAt',
);

const scopesBeforeScopes = 'links:read links:write stats:read moderate admin';

export function apiKeyOf(row: unknown): ApiKey {
  const key = keyOf(row);
  const scopes = key.scopes ?? scopesBeforeScopes;
  return {
    ...key,
    origin: key.origin ?? 'issued',
    scopes: (scopes === '' ? [] : scopes.split(' ')) as ApiKey['scopes'],
  };
}

interface ReviewRow extends Omit<Review, 'appeal'> {
  readonly appeal: string | null;
  readonly appealedAt: number | null;
}

const reviewRowOf = readerOf<ReviewRow>(
  'code openedAt score heldFrom reporters appeal appealedAt appeals decidedAt',
);

export function reviewOf(row: unknown): Review {
  const { appeal: text, appealedAt: at, ...review } = reviewRowOf(row);
  return { ...review, appeal: text === null || at === null ? null : { at, text } };
}

/** Also has the columns of an actor and a subject, and the change as JSON. */
export type AuditRow = Readonly<Record<string, string | null>> & {
  readonly seq: number;
  readonly at: number;
  readonly routine: number | boolean;
};

export function auditEntryOf(row: AuditRow): AuditEntry {
  const { seq, at, action, reason } = row;
  return {
    id: auditIdOfNumber(at, seq),
    at,
    actor: { kind: row.actor_kind, accountId: row.account_id, keyId: row.key_id },
    action,
    subject: { kind: row.subject_kind, id: row.subject_id },
    before: JSON.parse(row.before ?? 'null'),
    after: JSON.parse(row.after ?? 'null'),
    reason,
    isRoutine: Boolean(row.routine),
  } as AuditEntry;
}
