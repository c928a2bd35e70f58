/**
 * Counting, exactly once in effect. A block is inserted everywhere under a token that names its place in the stream, and
 * last of all its place in the ledger: what the ledger does not know is inserted again, by whoever comes to it, and is
 * taken only where it had not arrived.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { quotedList } from '../../../engines/clickhouse/text.ts';
import type { StreamBatch } from '../../stream.ts';
import type { ApplyResult } from '../../warehouse.ts';
import { type Block, type CountedClicks, type Progress, planBlocks, tokenOf } from './block.ts';
import { currentGeneration, type Generations } from './generations.ts';
import { incomingBody } from './incoming.ts';
import { firstGeneration, type LedgerKind, tableName } from './schema.ts';

/** However large, a block is one insert: cut in two, a part of it could not be told from the whole. */
const undivided = Object.fromEntries(
  ['', '_for_materialized_views'].flatMap(where => [
    [`min_insert_block_size_rows${where}`, 1_000_000_000],
    [`min_insert_block_size_bytes${where}`, 100_000_000_000],
  ]),
);
/** Clicks that waited for long may come with those of many days. */
const daysMax = 1_000;
/** Marks are looked for from this long before the newest known: the clocks of those who set them differ. */
const markOverlapMs = 60_000;

interface State {
  readonly generation: number;
  readonly progress: Progress;
}

interface StateRow {
  readonly what: LedgerKind | 'generation' | 'forgotten';
  readonly name: string;
  readonly value: number;
  readonly noted: number;
}

export class Counter {
  readonly #clickHouse: ClickHouse;
  readonly #generations: Generations;
  /** Of which links clicks before which time do not count; never forgotten again, and few. */
  readonly #marks = new Map<string, number>();
  #marksNotedMs = 0;

  constructor(clickHouse: ClickHouse, generations: Generations) {
    this.#clickHouse = clickHouse;
    this.#generations = generations;
  }

  apply(batches: readonly StreamBatch[]): Promise<ApplyResult> {
    return this.#generations.use(async known => {
      const state = await this.#stateOf(known, batches);
      this.#generations.note(state.generation);
      // Everybody else has moved on to other tables; what was read belongs to the old ones.
      const current = state.generation === known ? state : await this.#stateOf(state.generation, batches);
      return this.#count(batches, current, 0);
    });
  }

  /** Into a generation that is not in force yet. */
  async applyTo(
    generation: number,
    batches: readonly StreamBatch[],
    countFrom: number,
  ): Promise<ApplyResult> {
    return this.#count(batches, { ...(await this.#stateOf(generation, batches)), generation }, countFrom);
  }

  async #count(
    batches: readonly StreamBatch[],
    { generation, progress }: State,
    countFrom: number,
  ): Promise<ApplyResult> {
    let [clicks, duplicates] = [0, 0];
    for (const block of planBlocks(batches, progress, countFrom)) {
      await this.#insert(generation, block);
      clicks += block.clicks;
      duplicates += block.duplicates;
    }
    return { clicks, duplicates };
  }

  /** Clicks into a generation that is not in force, without a word in its ledger. */
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
    const body = incomingBody(clicks, code => this.#marks.get(code) ?? 0);
    if (body.length === 0) return;
    await this.#clickHouse.insert({
      table: tableName('incoming', generation),
      format: 'Native',
      body,
      settings: {
        insert_deduplication_token: token,
        ...undivided,
        deduplicate_blocks_in_dependent_materialized_views: 1,
        max_partitions_per_insert_block: daysMax,
      },
    });
  }

  /** One look at everything that decides what is counted. */
  async #stateOf(generation: number, batches: readonly StreamBatch[]): Promise<State> {
    const partitions = new Set(batches.map(({ partition }) => partition));
    const producers = new Set(batches.map(({ producer }) => producer));
    const rows = await this.#clickHouse.rows<StateRow>(`
      SELECT 'generation' AS what, '' AS name, (${currentGeneration}) AS value, 0 AS noted
      UNION ALL
      SELECT 'forgotten', code, max(at_ms), toUnixTimestamp64Milli(max(noted)) FROM forgotten
      WHERE noted >= fromUnixTimestamp64Milli(${this.#marksNotedMs - markOverlapMs}) GROUP BY code
      UNION ALL
      SELECT toString(kind), name, max(position), 0 FROM ${tableName('ledger', generation)}
      WHERE (kind = 'partition' AND name IN ${quotedList([...partitions])})
        OR (kind = 'producer' AND name IN ${quotedList([...producers])})
      GROUP BY kind, name`);
    let current: number = firstGeneration;
    const [positions, sequences] = [new Map<string, number>(), new Map<string, number>()];
    for (const { what, name, value, noted } of rows) {
      if (what === 'generation') current = value;
      else if (what === 'forgotten') this.#noteMark(name, value, noted);
      else if (what === 'partition') positions.set(name, value);
      else sequences.set(name, value);
    }
    return { generation: current, progress: { positions, sequences } };
  }

  #noteMark(code: string, at: number, notedMs: number): void {
    this.#marks.set(code, Math.max(at, this.#marks.get(code) ?? 0));
    this.#marksNotedMs = Math.max(this.#marksNotedMs, notedMs);
  }
}

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
