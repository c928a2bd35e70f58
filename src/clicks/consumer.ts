/**
 * Counts a stream that several processes count together. Each click takes effect once, whichever process dies and at
 * any time. For each partition that is assigned to us:
 *
 *   read → cut a block → commit its plan → count it → commit the next plan, which says that this block is counted
 *
 * The next owner of the partition finds the plan and counts exactly that block again; the warehouse identifies a block
 * by its place and accepts it once. Only planned blocks are counted, and only the owner of a partition can plan (ADR
 * 13).
 *
 * Memory is bounded: while the warehouse is down, reading stops until it accepts the clicks that are held.
 */
import type { Clock } from '../base/clock.ts';
import {
  type Block,
  type BlockBounds,
  ConsumedPartition,
  type CountingGroup,
  type CountingTerm,
  NotOurTurn,
} from './consumer-partition.ts';
import type { ClickLog } from './log.ts';
import type { WarehouseAccess } from './pipeline.ts';
import type { Warehouse } from './warehouse.ts';

export interface ConsumerOptions {
  readonly group: CountingGroup;
  readonly log: Pick<ClickLog, 'read'>;
  readonly warehouse: WarehouseAccess;
  /** The links whose clicks were deleted, if the warehouse may lose this. */
  readonly forgotten?: () => Promise<ReadonlyMap<string, number>>;
  /** Whether a process has asked for a pause in counting; then nothing new is planned. */
  readonly isHeld?: () => Promise<boolean>;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
  readonly bounds?: Partial<ConsumerBounds>;
}

export interface ConsumerBounds extends BlockBounds {
  /** Clicks held of all partitions together; beyond it only planned blocks are read. */
  readonly heldClicksMax: number;
  readonly readBytesMax: number;
  readonly readWaitMs: number;
  /** How often, while nothing new arrives, the warehouse is asked whether it is still at the same position. */
  readonly lookMs: number;
}

/** `idle`: there was nothing to do. */
export type RoundOutcome = 'worked' | 'idle' | 'failed';

export interface ConsumerCounts {
  readonly counted: number;
  readonly duplicates: number;
  readonly blocks: number;
  /** Partitions that are ours at the moment. */
  readonly partitions: number;
  /** Messages in them that are not counted. */
  readonly behind: number;
  /** Approximate time that the oldest of them has been in the stream. */
  readonly lagMs: number;
  /** Whether the warehouse rejected the last blocks that it was given. */
  readonly isWarehouseDown: boolean;
}

const boundsDefault: ConsumerBounds = {
  blockClicksMin: 50_000,
  blockClicksMax: 100_000,
  blockMs: 1_000,
  blockClicksGood: 10_000,
  smallBlockMs: 2_000,
  heldClicksMax: 400_000,
  readBytesMax: 1024 * 1024,
  readWaitMs: 200,
  lookMs: 5_000,
};

