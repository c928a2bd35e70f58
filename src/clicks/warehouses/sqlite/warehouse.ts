/** The warehouse in one SQLite file. Click threads write to it; other threads only query. */
import type { Database } from 'bun:sqlite';
import { isBusy, openForWriting, withBusyRetry } from '../../../engines/sqlite/database.ts';
import { migrate } from '../../../engines/sqlite/migrations.ts';
import { type ClickBatch, clickCount, clicksFrom, withoutFirst } from '../../click.ts';
import type { LogBatch } from '../../log.ts';
import { hourMs, hourOf } from '../../replay.ts';
import {
  type ApplyResult,
  type CountedProducer,
  grainMs,
  type HourSum,
  type LedgerRow,
  type ScopesQuestion,
  type Warehouse,
} from '../../warehouse.ts';
import { countClicks } from './count.ts';
import { LegacyCounts } from './legacy.ts';
import { Maintenance } from './maintain.ts';
import { answerQuestion, createTotals } from './read.ts';
import { recentClicks } from './recent.ts';
import { forgetFrom, recountDays } from './recount.ts';
import { liveRuns } from './runs.ts';
import { warehouseMigrations } from './schema.ts';

/** Counting can wait, storing cannot: the thread that waits here is the one that writes the log. */
const countLockMaxMs = 500;

export function openSqliteWarehouse(path: string): Warehouse {
  const database = openForWriting(path);
  // The log is the durable copy: after a power cut the file may be a few commits back, and so are its positions,
  // from which the log is counted again. Waiting for the disk here would gain nothing.
  database.run('PRAGMA synchronous = NORMAL');
  // Runs are written once and read through: few pages are needed twice.
  database.run('PRAGMA cache_size = -4096');
  migrate(database, warehouseMigrations);
  return createSqliteWarehouse(database);
}

