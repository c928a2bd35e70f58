import { expect, test } from 'bun:test';
import { onEveryRecordEngine } from '../../test/kit/record-engines.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createMemoryRecords } from '../records/drivers/memory.ts';
import type { RecordStore } from '../records/record-store.ts';
import { auditConformance, auditRecord } from './audit-log.conformance.ts';
import { createAuditLog, everythingAbout } from './audit-log.ts';

onEveryRecordEngine('the audit log', auditConformance);

test('continues past pages whose entries have all expired, which an engine with a slow TTL returns', async () => {
  const memory = createMemoryRecords(systemClock);
  const isExpired = (value: unknown): boolean => (value as { action: string }).action === 'expired';
  const records: RecordStore = {
    ...memory,
    async query(...asked) {
      const page = await memory.query(...asked);
      return { ...page, records: page.records.filter(({ value }) => !isExpired(value)) };
    },
  };
  const audit = createAuditLog({ records, random: systemRandom });
  const at = Date.now();
  await audit.append([auditRecord({ action: 'oldest', at })]);
  await audit.append(Array.from({ length: 60 }, () => auditRecord({ action: 'expired', at: at + 1 })));
  await audit.append([auditRecord({ action: 'newest', at: at + 2 })]);
  const about = everythingAbout({ kind: 'link', id: 'abc' }, { limit: 10, cursor: undefined });
  const all = { ...about, subjectKinds: undefined, subjectId: undefined };
  const seen: string[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await audit.query({ ...all, cursor });
    seen.push(...page.entries.map(({ action }) => action));
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== undefined && pages < 50);
  expect(seen).toEqual(['newest', 'oldest']);
});
