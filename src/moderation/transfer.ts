/** Reviews, reports and the audit trail, as records that any engine can give and take. */
import type { AuditEntry, AuditRecord, AuditSubject } from '../base/audit-entry.ts';
import { columnsOf, compositeKey, type Transfer, type TransferRecord } from '../base/transfer.ts';
import type { Review } from './review.ts';
import type { Report } from './store.ts';

export interface ModerationTransfers {
  readonly reviews: Transfer<Review>;
  readonly reports: Transfer<ReportCopy>;
  /**
   * Pages are in the order of writing, and records are appended in the order they are written in. The key says which
   * entry it is where it comes from; a target knows by it what it has appended already.
   */
  readonly audit: Transfer<AuditRecord>;
}

export interface ReportCopy extends Report {
  readonly times: number;
}

export const reportKey = ({ code, reporter }: Pick<Report, 'code' | 'reporter'>): string =>
  compositeKey(code, reporter);

/** More than the id, because an engine without an order of writing finds an entry by what it is about and when. */
export const auditKey = ({ id, at, subject }: AuditEntry): string =>
  compositeKey(id, at, subject.kind, subject.id);

export function auditPlaceOf(key: string): Pick<AuditEntry, 'id' | 'at' | 'subject'> {
  const [id, at, kind, subjectId] = columnsOf(key) as [string, number, AuditSubject['kind'], string];
  return { id, at, subject: { kind, id: subjectId } };
}

export function auditCopy(entry: AuditEntry): TransferRecord<AuditRecord> {
  const { id: _id, ...record } = entry;
  return { key: auditKey(entry), value: record };
}
