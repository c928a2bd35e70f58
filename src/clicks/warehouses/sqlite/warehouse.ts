/** The warehouse in one SQLite file. Click threads write to it; `createReader` serves callers that only query. */
import type { Database } from 'bun:sqlite';
import { openForWriting, withBusyRetry } from '../../../engines/sqlite/database.ts';
import { migrate } from '../../../engines/sqlite/migrations.ts';
import { addToDeltas, type Deltas } from '../../aggregate.ts';
import { clickCount, clicksFrom, withoutFirst } from '../../click.ts';
import type { LogBatch } from '../../log.ts';
import { hourOf } from '../../replay.ts';
import type { ApplyResult, CountedProducer, Warehouse } from '../../warehouse.ts';
import { createHours, prepareCounting } from './count.ts';
import { createReader } from './read.ts';
import { recountDays } from './recount.ts';
import { warehouseMigrations } from './schema.ts';

/** Counting can wait, storing cannot: the thread that waits here is the one that writes the log. */
const countLockMaxMs = 500;

export function openSqliteWarehouse(path: string): Warehouse {
  const database = openForWriting(path);
  // The log is the durable copy: after a power cut the file may be a few commits back, and so are its positions,
  // from which the log is counted again. Waiting for the disk here would gain nothing.
  database.run('PRAGMA synchronous = NORMAL');
  migrate(database, warehouseMigrations);
  return createSqliteWarehouse(database);
}

export function createSqliteWarehouse(database: Database): Warehouse {
  const count = prepareCounting(database);
  const read = createReader(database);
  const hours = createHours(database);
  const positionRows = database.query<{ partition: string; position: number }, []>('SELECT * FROM positions');
  const readPosition = database.query<{ position: number }, [string]>(
    'SELECT position FROM positions WHERE partition = ?',
  );
  const writePosition = database.query(
    'INSERT INTO positions VALUES (?1, ?2) ON CONFLICT (partition) DO UPDATE SET position = ?2',
  );
  const producerRows = database.query<CountedProducer, []>('SELECT producer, sequence FROM producers');
  const readSequence = database.query<{ sequence: number }, [string]>(
    'SELECT sequence FROM producers WHERE producer = ?',
  );
  const writeSequence = database.query(
    'INSERT INTO producers VALUES (?1, ?2) ON CONFLICT (producer) DO UPDATE SET sequence = ?2',
  );
  const keepSequence = database.query('INSERT OR IGNORE INTO producers VALUES (?1, ?2)');
  const addToLedger = database.query(`
    INSERT INTO ledger (hour, producer, counted, skipped, duplicates) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (hour, producer) DO UPDATE
    SET counted = counted + ?3, skipped = skipped + ?4, duplicates = duplicates + ?5`);
  const dropOldMinutes = database.query(`
    DELETE FROM minutes WHERE (scope, start) IN (
      SELECT scope, start FROM minutes INDEXED BY minutes_by_start WHERE start < ? ORDER BY start LIMIT ?)`);
  const forgottenRow = database.query<{ at: number }, [string]>('SELECT at FROM forgotten WHERE code = ?');
  const forgottenBefore = (code: string): number => forgottenRow.get(code)?.at ?? 0;

  /** Takes one batch into the deltas, without what was counted before; undefined when it is not its turn. */
  function take(
    deltas: Deltas,
    { partition, from, to, producer, batch }: LogBatch,
    countFrom: number,
  ): ApplyResult | undefined {
    if ((readPosition.get(partition)?.position ?? 0) !== from) return undefined;
    const known = readSequence.get(producer);
    const counted = known?.sequence ?? 0;
    const duplicates = Math.max(0, Math.min(clickCount(batch), counted - batch.firstSequence + 1));
    const fresh = duplicates === 0 ? batch : withoutFirst(batch, duplicates);
    const clicks = clickCount(fresh);
    // If a producer's first days are no longer kept, its first numbers are not missing but expired.
    const startsLate = known === null && countFrom > 0;
    const skipped = clicks === 0 || startsLate ? 0 : fresh.firstSequence - counted - 1;
    const wanted = clicksFrom(fresh, countFrom);
    addToDeltas(deltas, wanted, { forgottenBefore });
    hours.noteCounted(wanted, forgottenBefore);
    for (const [hour, inHour] of clicksPerHour(wanted.at)) addToLedger.run(hour, producer, inHour, 0, 0);
    if (skipped + duplicates > 0 && batch.at[0]! >= countFrom)
      addToLedger.run(hourOf(batch.at[0]!), producer, 0, skipped, duplicates);
    writePosition.run(partition, to);
    if (clicks > 0) writeSequence.run(producer, fresh.firstSequence + clicks - 1);
    return { clicks, duplicates };
  }

  const rollBack = (error: unknown): never => {
    if (database.inTransaction) database.run('ROLLBACK');
    throw error;
  };

  function inTransaction<Result>(work: () => Result, lockMaxMs?: number): Result {
    withBusyRetry(() => database.run('BEGIN IMMEDIATE'), lockMaxMs);
    try {
      const result = work();
      database.run('COMMIT');
      return result;
    } catch (error) {
      return rollBack(error);
    }
  }

  function applyAll(batches: readonly LogBatch[], countFrom = 0): ApplyResult {
    const deltas: Deltas = new Map();
    const results = batches.map(batch => take(deltas, batch, countFrom));
    count(deltas);
    const sum = (field: keyof ApplyResult): number =>
      results.reduce((total, result) => total + (result?.[field] ?? 0), 0);
    return { clicks: sum('clicks'), duplicates: sum('duplicates') };
  }

  return {
    async positions() {
      return new Map(positionRows.all().map(({ partition, position }) => [partition, position]));
    },
    apply: async batches => inTransaction(() => applyAll(batches), countLockMaxMs),
    async recountAll({ countFrom, producers }, batches) {
      withBusyRetry(() => database.run('BEGIN IMMEDIATE'));
      try {
        const known = producerRows.all();
        forgetFrom(database, countFrom);
        let [clicks, duplicates] = [0, 0];
        for await (const chunk of batches) {
          const result = applyAll(chunk, countFrom);
          clicks += result.clicks;
          duplicates += result.duplicates;
        }
        // A producer without anything to read keeps its number, unless no clicks are left that the number could cover.
        const gone = new Set(countFrom > 0 ? [] : producers);
        for (const { producer, sequence } of known)
          if (!gone.has(producer)) keepSequence.run(producer, sequence);
        database.run('COMMIT');
        return { clicks, duplicates };
      } catch (error) {
        return rollBack(error);
      }
    },
    earliest: async () =>
      database.query<{ start: number | null }, []>('SELECT min(start) AS start FROM days').get()?.start ??
      undefined,
    series: async (...query) => read.series(...query),
    counts: async question => read.counts(question),
    uniques: async (...query) => read.uniques(...query),
    dimensions: async (...query) => read.dimensions(...query),
    total: async scope => read.total(scope),
    totals: async scopes => scopes.map(scope => read.total(scope)),
    ranking: async question => read.ranking(question),
    ledger: async (from, to) => read.ledger(from, to),
    ledgerOf: async () => read.ledger(0, Number.MAX_SAFE_INTEGER),
    hourSums: async (from, to) => hours.sums(from, to),
    comparableSince: async () => hours.comparableSince(),
    recountDays: replay => recountDays(database, replay),
    producers: async () => producerRows.all(),

    async forget(code, at) {
      inTransaction(() => {
        const scope = database
          .query<{ id: number }, [string]>('SELECT id FROM scopes WHERE name = ?')
          .get(code)?.id;
        hours.noteDeletion(scope ?? -1);
        for (const table of ['minutes', 'quarters', 'days']) {
          database.query(`DELETE FROM ${table} WHERE scope = ?`).run(scope ?? -1);
        }
        database.query('DELETE FROM scopes WHERE name = ?').run(code);
        database
          .query('INSERT INTO forgotten VALUES (?1, ?2) ON CONFLICT (code) DO UPDATE SET at = max(at, ?2)')
          .run(code, at);
      });
    },
    forgottenBefore: async code => forgottenBefore(code),
    dropMinutes: async (before, rowsMax) =>
      inTransaction(() => {
        const { changes } = dropOldMinutes.run(before, rowsMax);
        if (changes > 0) hours.noteDrop(before);
        return changes + fillOwner(database);
      }, countLockMaxMs),
    async retire(partitions) {
      const drop = database.query('DELETE FROM positions WHERE partition = ?');
      inTransaction(() => partitions.forEach(partition => void drop.run(partition)), countLockMaxMs);
    },
    async close() {
      database.close();
    },
  };
}

