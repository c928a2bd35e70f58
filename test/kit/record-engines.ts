/** Record stores on every engine, for suites of rules that are written once above the port. */
import { test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createDynamoRecords } from '../../src/records/drivers/dynamodb.ts';
import { createMemoryRecords } from '../../src/records/drivers/memory.ts';
import { createPostgresRecords, recordMigrations } from '../../src/records/drivers/postgres.ts';
import { createSqliteRecords } from '../../src/records/drivers/sqlite.ts';
import { assertTransactionSize, type RecordStore } from '../../src/records/record-store.ts';
import { type EmbeddedDatabase, openEmbedded } from '../../src/stores/embedded.ts';
import { freshDynamoTable } from './dynamo-table.ts';
import { describeWithEngine } from './engines/describe-with-engine.ts';
import { openPostgresHandles } from './postgres-handles.ts';

export interface OpenedRecords {
  readonly store: RecordStore;
  /** Another handle to the same records, as another process would have; `dispose` closes it too. */
  readonly reopen: () => Promise<RecordStore>;
  readonly dispose: () => Promise<void>;
}

/** `clock` decides what has expired; deadlines run on real time. */
export type OpenRecords = (clock?: Pick<Clock, 'now'>) => Promise<OpenedRecords>;

/**
 * For tests of rules that need nothing special from the port: it has its own conformance suite, so such rules are
 * tested only where records are fast. Tests that depend on conflicts, pages or indexes use `test` and run on every
 * engine.
 */
export const ruleTestOn = (engine: string): ((name: string, run: () => Promise<void>) => void) =>
  isQuick(engine) ? test : () => {};

/** Whether a record costs next to nothing there. */
export const isQuick = (engine: string): boolean => engine === 'memory' || engine === 'sqlite';

/** Runs the suite for each engine; an unavailable one is reported as skipped. */
export function onEveryRecordEngine(title: string, suite: (engine: string, open: OpenRecords) => void): void {
  suite('memory', openMemoryRecords);
  suite('sqlite', openSqliteRecords);
  describeWithEngine('postgres', `${title} in Postgres`, () => suite('postgres', openPostgresRecords));
  describeWithEngine('dynamodb', `${title} in DynamoDB`, () => suite('dynamodb', openDynamoRecords));
}

export const openMemoryRecords: OpenRecords = async (clock = systemClock) => {
  const records = createMemoryRecords(clock);
  const store: RecordStore = {
    ...records,
    async transact(writes) {
      // A rule that is only tested here must fit every engine.
      assertTransactionSize(writes);
      return records.transact(writes);
    },
  };
  return { store, reopen: async () => store, dispose: async () => {} };
};

export const openSqliteRecords: OpenRecords = async (clock = systemClock) => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-records-'));
  const opened: EmbeddedDatabase[] = [];
  const open = async () => {
    const database = await openEmbedded(folder);
    opened.push(database);
    return createSqliteRecords(database.reader, database.writer, clock);
  };
  return {
    store: await open(),
    reopen: open,
    async dispose() {
      for (const database of opened) {
        await database.writer.close();
        database.reader.close();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

export const openPostgresRecords: OpenRecords = async (clock = systemClock) => {
  const { first, open, close } = await openPostgresHandles([recordMigrations]);
  const mixed = { ...systemClock, now: () => clock.now() };
  return {
    store: createPostgresRecords(first, mixed),
    reopen: async () => createPostgresRecords(open(), mixed),
    dispose: close,
  };
};

export const openDynamoRecords: OpenRecords = async (clock = systemClock) => {
  const table = await freshDynamoTable();
  return {
    store: createDynamoRecords(table.dynamo, clock),
    reopen: async () => createDynamoRecords(table.again().dynamo, clock),
    dispose: () => table.dispose(),
  };
};
