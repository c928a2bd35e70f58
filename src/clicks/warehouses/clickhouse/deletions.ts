/**
 * What owners deleted while clicks were counted by somebody who did not know of it yet. A deletion is a mark and then the
 * removal of what there is; clicks that are inserted behind it, or into tables that it does not know of, have to be
 * removed by whoever put them there.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { quoted } from '../../../engines/clickhouse/text.ts';
import { grainMs } from '../../warehouse.ts';
import { tableName } from './schema.ts';

/** Clicks of a link before `at` do not count. */
export interface Mark {
  readonly code: string;
  readonly at: number;
}

const deleteMaxMs = 60_000;
/** So many fit into a statement. */
const marksMax = 1_000;
/** A mark that is older has its removal behind it, of which each step has its deadline; and clocks differ. */
const removalMaxMs = 5 * 60_000;
/** The latest that the columns can hold. */
const [latestSecond, latestDay] = [2 ** 32 - 1, 2 ** 16 - 1];
const beginnings = { minutes: 'start', quarters: 'start', days: 'day', dimensions: 'day' } as const;

export async function serverTime(clickHouse: ClickHouse): Promise<number> {
  const [row] = await clickHouse.rows<{ now: number }>('SELECT toUnixTimestamp64Milli(now64(3)) AS now');
  return row!.now;
}

/**
 * Removes what marks cover, by whole rows: of the minute, quarter hour or day that a mark lies in, everything goes.
 * Single clicks stay and are hidden by the mark.
 */
export async function removeMarked(
  clickHouse: ClickHouse,
  generation: number,
  marks: readonly Mark[],
): Promise<void> {
  for (let first = 0; first < marks.length; first += marksMax) {
    const some = marks.slice(first, first + marksMax);
    for (const [table, column] of Object.entries(beginnings) as [keyof typeof beginnings, string][]) {
      const conditions = some.map(
        ({ code, at }) => `(scope = ${quoted(code)} AND ${column} < ${endOf(column, at)})`,
      );
      await clickHouse.run(`DELETE FROM ${tableName(table, generation)} WHERE ${conditions.join(' OR ')}`, {
        deadlineMs: deleteMaxMs,
      });
    }
  }
}

/** The deletions since a rebuild began, each repeated once in the tables that it fills. */
export class DeletionsSince {
  readonly #clickHouse: ClickHouse;
  readonly #generation: number;
  readonly #since: number;
  /** How many marks of a link were heeded: the same may be set again. */
  readonly #heeded = new Map<string, number>();

  /** `begunAt` is by the server's clock. */
  constructor(clickHouse: ClickHouse, generation: number, begunAt: number) {
    this.#clickHouse = clickHouse;
    this.#generation = generation;
    this.#since = begunAt - removalMaxMs;
  }

  /** The sooner after a deletion, the fewer clicks that came after it go with the others. */
  async repeat(): Promise<void> {
    const rows = await this.#clickHouse.rows<Mark & { marks: number }>(`
      SELECT code, max(at_ms) AS at, count() AS marks FROM forgotten
      WHERE noted >= fromUnixTimestamp64Milli(${this.#since}) GROUP BY code`);
    const unheeded = rows.filter(({ code, marks }) => marks !== this.#heeded.get(code));
    await removeMarked(this.#clickHouse, this.#generation, unheeded);
    for (const { code, marks } of unheeded) this.#heeded.set(code, marks);
  }
}

function endOf(column: string, at: number): string {
  return column === 'day'
    ? `toDate(${Math.min(latestDay, Math.ceil(at / grainMs.day))})`
    : `toDateTime(${Math.min(latestSecond, Math.ceil(at / 1_000))}, 'UTC')`;
}
