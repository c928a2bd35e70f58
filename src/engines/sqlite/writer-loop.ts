/**
 * The writer thread's side of group commit: one batch in, one durable transaction, one reply out.
 * If anything in the batch throws, nothing of it is kept and every caller hears so.
 */
import type { Database } from 'bun:sqlite';
import { openForWriting, withBusyRetry } from './database.ts';
import { type MigrationSet, migrate } from './migrations.ts';
import type { BatchReply, BatchRequest, Operations } from './writer.ts';

declare const self: Worker;

export function runWriterLoop(
  migrations: readonly MigrationSet[],
  prepareOperations: (database: Database) => Operations,
): void {
  const reply = (message: BatchReply): void => self.postMessage(message);
  self.onmessage = ({ data: path }: MessageEvent<string>) => {
    try {
      const database = openForWriting(path);
      for (const set of migrations) migrate(database, set);
      const operations = prepareOperations(database);
      self.onmessage = ({ data }: MessageEvent<BatchRequest>) => reply(runBatch(database, operations, data));
      reply({ kind: 'ready' });
    } catch (error) {
      reply(failure(error));
    }
  };
}

function runBatch(database: Database, operations: Operations, batch: BatchRequest): BatchReply {
  try {
    withBusyRetry(() => database.run('BEGIN IMMEDIATE'));
    const results = batch.calls.map(({ name, input }) => {
      const operation = operations[name];
      if (operation === undefined) throw new Error(`unknown operation ${name}`);
      return operation(input);
    });
    withBusyRetry(() => database.run('COMMIT'));
    return { kind: 'committed', results };
  } catch (error) {
    if (database.inTransaction) database.run('ROLLBACK');
    return failure(error);
  }
}

function failure(error: unknown): BatchReply {
  const { message, code } = error as { message?: string; code?: string };
  return { kind: 'failed', message: message ?? String(error), code };
}
