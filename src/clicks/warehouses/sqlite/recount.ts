/**
 * Recounts whole days. The long part, reading the log and writing runs that no question sees yet, is done while counting
 * continues; the rest is one transaction, in which the replay first catches up with what was counted until then. So
 * nothing is lost or counted twice, and a crash leaves the old numbers.
 */
import type { Database } from 'bun:sqlite';
import { systemClock } from '../../../base/clock.ts';
import { withBusyRetry } from '../../../engines/sqlite/database.ts';
import { type ClickBatch, clicksAt } from '../../click.ts';
import type { PickedClicks, SpanReplay } from '../../replay.ts';
import { grainMs, type TimeRange } from '../../warehouse.ts';
import { countClicks } from './count.ts';
import type { LegacyCounts } from './legacy.ts';
import { dropBuilt, newBuilder } from './merge.ts';
import { liveRuns, setState, totalsRuns } from './runs.ts';

/** How often a replay catches up with the counting threads before it makes them wait. */
const roundsMax = 5;
/** Written in one go. */
const clicksAtOnce = 50_000;
/** New runs are nobody else's for so long. */
const claimMs = 60 * 60_000;

/** `replay` covers whole days. */
export async function recountDays(
  database: Database,
  legacy: LegacyCounts,
  replay: SpanReplay,
): Promise<void> {
  const made = new HiddenRuns(database);
  const isOfLegacy = (): boolean => replay.span.from < legacy.end();
  const wasOfLegacy = isOfLegacy();
  try {
    for (let round = 0; round < roundsMax && !replay.hasReached(readPositions(database)); round += 1)
      await made.add(replay.upTo(readPositions(database)));
    withBusyRetry(() => database.run('BEGIN IMMEDIATE'));
    const before = made.runs.length;
    try {
      if (wasOfLegacy && !isOfLegacy()) {
        // Each process begins with this after an upgrade, and another was sooner.
        database.run('ROLLBACK');
        made.abandon();
        return;
      }
      await made.add(replay.upTo(readPositions(database)));
      await replay.requireKept();
      removeDays(database, legacy, replay.span);
      made.activate();
      replaceLedger(database, replay);
      database.run('COMMIT');
    } catch (error) {
      if (database.inTransaction) database.run('ROLLBACK');
      made.runs.length = before;
      throw error;
    }
  } catch (error) {
    made.abandon();
    throw error;
  }
}

/** Runs that are written a piece at a time and become live together. */
class HiddenRuns {
  readonly #database: Database;
  readonly #builder = newBuilder();
  readonly runs: number[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  async add(pieces: AsyncIterable<readonly PickedClicks[]>): Promise<void> {
    let held: ClickBatch[] = [];
    let clicks = 0;
    for await (const piece of pieces) {
      for (const { batch, rows } of piece) {
        held.push(clicksAt(batch, rows));
        clicks += rows.length;
        if (clicks < clicksAtOnce) continue;
        this.#write(held);
        [held, clicks] = [[], 0];
      }
    }
    this.#write(held);
  }

  /** Throws if they were taken for abandoned meanwhile. */
  activate(): void {
    const change = this.#database.query(
      "UPDATE runs SET state = 'live', claimed_until = 0 WHERE id = ? AND state = 'building' AND builder = ?",
    );
    for (const run of this.runs)
      if (change.run(run, this.#builder).changes === 0)
        throw new Error('the recount took too long and was abandoned');
  }

  /** What this cannot do, maintenance does once the claim is over. */
  abandon(): void {
    try {
      withBusyRetry(() =>
        this.#database.transaction(() => dropBuilt(this.#database, this.runs, this.#builder)).immediate(),
      );
    } catch {
      // The failure that led here says more.
    }
  }

  #write(batches: readonly ClickBatch[]): void {
    const claimedUntil = systemClock.now() + claimMs;
    const keep = this.#database.query('UPDATE runs SET claimed_until = ?2 WHERE id = ?1 AND builder = ?3');
    const write = (): number[] => {
      for (const run of this.runs) keep.run(run, claimedUntil, this.#builder);
      return countClicks(this.#database, batches, {
        state: 'building',
        claimedUntil,
        builder: this.#builder,
      });
    };
    if (this.#database.inTransaction) {
      this.runs.push(...write());
      return;
    }
    withBusyRetry(() => this.#database.run('BEGIN IMMEDIATE'));
    try {
      this.runs.push(...write());
      this.#database.run('COMMIT');
    } catch (error) {
      if (this.#database.inTransaction) this.#database.run('ROLLBACK');
      throw error;
    }
  }
}

/** Takes whole days out of the counts. */
function removeDays(database: Database, legacy: LegacyCounts, days: TimeRange): void {
  const runs = liveRuns(database, days.from, days.to);
  // Also when none of these runs is in them: one that is lost may be.
  if (days.from >= legacy.end() || runs.some(({ totalled }) => totalled === 1)) dropTotals(database);
  setState(
    database,
    runs.map(({ id }) => id),
    'dropped',
  );
  legacy.remove(days);
}

/** Totals are added up again, from all runs: which part of them belongs to some runs is not known any more. */
function dropTotals(database: Database): void {
  database.run("UPDATE runs SET totalled = 0 WHERE state = 'live'");
  setState(
    database,
    totalsRuns(database).map(({ id }) => id),
    'dropped',
  );
}

/** Takes everything from the start of a day on out of the counts, and all positions and numbers back to the start. */
export function forgetFrom(database: Database, legacy: LegacyCounts, from: number): void {
  const last = liveRuns(database, from, Number.MAX_SAFE_INTEGER).at(-1)?.day ?? from;
  removeDays(database, legacy, { from, to: Math.max(last + grainMs.day, legacy.end()) });
  database.query('DELETE FROM ledger WHERE hour >= ?').run(from);
  database.run('DELETE FROM positions');
  database.run('DELETE FROM producers');
}

/** Skipped and repeated numbers stay as they are: a day of the log does not show what came before it. */
function replaceLedger(database: Database, { span: { from, to }, hours }: SpanReplay): void {
  database.query('UPDATE ledger SET counted = 0 WHERE hour >= ? AND hour < ?').run(from, to);
  const write = database.query(`
    INSERT INTO ledger (hour, producer, counted, skipped, duplicates) VALUES (?1, ?2, ?3, 0, 0)
    ON CONFLICT (hour, producer) DO UPDATE SET counted = ?3`);
  for (const { hour, producer, clicks } of hours) write.run(hour, producer, clicks);
  database
    .query('DELETE FROM ledger WHERE hour >= ? AND hour < ? AND counted + skipped + duplicates = 0')
    .run(from, to);
}

function readPositions(database: Database): Map<string, number> {
  const rows = database.query<{ partition: string; position: number }, []>('SELECT * FROM positions').all();
  return new Map(rows.map(({ partition, position }) => [partition, position]));
}
