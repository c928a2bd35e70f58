/**
 * Counting, exactly once in effect. A block is inserted everywhere under a token that names its place in the stream, and
 * last of all its place in the ledger: what the ledger does not know is inserted again, by whoever comes to it, and is
 * taken only where it had not arrived.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { quotedList } from '../../../engines/clickhouse/text.ts';
import type { StreamBatch } from '../../stream.ts';
import type { ApplyResult } from '../../warehouse.ts';
import { type Block, type CountedClicks, type Progress, partsByDays, planBlocks, tokenOf } from './block.ts';
import { type Mark, removeMarked } from './deletions.ts';
import { currentGeneration, type Generations } from './generations.ts';
import { incomingBody } from './incoming.ts';
import { type MarkRow, Marks } from './marks.ts';
import { firstGeneration, type LedgerKind, tableName } from './schema.ts';

/** However large, a block is one insert to ClickHouse: cut in two there, a part of it could not be told from the whole. */
const undivided = Object.fromEntries(
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

interface StateRow extends Omit<MarkRow, 'what'> {
  readonly what: LedgerKind | 'generation' | MarkRow['what'];
}

/** A block that may have arrived behind the removal of what was deleted meanwhile. */
interface UnsettledBlock {
  readonly block: Block;
  /** How many marks were known when it was made. */
  readonly marksKnown: number;
}

export class Counter {
  readonly #clickHouse: ClickHouse;
  readonly #generations: Generations;
  readonly #marks = new Marks();
  /** By their tokens; what could not be settled is settled with the next. */
  readonly #unsettled = new Map<string, UnsettledBlock>();

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
      const marksKnown = this.#marks.count;
      const blocks = planBlocks(batches, current.progress);
      let result: ApplyResult;
      try {
        result = await this.#count(blocks, current.generation);
      } finally {
        // Also of one that failed nobody knows whether it has arrived.
        for (const block of blocks) this.#doubt({ block, marksKnown });
      }
      await this.#settle(current.generation);
      return result;
    });
  }

  /** Into a generation that is not in force yet; whoever puts it in force heeds what is deleted meanwhile. */
  async applyTo(
    generation: number,
    batches: readonly StreamBatch[],
    countFrom: number,
  ): Promise<ApplyResult> {
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
    for (const [index, part] of partsByDays(clicks, daysMax).entries()) {
      const body = incomingBody(part, code => this.#marks.forgottenBefore(code));
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

  #doubt({ block, marksKnown }: UnsettledBlock): void {
    const token = tokenOf(block);
    // The first attempt knew the least.
    if (block.clicks > 0 && !this.#unsettled.has(token)) this.#unsettled.set(token, { block, marksKnown });
  }

  /**
   * Removes again what was deleted while blocks were on their way. A deletion that cannot be found yet has its removal
   * before it, which then finds the blocks.
   */
  async #settle(generation: number): Promise<void> {
    if (this.#unsettled.size === 0) return;
    const settled = [...this.#unsettled];
    const rows = await this.#clickHouse.rows<MarkRow>(this.#marks.newerText());
    for (const row of rows) this.#marks.note(row);
    const missed = settled.flatMap(([, { block, marksKnown }]) =>
      this.#marks.after(marksKnown).filter(mark => hasMarked(block, mark)),
    );
    await removeMarked(this.#clickHouse, generation, missed);
    for (const [token] of settled) this.#unsettled.delete(token);
  }

  /** One look at everything that decides what is counted. */
  async #stateOf(generation: number, batches: readonly StreamBatch[]): Promise<State> {
    const partitions = new Set(batches.map(({ partition }) => partition));
    const producers = new Set(batches.map(({ producer }) => producer));
    const rows = await this.#clickHouse.rows<StateRow>(`
      SELECT 'generation' AS what, '' AS name, (${currentGeneration}) AS value, 0 AS noted
      UNION ALL ${this.#marks.newerText()}
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
      else if (what === 'forgotten') this.#marks.note(row);
      else if (what === 'partition') positions.set(name, value);
      else sequences.set(name, value);
    }
    return { generation: current, progress: { positions, sequences } };
  }
}

/** Whether a block has clicks that a mark covers. */
const hasMarked = ({ counted }: Block, { code, at }: Mark): boolean =>
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
