import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../../app/embedded.ts';
import { type AuditRow, auditEntryOf, auditMigrations } from '../../../engines/sqlite/audit-table.ts';
import { openForWriting } from '../../../engines/sqlite/database.ts';
import type { LinkStore } from '../../../links/store.ts';
import { createSqliteStore } from '../../../links/stores/sqlite/store.ts';
import { auditRecord } from '../../audit.conformance.ts';
import { everythingAbout } from '../../audit.ts';
import { moderationConformance } from '../../store.conformance.ts';
import { createSqliteAuditLog } from './audit-log.ts';
import { createSqliteReviewStore } from './store.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const page = { limit: 10, cursor: undefined };

async function openHere() {
  const folder = mkdtempSync(join(tmpdir(), 'terse-moderation-'));
  const opened: LinkStore[] = [];
  const open = async () => {
    const { reader, writer } = await openEmbedded(folder);
    const links = createSqliteStore(reader, writer);
    opened.push(links);
    return {
      links,
      reviews: createSqliteReviewStore(reader, writer),
      audit: createSqliteAuditLog(reader, writer),
    };
  };
  return {
    folder,
    ...(await open()),
    reopen: open,
    async dispose() {
      for (const links of opened) await links.close();
      rmSync(folder, { recursive: true });
    },
  };
}

moderationConformance('sqlite', openHere);

test('no statement changes or removes an entry of the audit trail', async () => {
  const { folder, audit, dispose } = await openHere();
  const database = openForWriting(join(folder, 'terse.db'));
  try {
    const recent = Date.now() - 29 * dayMs;
    await audit.append([auditRecord(), auditRecord({ isRoutine: true, at: recent })]);
    for (const statement of [
      "UPDATE audit SET reason = 'x'",
      'DELETE FROM audit',
      'DELETE FROM audit WHERE seq = 2',
      'UPDATE audit SET at = 0 WHERE seq = 1',
      'INSERT OR REPLACE INTO audit SELECT * FROM audit',
    ])
      expect(() => database.run(statement)).toThrow('audit entries are never');
    expect((await audit.query(everythingAbout(auditRecord().subject, page))).entries).toHaveLength(2);
  } finally {
    database.close();
    await dispose();
  }
});

test('entries of an earlier version are kept for ever', () => {
  const database = new Database(':memory:');
  const [first = '', ...later] = auditMigrations.steps;
  database.run(first);
  database.run(`INSERT INTO audit (at, actor_kind, action, subject_kind, subject_id)
    VALUES (1, 'system', 'link.updated', 'link', 'abc')`);
  for (const step of later) database.run(step);
  expect(() => database.run('DELETE FROM audit')).toThrow('never removed');
  const row = database.query<AuditRow, []>('SELECT * FROM audit').get()!;
  expect(auditEntryOf(row)).toMatchObject({ action: 'link.updated', isRoutine: false });
  database.close();
});
