/**
 * Counts a stream that many count together, each click once in effect, whoever dies when. For each partition that is
 * given to us:
 *
 *   read → cut a block → write down its plan → count it → plan the next, which also says that this one is counted
 *
 * Whoever is given the partition next finds the plan and counts exactly that block again, and the warehouse knows a block
 * by its place and takes it once. Nothing is counted that was not planned, and nothing is planned by one to whom the
 * partition does not belong (ADR 13).
 *
 * What is held is bounded: when the warehouse is away, reading stops until it takes what is there.
 */
import type { Clock } from '../base/clock.ts';
import { type BlockSource, type CountingGroup, type CountingTerm, NotOurTurn } from './consumed-stream.ts';
import { type Block, type BlockBounds, CountingLane } from './counting-lane.ts';
import type { WarehouseAccess } from './pipeline.ts';
import type { Warehouse } from './warehouse.ts';

export interface ConsumerOptions {
  readonly group: CountingGroup;
  readonly source: BlockSource;
  readonly warehouse: WarehouseAccess;
  /** Which links' clicks were deleted, when the warehouse cannot be trusted to remember it. */
  readonly forgotten?: () => Promise<ReadonlyMap<string, number>>;
  /** Whether somebody asks for a moment in which nothing is counted; then nothing new is planned. */
  readonly isHeld?: () => Promise<boolean>;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
  readonly bounds?: Partial<ConsumerBounds>;
}

export interface ConsumerBounds extends BlockBounds {
  /** Clicks held of all partitions together; beyond it only planned stretches are read. */
  readonly heldClicksMax: number;
  readonly readBytesMax: number;
  readonly readWaitMs: number;
  /** How often the warehouse is asked, while nothing new comes, whether it still stands where it was left. */
  readonly lookMs: number;
}

/** Whether something was done, nothing could be, or nothing had to be. */
export type RoundOutcome = 'worked' | 'idle' | 'failed';

