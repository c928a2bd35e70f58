/** All of the audit log, for tests that compare it. */
import type { AuditEntry } from '../../src/audit/audit-entry.ts';
import { createAuditLog } from '../../src/audit/audit-log.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { RecordStore } from '../../src/records/record-store.ts';

/** A clock at 0, for which no entry has expired. */
export const atTheBeginning = { ...systemClock, now: () => 0 };

/** Oldest first. */
export async function wholeTrail(records: RecordStore): Promise<AuditEntry[]> {
  const audit = createAuditLog({ records, random: systemRandom });
  const entries: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await audit.query({ ...everything, cursor });
    entries.push(...page.entries);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return entries.reverse();
}

const everything = {
  limit: 1_000,
  subjectKinds: undefined,
  subjectId: undefined,
  accountId: undefined,
  action: undefined,
  fromMs: undefined,
  toMs: undefined,
};