/**
 * Earlier versions did not note whose link a scope is; the lists of an owner's days show it. Returns whether there was
 * an owner left to do this for.
 */
function fillOwner(database: Database): number {
  const next = database.query<{ scope: number }, []>('SELECT scope FROM owners_to_fill LIMIT 1').get();
  if (next === null) return 0;
  database
    .query(`
      UPDATE scopes SET owner = followed.owner FROM (
        SELECT DISTINCT substr(owners.name, 7) AS owner, listed.key AS code
        FROM scopes AS owners JOIN days ON days.scope = owners.id, json_each(days.dimensions, '$.link') AS listed
        WHERE owners.id = ?
      ) AS followed WHERE scopes.name = followed.code AND scopes.owner IS NULL`)
    .run(next.scope);
  database.query('DELETE FROM owners_to_fill WHERE scope = ?').run(next.scope);
  return 1;
}

/** Takes everything from a time on out of the counts, and all positions and numbers back to the start. */
function forgetFrom(database: Database, from: number): void {
  for (const table of ['minutes', 'quarters', 'days'])
    database.query(`DELETE FROM ${table} WHERE start >= ?`).run(from);
  for (const table of ['ledger', 'forgotten_hours'])
    database.query(`DELETE FROM ${table} WHERE hour >= ?`).run(from);
  database.run('DELETE FROM positions');
  database.run('DELETE FROM producers');
  // Where the last click goes, the quarter hour of the one before it is all that is known, until clicks are counted again.
  const addUpWhatIsLeft = database.query(`
    UPDATE scopes SET
      clicks = (SELECT coalesce(sum(clicks), 0) FROM days WHERE scope = scopes.id),
      bots = (SELECT coalesce(sum(bots), 0) FROM days WHERE scope = scopes.id),
      suspicious = (SELECT coalesce(sum(suspicious), 0) FROM days WHERE scope = scopes.id),
      last_at = iif(last_at < ?, last_at, (SELECT coalesce(max(start), 0) FROM quarters WHERE scope = scopes.id))`);
  addUpWhatIsLeft.run(from);
}

function clicksPerHour(times: Float64Array): Map<number, number> {
  const hours = new Map<number, number>();
  for (const at of times) hours.set(hourOf(at), (hours.get(hourOf(at)) ?? 0) + 1);
  return hours;
}