export class ClickConsumer {
  readonly #options: ConsumerOptions;
  readonly #bounds: ConsumerBounds;
  #term: CountingTerm | undefined;
  #partitions: ConsumedPartition[] = [];
  #marked: Warehouse | undefined;
  /** The warehouse has rejected one of several blocks, and it is not known which. */
  #isCautious = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #counted = 0;
  #duplicates = 0;
  #blocks = 0;

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#bounds = { ...boundsDefault, ...options.bounds };
  }

  get counts(): ConsumerCounts {
    const now = this.#options.clock.now();
    const oldest = this.#partitions.flatMap(({ oldestAt }) => oldestAt ?? []);
    return {
      counted: this.#counted,
      duplicates: this.#duplicates,
      blocks: this.#blocks,
      partitions: this.#partitions.length,
      behind: this.#partitions.reduce((messages, { lag }) => messages + lag, 0),
      lagMs: oldest.length === 0 ? 0 : Math.max(0, now - Math.min(...oldest)),
      isWarehouseDown: this.#isCautious,
    };
  }

  /** Does a bounded piece of work, or waits for some. */
  async round(): Promise<RoundOutcome> {
    const { onProblem } = this.#options;
    try {
      const term = await this.#currentTerm();
      let outcome: RoundOutcome;
      try {
        outcome = await this.#read();
      } catch (error) {
        onProblem('clicks cannot be read from the stream', error);
        outcome = 'failed';
      }
      // Also if nothing can be read: clicks that are already read must not wait for that.
      const blocks = await this.#plan(term);
      if (blocks.length === 0) return (await this.#lookBack()) ? outcome : 'failed';
      return (await this.#count(term, blocks)) ? 'worked' : 'failed';
    } catch (error) {
      this.#term = undefined;
      this.#partitions = [];
      if (error instanceof NotOurTurn) return 'idle';
      onProblem('clicks cannot be counted', error);
      return 'failed';
    }
  }

  /** Counts the planned blocks and leaves the group, so that other processes count the rest. */
  async close(): Promise<void> {
    const { group, warehouse } = this.#options;
    const term = this.#term;
    try {
      if (term?.isCurrent === true) await this.#commit(term, new Map());
    } catch {
      // The next owner then counts the last blocks again, which changes nothing.
    }
    await group.close();
    warehouse.close();
  }

  async #currentTerm(): Promise<CountingTerm> {
    const term = await this.#options.group.term();
    if (term === this.#term && term.isCurrent) return term;
    const plans = await term.plans();
    this.#term = term;
    this.#partitions = [...plans].map(([partition, plan]) => new ConsumedPartition(partition, plan));
    return term;
  }

  async #read(): Promise<RoundOutcome> {
    const { log, clock } = this.#options;
    const { heldClicksMax, blockClicksMax, readBytesMax, readWaitMs } = this.#bounds;
    // A partition with many messages, or one that cannot be counted, must not always come first.
    this.#partitions = [...this.#partitions.slice(1), ...this.#partitions.slice(0, 1)];
    const held = this.#partitions.reduce((clicks, consumed) => clicks + consumed.clicks, 0);
    const isFull = held >= heldClicksMax;
    const wanted = this.#partitions.filter(
      consumed => consumed.mustRead || (!isFull && consumed.clicks < blockClicksMax),
    );
    if (wanted.length === 0) return 'idle';
    const positions = new Map(wanted.map(({ partition, position }) => [partition, position]));
    const taken = await log.read(positions, { bytesMax: readBytesMax, waitMaxMs: readWaitMs });
    for (const consumed of wanted) {
      const found = taken.get(consumed.partition);
      if (found !== undefined) consumed.add(found, clock.monotonicMs());
    }
    return 'worked';
  }

  /** The blocks that are due, all of them planned. */
  async #plan(term: CountingTerm): Promise<Block[]> {
    const nowMs = this.#options.clock.monotonicMs();
    const dueWithin = (share: number) => {
      const [blockMs, smallBlockMs] = [this.#bounds.blockMs * share, this.#bounds.smallBlockMs * share];
      return this.#partitions.flatMap(
        consumed => consumed.due(nowMs, { ...this.#bounds, blockMs, smallBlockMs }) ?? [],
      );
    };
    // When one block is due, those that soon will be are included, so that partitions are planned together.
    const ripe = dueWithin(1).length === 0 ? [] : dueWithin(1 / 2);
    const due = (await this.#isHeld()) ? ripe.filter(({ consumed }) => consumed.isPlanned) : ripe;
    await this.#commit(term, new Map(due.map(block => [block.consumed, block])));
    return due;
  }

  /** False when the warehouse does not answer: nobody can recount it then. */
  async #isHeld(): Promise<boolean> {
    return (await this.#options.isHeld?.().catch(() => false)) ?? false;
  }

  /** One commit for all partitions: the next block, or, if there is none, that the last one is counted. */
  async #commit(term: CountingTerm, blocks: ReadonlyMap<ConsumedPartition, Block>): Promise<void> {
    const changed = this.#partitions.filter(
      consumed => consumed.isPlanStale || isNews(consumed, blocks.get(consumed)),
    );
    if (changed.length === 0) return;
    await term.commit(
      new Map(changed.map(consumed => [consumed.partition, consumed.planOf(blocks.get(consumed))])),
    );
    for (const consumed of changed) consumed.planned(blocks.get(consumed));
  }

  /**
   * Counts all blocks together, which is less work for the warehouse, or separately while it rejects some. False when
   * it rejects one.
   */
  async #count(term: CountingTerm, blocks: readonly Block[]): Promise<boolean> {
    const { warehouse: access, onProblem } = this.#options;
    const pieces = this.#isCautious ? blocks.map(block => [block]) : [blocks];
    try {
      const warehouse = await this.#openWarehouse();
      for (const piece of pieces) {
        // Another process counts it now, with the same result.
        if (!term.isCurrent) return true;
        await this.#apply(warehouse, piece);
      }
      this.#isCautious = false;
      return true;
    } catch (error) {
      onProblem('the click warehouse cannot be written', error);
      access.close(error);
      this.#isCautious = true;
      return false;
    }
  }

  async #apply(warehouse: Warehouse, blocks: readonly Block[]): Promise<void> {
    const { clicks, duplicates } = await warehouse.apply(blocks.flatMap(({ batches }) => batches));
    this.#counted += clicks;
    this.#duplicates += duplicates;
    this.#blocks += blocks.length;
    const nowMs = this.#options.clock.monotonicMs();
    if (clicks + duplicates === blocks.reduce((sum, block) => sum + block.clicks, 0)) {
      for (const { consumed, to } of blocks) consumed.counted(to, nowMs);
      return;
    }
    // Some blocks were skipped: another process has counted them, or the counts were restored from an earlier time.
    const positions = await warehouse.positions();
    for (const { consumed, to } of blocks) {
      const position = positions.get(consumed.partition) ?? 0;
      if (position === to) consumed.counted(to, nowMs);
      else consumed.goTo(position);
    }
  }

  /**
   * Checks whether counts were restored from an earlier time, or replaced. The next block would show it too, but the
   * next click may be a long time off. False when the warehouse does not answer.
   */
  async #lookBack(): Promise<boolean> {
    const { warehouse: access, clock, onProblem } = this.#options;
    const resting = this.#partitions.filter(({ restsAt }) => (restsAt ?? 0) > 0);
    const nowMs = clock.monotonicMs();
    if (resting.length === 0 || nowMs - this.#lookedAtMs < this.#bounds.lookMs) return true;
    this.#lookedAtMs = nowMs;
    try {
      const positions = await (await this.#openWarehouse()).positions();
      for (const consumed of resting) {
        const position = positions.get(consumed.partition) ?? 0;
        if (position < consumed.restsAt!) consumed.goTo(position);
      }
      this.#isCautious = false;
      return true;
    } catch (error) {
      onProblem('the click warehouse cannot be read', error);
      access.close(error);
      this.#isCautious = true;
      return false;
    }
  }

  async #openWarehouse(): Promise<Warehouse> {
    const { warehouse: access, forgotten } = this.#options;
    const warehouse = access.get();
    if (forgotten === undefined || warehouse === this.#marked) return warehouse;
    for (const [code, at] of await forgotten()) {
      if ((await warehouse.forgottenBefore(code)) < at) await warehouse.forget(code, at);
    }
    this.#marked = warehouse;
    return warehouse;
  }
}

/** Whether the block needs a plan: not if we, or the previous owner of the partition, have planned it before. */
function isNews(consumed: ConsumedPartition, block: Block | undefined): boolean {
  return block !== undefined && !consumed.isPlanned;
}
