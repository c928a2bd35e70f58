/** The stores that are records, on the record store of whichever engine was chosen. */
import { createOperatorEntries, type OperatorEntryStore } from '../abuse/operator-entries.ts';
import { type AccountStore, createAccountStore } from '../accounts/store.ts';
import { type AuditLog, createAuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { createReviewStore, type ReviewStore } from '../moderation/store.ts';
import type { RecordStore } from '../records/record-store.ts';

export interface StoresOnRecords {
  readonly records: RecordStore;
  readonly audit: AuditLog;
  readonly accounts: AccountStore;
  readonly reviews: ReviewStore;
  readonly blockEntries: OperatorEntryStore;
}

/** `auditDays`: how long routine entries of the audit trail are kept. */
export function storesOnRecords(
  records: RecordStore,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  auditDays?: number,
): StoresOnRecords {
  const audit = createAuditLog({ records, random, routineDays: auditDays });
  const parts = { records, audit, clock, random };
  return {
    records,
    audit,
    accounts: createAccountStore(parts),
    reviews: createReviewStore(parts),
    blockEntries: createOperatorEntries(parts),
  };
}
