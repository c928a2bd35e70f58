/** Every kind of record there is. A new kind is declared beside its rules and listed here, to be copied and backed up. */
import { blockEntryKind, blockListKind } from '../../abuse/operator-entries.ts';
import { accountKinds } from '../../accounts/account-records.ts';
import { auditKind } from '../../audit/audit-log.ts';
import { healthWalkKind, linkHealthKind } from '../../health/health.ts';
import { reportKind, reviewKind } from '../../moderation/store.ts';
import type { RecordKind } from '../../records/record-store.ts';
import { importKind } from '../../stores/former-tables.ts';

export const recordKinds: readonly RecordKind<never>[] = [
  auditKind(),
  reviewKind,
  reportKind,
  blockEntryKind,
  blockListKind,
  linkHealthKind,
  healthWalkKind,
  importKind,
  ...(accountKinds as readonly RecordKind<never>[]),
];
