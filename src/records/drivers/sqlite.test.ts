import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { openSqliteRecords } from '../../../test/kit/record-engines.ts';
import { migrate } from '../../engines/sqlite/migrations.ts';
import { journalKind } from '../fake-kinds.ts';
import { recordStoreConformance } from '../record-store.conformance.ts';
import { put } from '../record-store.ts';
import { prepareRecordWrites, recordMigrations } from './sqlite.ts';

recordStoreConformance('sqlite', openSqliteRecords, { sweeps: true, locks: true });

test('no statement changes or removes an append-only record before its time', () => {
  const database = new Database(':memory:');
  migrate(database, recordMigrations);
  const lockedUntil = Date.now() + 60_000;
  const write = prepareRecordWrites(database);
  write([put(journalKind, { id: 'kept', lockedUntil }), put(journalKind, { id: 'old', lockedUntil: 1 })], 0);
  for (const statement of [
    "UPDATE records SET value = '{}'",
    "UPDATE records SET locked_until = 0 WHERE key = 'old'",
    'DELETE FROM records',
    "DELETE FROM records WHERE key = 'kept'",
    'INSERT OR REPLACE INTO records SELECT * FROM records',
  ])
    expect(() => database.run(statement)).toThrow('append-only');
  database.run("DELETE FROM records WHERE key = 'old'");
  expect(database.query('SELECT key FROM records').all()).toEqual([{ key: 'kept' }]);
  database.close();
});
