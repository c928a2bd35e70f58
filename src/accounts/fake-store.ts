/** The account store on records in memory, for tests of what uses it. Nothing in it expires by itself. */
import type { AuditRecord } from '../audit/audit-entry.ts';
import { createAuditWrites } from '../audit/audit-log.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createMemoryRecords } from '../records/drivers/memory.ts';
import { type AccountStore, createAccountStore } from './store.ts';

export function fakeAccountStore(keep: (record: AuditRecord) => void = () => {}): AccountStore {
  const { writesOf } = createAuditWrites(systemRandom);
  return createAccountStore({
    records: createMemoryRecords({ now: () => 0 }),
    audit: {
      writesOf(entries) {
        entries.forEach(keep);
        return writesOf(entries);
      },
    },
    clock: systemClock,
    random: systemRandom,
  });
}
