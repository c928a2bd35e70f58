/** Whether an entry of the audit trail is what a query asks for. */
import type { AuditEntry } from '../base/audit-entry.ts';
import type { AuditQuery } from './audit.ts';

export function isMatch({ subject, actor, action, at }: AuditEntry, query: AuditQuery): boolean {
  const { subjectKinds, subjectId, accountId, fromMs = 0, toMs = Number.POSITIVE_INFINITY } = query;
  if (subjectKinds !== undefined && !subjectKinds.includes(subject.kind)) return false;
  if (subjectId !== undefined && subject.id !== subjectId) return false;
  if (accountId !== undefined && actor.accountId !== accountId) return false;
  if (query.action !== undefined && action !== query.action) return false;
  return at >= fromMs && at < toMs;
}
