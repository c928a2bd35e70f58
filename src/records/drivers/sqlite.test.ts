import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { openSqliteRecords } from '../../../test/kit/record-engines.ts';
import { ManualClock } from '../../base/clock.ts';
import { migrate } from '../../engines/sqlite/migrations.ts';
import { journalKind } from '../fake-kinds.ts';
import { recordStoreConformance } from '../record-store.conformance.ts';
import { put } from '../record-store.ts';
import { createSqliteRecords, prepareRecordWrites, recordMigrations, recordOperations } from './sqlite.ts';

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

test('what is written over the connection that reads is read', async () => {
  const database = new Database(':memory:');
  migrate(database, recordMigrations);
  const { transactRecords } = recordOperations(database);
  const writer = { run: async (_: string, input: unknown) => transactRecords(input as never) };
  const records = createSqliteRecords(database, writer as never, new ManualClock());
  const find = async () => (await records.get(journalKind, 'one'))?.value;
  expect(await find()).toBeUndefined();
  await records.transact([put(journalKind, { id: 'one', lockedUntil: 5 })]);
  expect(await find()).toEqual({ id: 'one', lockedUntil: 5 });
  database.close();
});

test('what several callers share cannot be changed by one of them', async () => {
  const { store, dispose } = await openSqliteRecords();
  await store.transact([put(journalKind, { id: 'one', lockedUntil: 5 })]);
  const found = (await store.get(journalKind, 'one'))!;
  expect(() => Object.assign(found.value, { lockedUntil: 6 })).toThrow(TypeError);
  expect(() => Object.assign(found, { version: 1 })).toThrow(TypeError);
  await dispose();
});