export interface ConsumerCounts {
  readonly counted: number;
  readonly duplicates: number;
  readonly blocks: number;
  /** Partitions that are ours at the moment. */
  readonly partitions: number;
  /** Messages in them that are not counted. */
  readonly behind: number;
  /** How long about the oldest of them has been in the stream. */
  readonly lagMs: number;
  /** Whether the warehouse refused the last that it was given. */
  readonly isWarehouseAway: boolean;
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
  #lanes: CountingLane[] = [];
  #marked: Warehouse | undefined;
  /** The warehouse has refused a block, and it is not known which. */
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
    const oldest = this.#lanes.flatMap(({ oldestAt }) => oldestAt ?? []);
    return {
      counted: this.#counted,
      duplicates: this.#duplicates,
      blocks: this.#blocks,
      partitions: this.#lanes.length,
      behind: this.#lanes.reduce((messages, { lag }) => messages + lag, 0),
      lagMs: oldest.length === 0 ? 0 : Math.max(0, now - Math.min(...oldest)),
      isWarehouseAway: this.#isCautious,
    };
  }

  /** A bounded piece of work, which may be waiting for something to do. */
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
      // Also when nothing can be read: what is at hand should not wait for it.
      const blocks = await this.#plan(term);
      if (blocks.length === 0) return (await this.#lookBack()) ? outcome : 'failed';
      return (await this.#count(term, blocks)) ? 'worked' : 'failed';
    } catch (error) {
      this.#term = undefined;
      this.#lanes = [];
      if (error instanceof NotOurTurn) return 'idle';
      onProblem('clicks cannot be counted', error);
      return 'failed';
    }
  }

  /** Counts what is planned, leaves the rest to others and tells them so. */
  async close(): Promise<void> {
    const { group, warehouse } = this.#options;
    const term = this.#term;
    try {
      if (term?.isCurrent === true) await this.#commit(term, new Map());
    } catch {
      // Then whoever comes next counts the last blocks once more, which changes nothing.
    }
    await group.close();
    warehouse.close();
  }

  async #currentTerm(): Promise<CountingTerm> {
    const term = await this.#options.group.term();
    if (term === this.#term && term.isCurrent) return term;
    const plans = await term.plans();
    this.#term = term;
    this.#lanes = [...plans].map(([partition, plan]) => new CountingLane(partition, plan));
    return term;
  }

  async #read(): Promise<RoundOutcome> {
    const { source, clock } = this.#options;
    const { heldClicksMax, blockClicksMax, readBytesMax, readWaitMs } = this.#bounds;
    // Who has much, or cannot be counted, must not always come first.
    this.#lanes = [...this.#lanes.slice(1), ...this.#lanes.slice(0, 1)];
    const held = this.#lanes.reduce((clicks, lane) => clicks + lane.clicks, 0);
    const isFull = held >= heldClicksMax;
    const wanted = this.#lanes.filter(lane => lane.mustRead || (!isFull && lane.clicks < blockClicksMax));
    if (wanted.length === 0) return 'idle';
    const positions = new Map(wanted.map(({ partition, position }) => [partition, position]));
    const taken = await source.take(positions, { bytesMax: readBytesMax, waitMaxMs: readWaitMs });
    for (const lane of wanted) {
      const found = taken.get(lane.partition);
      if (found !== undefined) lane.add(found, clock.monotonicMs());
    }
    return 'worked';
  }

  /** The blocks that are due, all of them planned. */
  async #plan(term: CountingTerm): Promise<Block[]> {
    const nowMs = this.#options.clock.monotonicMs();
    const dueWithin = (share: number) => {
      const [blockMs, smallBlockMs] = [this.#bounds.blockMs * share, this.#bounds.smallBlockMs * share];
      return this.#lanes.flatMap(lane => lane.due(nowMs, { ...this.#bounds, blockMs, smallBlockMs }) ?? []);
    };
    // When one is due those that soon would be come along, so that partitions are planned together.
    const ripe = dueWithin(1).length === 0 ? [] : dueWithin(1 / 2);
    const due = (await this.#isHeld()) ? ripe.filter(({ lane }) => lane.isPlanned) : ripe;
    await this.#commit(term, new Map(due.map(block => [block.lane, block])));
    return due;
  }

  /** A warehouse that cannot say so is not about to be changed. */
  async #isHeld(): Promise<boolean> {
    return (await this.#options.isHeld?.().catch(() => false)) ?? false;
  }

  /** One commit for all: what comes next, and where nothing does, that the last block is counted. */
  async #commit(term: CountingTerm, blocks: ReadonlyMap<CountingLane, Block>): Promise<void> {
    const changed = this.#lanes.filter(lane => lane.isPlanStale || isNews(lane, blocks.get(lane)));
    if (changed.length === 0) return;
    await term.commit(new Map(changed.map(lane => [lane.partition, lane.planOf(blocks.get(lane))])));
    for (const lane of changed) lane.planned(blocks.get(lane));
  }

  /** All blocks together, which is less work for the warehouse; apart while it refuses some. False when it does. */
  async #count(term: CountingTerm, blocks: readonly Block[]): Promise<boolean> {
    const { warehouse: access, onProblem } = this.#options;
    const pieces = this.#isCautious ? blocks.map(block => [block]) : [blocks];
    try {
      const warehouse = await this.#openWarehouse();
      for (const piece of pieces) {
        // Others count it now; the same would come of it.
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
      for (const { lane, to } of blocks) lane.counted(to, nowMs);
      return;
    }
    // Some were passed over: somebody has counted them before us, or the counts were brought back from an earlier time.
    const positions = await warehouse.positions();
    for (const { lane, to } of blocks) {
      const position = positions.get(lane.partition) ?? 0;
      if (position === to) lane.counted(to, nowMs);
      else lane.goTo(position);
    }
  }

  /**
   * Counts may have been brought back from an earlier time, or put in the place of those that we added to. The next block
   * shows it, but it may be long until somebody clicks. False when the warehouse does not answer.
   */
  async #lookBack(): Promise<boolean> {
    const { warehouse: access, clock, onProblem } = this.#options;
    const resting = this.#lanes.filter(({ restsAt }) => (restsAt ?? 0) > 0);
    const nowMs = clock.monotonicMs();
    if (resting.length === 0 || nowMs - this.#lookedAtMs < this.#bounds.lookMs) return true;
    this.#lookedAtMs = nowMs;
    try {
      const positions = await (await this.#openWarehouse()).positions();
      for (const lane of resting) {
        const position = positions.get(lane.partition) ?? 0;
        if (position < lane.restsAt!) lane.goTo(position);
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

/** A block that was planned before, by us or by whoever had the partition, needs no plan. */
function isNews(lane: CountingLane, block: Block | undefined): boolean {
  return block !== undefined && !lane.isPlanned;
}
