import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { openPostgresHandles } from '../../../test/kit/postgres-handles.ts';
import { openPostgresRecords } from '../../../test/kit/record-engines.ts';
import { systemClock } from '../../base/clock.ts';
import { journalKind } from '../fake-kinds.ts';
import { recordStoreConformance } from '../record-store.conformance.ts';
import { put } from '../record-store.ts';
import { createPostgresRecords, recordMigrations } from './postgres.ts';

const dayMs = 24 * 60 * 60 * 1_000;

describeWithEngine('postgres', 'records in Postgres', () => {
  recordStoreConformance('postgres', openPostgresRecords, { sweeps: true, locks: true });

  test('an append-only record is changed, removed and emptied by no statement of any session', async () => {
    const { first: postgres, close } = await openPostgresHandles([recordMigrations]);
    const store = createPostgresRecords(postgres, systemClock);
    const now = systemClock.now();
    await store.transact([put(journalKind, { id: 'kept', lockedUntil: now + dayMs })]);
    await store.transact([put(journalKind, { id: 'old', lockedUntil: now - dayMs })]);
    for (const statement of [
      "UPDATE records SET value = '{}'",
      "UPDATE records SET locked_until = 0 WHERE key = 'old'",
      'UPDATE records SET locked_until = NULL',
      'DELETE FROM records',
      "DELETE FROM records WHERE key = 'kept'",
      'TRUNCATE records',
      'TRUNCATE records RESTART IDENTITY CASCADE',
      "INSERT INTO records SELECT * FROM records ON CONFLICT (kind, key) DO UPDATE SET value = '{}'",
      `MERGE INTO records USING (VALUES ('kept')) AS given (key) ON records.key = given.key
       WHEN MATCHED THEN DELETE`,
    ]) {
      // Also where ordinary triggers are switched off.
      for (const role of ['origin', 'replica']) {
        const attempt = postgres.transaction(async tx => {
          await tx.query(`SET LOCAL session_replication_role = ${role}`);
          await tx.query(statement);
        });
        await expect(attempt, `${statement} as ${role}`).rejects.toThrow('append-only');
      }
    }
    const again = 'INSERT INTO records SELECT * FROM records';
    await expect(postgres.query(again)).rejects.toThrow('duplicate key');
    await postgres.query("DELETE FROM records WHERE key = 'old'");
    expect((await store.walk({ limit: 10 })).records.map(({ key }) => key)).toEqual(['kept']);
    await close();
  });
});
