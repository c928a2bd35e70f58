/**
 * Counting, exactly once in effect. A block is inserted everywhere under a token that names its place in the stream,
 * and last of all its place in the ledger: a block that the ledger does not know is inserted again, by the process that
 * reads it next, and is taken only where it had not arrived.
 */
import { type ClickHouse, quoted, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import type { LogBatch } from '../../log.ts';
import { type ApplyResult, grainMs } from '../../warehouse.ts';
import { type Block, type CountedClicks, type Progress, partsByDays, planBlocks, tokenOf } from './block.ts';
import { type LedgerKind, scopedTables, tableName, timeColumns } from './columns.ts';
import { currentGeneration, type Generations } from './generations.ts';
import { incomingBody } from './incoming.ts';
import { firstGeneration } from './schema.ts';

/**
 * However large, a block is one insert to ClickHouse: if it were cut in two there, a part would look like the whole.
 */
export const undivided = Object.fromEntries(
  ['', '_for_materialized_views'].flatMap(where => [
    [`min_insert_block_size_rows${where}`, 1_000_000_000],
    [`min_insert_block_size_bytes${where}`, 100_000_000_000],
  ]),
);
/** Clicks that waited for long may come with those of many days; beyond these they are inserted in parts. */
const daysMax = 1_000;

interface State {
  readonly generation: number;
  readonly progress: Progress;
}

interface StateRow extends Omit<DeletionRow, 'what'> {
  readonly what: LedgerKind | 'generation' | DeletionRow['what'];
}

/** A block that may have arrived behind the removal of what was deleted meanwhile. */
interface UnsettledBlock {
  readonly block: Block;
  /** How many marks were known when it was made. */
  readonly deletionsKnown: number;
}

export class Counter {
  readonly #clickHouse: ClickHouse;
  readonly #generations: Generations;
  readonly #deletions = new KnownDeletions();
  /** By their tokens; what could not be settled is settled with the next. */
  readonly #unsettled = new Map<string, UnsettledBlock>();

  constructor(clickHouse: ClickHouse, generations: Generations) {
    this.#clickHouse = clickHouse;
    this.#generations = generations;
  }

  apply(batches: readonly LogBatch[]): Promise<ApplyResult> {
    return this.#generations.use(async known => {
      const state = await this.#stateOf(known, batches);
      this.#generations.note(state.generation);
      // All other processes have moved on to other tables; what was read belongs to the old ones.
      const current = state.generation === known ? state : await this.#stateOf(state.generation, batches);
      const deletionsKnown = this.#deletions.count;
      const blocks = planBlocks(batches, current.progress);
      let result: ApplyResult;
      try {
        result = await this.#count(blocks, current.generation);
      } finally {
        // Also after a failure it is unknown whether the block has arrived.
        for (const block of blocks) this.#doubt({ block, deletionsKnown });
      }
      await this.#settle(current.generation);
      return result;
    });
  }

  /** Into a generation that is not active yet; the process that activates it handles deletions made meanwhile. */
  async applyTo(generation: number, batches: readonly LogBatch[], countFrom: number): Promise<ApplyResult> {
    const { progress } = await this.#stateOf(generation, batches);
    return this.#count(planBlocks(batches, progress, countFrom), generation);
  }

  async #count(blocks: readonly Block[], generation: number): Promise<ApplyResult> {
    let [clicks, duplicates] = [0, 0];
    for (const block of blocks) {
      await this.#insert(generation, block);
      clicks += block.clicks;
      duplicates += block.duplicates;
    }
    return { clicks, duplicates };
  }

  /** Clicks into a generation that is not active, without an entry in its ledger. */
  async fill(generation: number, token: string, clicks: readonly CountedClicks[]): Promise<void> {
    await this.#stateOf(generation, []);
    await this.#insertClicks(generation, token, clicks);
  }

  async #insert(generation: number, block: Block): Promise<void> {
    const token = tokenOf(block);
    await this.#insertClicks(generation, token, block.counted);
    await this.#clickHouse.insert({
      table: tableName('ledger', generation),
      format: 'JSONEachRow',
      body: ledgerLines(block),
      settings: { insert_deduplication_token: token },
    });
  }

  async #insertClicks(generation: number, token: string, clicks: readonly CountedClicks[]): Promise<void> {
    for (const [index, part] of partsByDays(clicks, daysMax).entries()) {
      const body = incomingBody(part, code => this.#deletions.forgottenBefore(code));
      if (body.length === 0) continue;
      await this.#clickHouse.insert({
        table: tableName('incoming', generation),
        format: 'Native',
        body,
        settings: {
          insert_deduplication_token: index === 0 ? token : `${token}/${index}`,
          ...undivided,
          deduplicate_blocks_in_dependent_materialized_views: 1,
          max_partitions_per_insert_block: daysMax,
        },
      });
    }
  }

  #doubt({ block, deletionsKnown }: UnsettledBlock): void {
    const token = tokenOf(block);
    // The first attempt knew the fewest marks.
    if (block.clicks > 0 && !this.#unsettled.has(token))
      this.#unsettled.set(token, { block, deletionsKnown });
  }

  /**
   * Removes again what was deleted while blocks were on their way. A deletion that cannot be found yet has its removal
   * before it, which then finds the blocks.
   */
  async #settle(generation: number): Promise<void> {
    if (this.#unsettled.size === 0) return;
    const settled = [...this.#unsettled];
    const rows = await this.#clickHouse.rows<DeletionRow>(this.#deletions.newerText());
    for (const row of rows) this.#deletions.note(row);
    const missed = settled.flatMap(([, { block, deletionsKnown }]) =>
      this.#deletions.after(deletionsKnown).filter(deletion => hasDeleted(block, deletion)),
    );
    await removeDeleted(this.#clickHouse, generation, missed);
    for (const [token] of settled) this.#unsettled.delete(token);
  }

  /** One look at everything that decides what is counted. */
  async #stateOf(generation: number, batches: readonly LogBatch[]): Promise<State> {
    const partitions = new Set(batches.map(({ partition }) => partition));
    const producers = new Set(batches.map(({ producer }) => producer));
    const rows = await this.#clickHouse.rows<StateRow>(`
      SELECT 'generation' AS what, '' AS name, (${currentGeneration}) AS value, 0 AS noted
      UNION ALL ${this.#deletions.newerText()}
      UNION ALL
      SELECT toString(kind), name, max(position), 0 FROM ${tableName('ledger', generation)}
      WHERE (kind = 'partition' AND name IN ${quotedList([...partitions])})
        OR (kind = 'producer' AND name IN ${quotedList([...producers])})
      GROUP BY kind, name`);
    let current: number = firstGeneration;
    const [positions, sequences] = [new Map<string, number>(), new Map<string, number>()];
    for (const row of rows) {
      const { what, name, value } = row;
      if (what === 'generation') current = value;
      else if (what === 'forgotten') this.#deletions.note(row);
      else if (what === 'partition') positions.set(name, value);
      else sequences.set(name, value);
    }
    return { generation: current, progress: { positions, sequences } };
  }
}

/** Whether a block has clicks that a deletion covers. */
const hasDeleted = ({ counted }: Block, { code, at }: Deletion): boolean =>
  counted.some(({ batch, rows }) =>
    rows.some(row => batch.at[row]! < at && batch.links[batch.link[row]!]!.code === code),
  );

function ledgerLines({ partition, to, sequences, ledger }: Block): string {
  const line = (kind: LedgerKind, name: string, fields: object): string =>
    JSON.stringify({ kind, name, ...fields });
  return [
    line('partition', partition, { position: to }),
    ...[...sequences].map(([producer, position]) => line('producer', producer, { position })),
    ...[...ledger.values()].map(({ hour, producer, ...counts }) =>
      line('hour', producer, { hour: hour / 1_000, ...counts }),
    ),
  ].join('\n');
}

/** For which links clicks before a given time do not count, as far as this process knows: few, and never forgotten. */
/** KnownDeletions are looked for from this long before the newest known: the clocks of the processes that set them differ. */
const overlapMs = 60_000;

/** A row of the answer to `newerText`. */
export interface DeletionRow {
  readonly what: 'forgotten';
  readonly name: string;
  readonly value: number;
  readonly noted: number;
}

export class KnownDeletions {
  readonly #times = new Map<string, number>();
  /** The same, in the order in which they became known. */
  readonly #learnt: Deletion[] = [];
  #notedMs = 0;

  /** How many are known so far. */
  get count(): number {
    return this.#learnt.length;
  }

  /** Those that became known after the first so many. */
  after(count: number): readonly Deletion[] {
    return this.#learnt.slice(count);
  }

  forgottenBefore(code: string): number {
    return this.#times.get(code) ?? 0;
  }

  /** Asks for all that may not be known yet. */
  newerText(): string {
    return `
      SELECT 'forgotten' AS what, code AS name, max(at_ms) AS value, toUnixTimestamp64Milli(max(marks.noted)) AS noted
      FROM forgotten AS marks
      WHERE marks.noted >= fromUnixTimestamp64Milli(${this.#notedMs - overlapMs}) GROUP BY code`;
  }

  note({ name: code, value: at, noted }: Omit<DeletionRow, 'what'>): void {
    this.#notedMs = Math.max(this.#notedMs, noted);
    if (at <= this.forgottenBefore(code)) return;
    this.#times.set(code, at);
    this.#learnt.push({ code, at });
  }
}

/**
 * What owners deleted while a process that did not know of it yet counted clicks. A deletion is a deletion and then the
 * removal of what there is; clicks that are inserted behind it, or into tables that it does not know of, have to be
 * removed by the process that inserted them.
 */
/** Clicks of a link before `at` do not count. */
export interface Deletion {
  readonly code: string;
  readonly at: number;
}

const deleteMaxMs = 60_000;
/** This many fit into a statement. */
const deletionsMax = 1_000;
/** A deletion that is older has its removal behind it, of which each step has its deadline; and clocks differ. */
const removalMaxMs = 5 * 60_000;
/** The latest that the columns can hold. */
const [latestSecond, latestDay] = [2 ** 32 - 1, 2 ** 16 - 1];
export async function serverTime(clickHouse: ClickHouse): Promise<number> {
  const [row] = await clickHouse.rows<{ now: number }>('SELECT toUnixTimestamp64Milli(now64(3)) AS now');
  return row!.now;
}

/**
 * Removes what marks cover, by whole rows: of the minute, quarter hour or day that a deletion lies in, everything goes.
 * Single clicks stay and are hidden by the deletion.
 */
export async function removeDeleted(
  clickHouse: ClickHouse,
  generation: number,
  marks: readonly Deletion[],
): Promise<void> {
  for (let first = 0; first < marks.length; first += deletionsMax) {
    const some = marks.slice(first, first + deletionsMax);
    for (const table of scopedTables) {
      const column = timeColumns[table];
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
  /** How many marks of a link were applied: the same may be set again. */
  readonly #heeded = new Map<string, number>();

  /** `begunAt` is by the server's clock. */
  constructor(clickHouse: ClickHouse, generation: number, begunAt: number) {
    this.#clickHouse = clickHouse;
    this.#generation = generation;
    this.#since = begunAt - removalMaxMs;
  }

  /** The sooner after a deletion, the fewer clicks that came after it are removed with the others. */
  async repeat(): Promise<void> {
    const rows = await this.#clickHouse.rows<Deletion & { marks: number }>(`
      SELECT code, max(at_ms) AS at, count() AS marks FROM forgotten
      WHERE noted >= fromUnixTimestamp64Milli(${this.#since}) GROUP BY code`);
    const unheeded = rows.filter(({ code, marks }) => marks !== this.#heeded.get(code));
    await removeDeleted(this.#clickHouse, this.#generation, unheeded);
    for (const { code, marks } of unheeded) this.#heeded.set(code, marks);
  }
}

function endOf(column: string, at: number): string {
  return column === 'day'
    ? `toDate(${Math.min(latestDay, Math.ceil(at / grainMs.day))})`
    : `toDateTime(${Math.min(latestSecond, Math.ceil(at / 1_000))}, 'UTC')`;
}