export function createSqliteWarehouse(database: Database): Warehouse {
  const legacy = new LegacyCounts(database);
  const maintenance = new Maintenance(database, legacy);
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
  const ledgerRows = database.query<LedgerRow, [number, number]>(`
    SELECT hour, producer, counted, skipped, duplicates FROM ledger
    WHERE hour >= ? AND hour < ? ORDER BY hour, producer`);
  const forgottenRow = database.query<{ at: number }, [string]>('SELECT at FROM forgotten WHERE code = ?');
  const forgottenBefore = (code: string): number => forgottenRow.get(code)?.at ?? 0;
  const sources = { database, legacy, forgottenBefore };
  const totals = createTotals(sources);
  /** One snapshot, so that nothing is counted or merged between two looks. */
  const inSnapshot = <Input extends unknown[], Result>(read: (...input: Input) => Result) =>
    database.transaction(read) as unknown as (...input: Input) => Result;
  const answer = inSnapshot((question: Parameters<Warehouse['answer']>[0]) =>
    answerQuestion(sources, question),
  );
  const answerAll = inSnapshot(
    (
      questions: readonly Parameters<Warehouse['answer']>[0][],
      scopes: Parameters<Warehouse['totals']>[0],
    ) => ({
      answers: questions.map(question => answerQuestion(sources, question)),
      totals: totals.totals(scopes),
    }),
  );
  const clicksBy = inSnapshot(({ scopes, starts, to }: ScopesQuestion) => {
    const question = { from: starts[0] ?? to, to, starts, filters: [], breakdowns: [] };
    return scopes.map(scope =>
      answerQuestion(sources, { ...question, scopes: [scope] }).series.map(({ clicks }) => clicks),
    );
  });
  const recent = inSnapshot((question: Parameters<Warehouse['recent']>[0]) =>
    recentClicks(sources, question),
  );
  const totalsOf = inSnapshot(totals.totals);
  const ranking = inSnapshot(totals.ranking);

  /** What of a batch was not counted before; undefined when it is not its turn. */
  function take(
    { partition, from, to, producer, batch }: LogBatch,
    countFrom: number,
  ): (ApplyResult & { readonly wanted: ClickBatch }) | undefined {
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
    for (const [hour, inHour] of clicksPerHour(wanted.at)) addToLedger.run(hour, producer, inHour, 0, 0);
    if (skipped + duplicates > 0 && batch.at[0]! >= countFrom)
      addToLedger.run(hourOf(batch.at[0]!), producer, 0, skipped, duplicates);
    writePosition.run(partition, to);
    if (clicks > 0) writeSequence.run(producer, fresh.firstSequence + clicks - 1);
    return { clicks, duplicates, wanted };
  }

  function inTransaction<Result>(work: () => Result, lockMaxMs?: number): Result {
    withBusyRetry(() => database.run('BEGIN IMMEDIATE'), lockMaxMs);
    try {
      const result = work();
      database.run('COMMIT');
      return result;
    } catch (error) {
      if (database.inTransaction) database.run('ROLLBACK');
      throw error;
    }
  }

  function applyAll(batches: readonly LogBatch[], countFrom = 0): ApplyResult {
    const taken = batches.flatMap(batch => take(batch, countFrom) ?? []);
    countClicks(
      database,
      taken.map(({ wanted }) => wanted),
    );
    const sum = (field: keyof ApplyResult): number =>
      taken.reduce((total, result) => total + result[field], 0);
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
        forgetFrom(database, legacy, countFrom);
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
        if (database.inTransaction) database.run('ROLLBACK');
        throw error;
      }
    },
    async earliest() {
      const first = database
        .query<{ day: number | null }, []>(
          "SELECT min(day) AS day FROM runs WHERE state = 'live' AND day >= 0",
        )
        .get()?.day;
      const hour =
        legacy.end() === 0
          ? null
          : database.query<{ hour: number | null }, []>('SELECT min(hour) AS hour FROM ledger').get()?.hour;
      const days = [first, hour].filter(day => day !== null && day !== undefined);
      return days.length === 0 ? undefined : Math.floor(Math.min(...days) / grainMs.day) * grainMs.day;
    },
    async state() {
      const { bytes } = database
        .query<{ bytes: number }, []>(
          'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
        )
        .get()!;
      const { runs } = database
        .query<{ runs: number }, []>("SELECT count(*) AS runs FROM runs WHERE state = 'live'")
        .get()!;
      return { legacyUntil: legacy.end(), bytes, runs };
    },
    answer: async question => answer(question),
    answerAll: async (questions, scopes) => answerAll(questions, scopes),
    recent: async question => recent(question),
    total: async scope => totalsOf([scope])[0]!,
    totals: async scopes => totalsOf(scopes),
    clicksBy: async question => clicksBy(question),
    ranking: async question => ranking(question),
    ledger: async (from, to) => ledgerRows.all(from, to),
    ledgerOf: async () => ledgerRows.all(0, Number.MAX_SAFE_INTEGER),
    hourSums: async (from, to) => hourSums(database, from, to),
    comparableSince: async () => legacy.end(),
    recountDays: replay => recountDays(database, legacy, replay),
    producers: async () => producerRows.all(),

    async forget(code, at) {
      inTransaction(() => {
        legacy.forget(code);
        database
          .query('INSERT INTO forgotten VALUES (?1, ?2) ON CONFLICT (code) DO UPDATE SET at = max(at, ?2)')
          .run(code, at);
      });
    },
    forgottenBefore: async code => forgottenBefore(code),
    async maintain(plan) {
      // A lock that cannot be had yet changes nothing: the merge goes on the next time.
      try {
        withBusyRetry(() => database.run('BEGIN IMMEDIATE'), countLockMaxMs);
      } catch (error) {
        if (isBusy(error)) return 0;
        throw error;
      }
      try {
        const done = maintenance.step(plan);
        database.run('COMMIT');
        return done;
      } catch (error) {
        if (database.inTransaction) database.run('ROLLBACK');
        maintenance.reset();
        throw error;
      }
    },
    async retire(partitions) {
      const drop = database.query('DELETE FROM positions WHERE partition = ?');
      inTransaction(() => partitions.forEach(partition => void drop.run(partition)), countLockMaxMs);
    },
    async close() {
      database.close();
    },
  };
}

/** Runs note how many clicks they have in each hour. */
function hourSums(database: Database, from: number, to: number): HourSum[] {
  const sums = new Map<number, number>();
  for (const { id, day } of liveRuns(database, Math.floor(from / grainMs.day) * grainMs.day, to)) {
    const { hours } = database
      .query<{ hours: string }, [number]>('SELECT hours FROM runs WHERE id = ?')
      .get(id)!;
    for (const [index, clicks] of (JSON.parse(hours) as number[]).entries()) {
      const hour = day + index * hourMs;
      if (clicks > 0 && hour >= from && hour < to) sums.set(hour, (sums.get(hour) ?? 0) + clicks);
    }
  }
  return [...sums]
    .map(([hour, counted]) => ({ hour, counted, forgotten: 0, kept: null }))
    .sort((a, b) => a.hour - b.hour);
}

function clicksPerHour(times: Float64Array): Map<number, number> {
  const hours = new Map<number, number>();
  for (const at of times) {
    const hour = hourOf(at);
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
  }
  return hours;
}
