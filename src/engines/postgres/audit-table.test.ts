import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import {
  auditTrailOf,
  openPostgresHandles,
  type PostgresHandles,
} from '../../../test/kit/postgres-handles.ts';
import { type AuditRecord, systemActor } from '../../base/audit-entry.ts';
import { appendAudit, auditMigrations } from './audit-table.ts';
import type { Postgres } from './postgres.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const record = (action: string, overrides: Partial<AuditRecord> = {}): AuditRecord => ({
  at: 1_000,
  actor: systemActor,
  action,
  subject: { kind: 'link', id: 'code' },
  before: null,
  after: { title: '"quoted", {braced} \\ 😀' },
  reason: null,
  isRoutine: false,
  ...overrides,
});

describeWithEngine('postgres', 'the audit trail in Postgres', () => {
  let handles: PostgresHandles;
  let postgres: Postgres;
  beforeEach(async () => {
    handles = await openPostgresHandles([auditMigrations]);
    postgres = handles.first;
  });
  afterEach(() => handles.close());
  const entries = () => auditTrailOf(postgres);

  test('numbers entries in the order in which they are given', async () => {
    const actions = Array.from({ length: 500 }, (_, n) => `action ${(n * 7_919) % 500}`);
    await appendAudit(
      postgres,
      actions.map(action => record(action)),
    );
    await appendAudit(postgres, []);
    expect((await entries()).map(({ action }) => action)).toEqual(actions);
    expect((await entries())[0]).toEqual({ id: '1', ...record(actions[0]!) });
  });

  test('is kept with the change it belongs to, or not at all', async () => {
    const work = postgres.transaction(async tx => {
      await appendAudit(tx, [record('never')]);
      throw new Error('changed my mind');
    });
    await expect(work).rejects.toThrow('changed my mind');
    expect(await entries()).toEqual([]);
  });

  test('is changed, removed and emptied by no statement, whoever gives it', async () => {
    const recent = { isRoutine: true, at: Date.now() - 29 * dayMs };
    await appendAudit(postgres, [record('one'), record('two'), record('three', recent)]);
    const kept = await entries();
    for (const statement of [
      "UPDATE audit SET reason = 'x'",
      'UPDATE audit SET at = 0 WHERE seq = 1',
      'DELETE FROM audit',
      'DELETE FROM audit WHERE seq = 3',
      'TRUNCATE audit',
      'TRUNCATE audit RESTART IDENTITY CASCADE',
      `INSERT INTO audit OVERRIDING SYSTEM VALUE SELECT * FROM audit
       ON CONFLICT (seq) DO UPDATE SET reason = 'x'`,
      `MERGE INTO audit USING (VALUES (1)) AS given (seq) ON audit.seq = given.seq
       WHEN MATCHED THEN DELETE`,
    ]) {
      // Also where ordinary triggers are switched off.
      for (const role of ['origin', 'replica']) {
        const attempt = postgres.transaction(async tx => {
          await tx.query(`SET LOCAL session_replication_role = ${role}`);
          await tx.query(statement);
        });
        await expect(attempt, `${statement} as ${role}`).rejects.toThrow('audit entries are never');
      }
    }
    expect(await entries()).toEqual(kept);
    const again = 'INSERT INTO audit OVERRIDING SYSTEM VALUE SELECT * FROM audit WHERE seq = 1';
    await expect(postgres.query(again)).rejects.toThrow('duplicate key');
  });

  test('lets go of what is both routine and old, and of nothing else', async () => {
    const old = Date.now() - 31 * dayMs;
    await appendAudit(postgres, [
      record('routine', { isRoutine: true, at: old }),
      record('decision', { at: old }),
    ]);
    await expect(postgres.query('DELETE FROM audit')).rejects.toThrow('routine and old');
    await postgres.query('DELETE FROM audit WHERE routine');
    expect((await entries()).map(({ action }) => action)).toEqual(['decision']);
  });
});
