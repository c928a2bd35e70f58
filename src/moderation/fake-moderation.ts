/** Moderation with its links in memory, for tests. */
import { createAuditLog } from '../audit/audit-log.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { createMemoryRecords } from '../records/drivers/memory.ts';
import type { RecordStore } from '../records/record-store.ts';
import { createReviewStore } from './store.ts';

export function moderationOn(records: RecordStore) {
  const audit = createAuditLog({ records, random: systemRandom });
  return { audit, reviews: createReviewStore({ records, audit, clock: systemClock, random: systemRandom }) };
}

export function fakeModeration() {
  // Nothing has expired by then, whatever times a test gives its entries.
  const records = createMemoryRecords({ now: () => 0 });
  const { audit, reviews } = moderationOn(records);
  return { records, audit, reviews, links: createMemoryStore(reviews.traceWrites, records.write) };
}
