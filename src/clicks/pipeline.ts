/**
 * The click thread's work: accept raw batches, enrich them, append them to the stream, and count them in the warehouse.
 * All of this runs after the redirect was answered.
 *
 * Failures here are bounded and counted. While the stream cannot be written, batches wait in memory and then on disk,
 * up to a limit; then the oldest are dropped, which shows as a gap in the numbers (backlog.ts). A warehouse that cannot
 * be written loses nothing: the batches are in the stream and are counted when it is back. What dead producers left
 * behind is stored and counted by the processes that are alive.
 */
import type { Clock } from '../base/clock.ts';
import type { BacklogWriter, LogWriterCounts, StoredBatch } from './backlog.ts';
import { type ClickBatch, clickCount } from './click.ts';
import {
  type LocalLog,
  type LogBatch,
  type LogSpan,
  livingProducers,
  partitionsBehind,
  readBatches,
} from './log.ts';
import type { RawBatch } from './recorder.ts';
import { keptFrom, recountLog } from './replay.ts';
import type { MaintenancePlan, Warehouse, WarehouseState } from './warehouse.ts';

export interface PipelineOptions {
  readonly producer: string;
  readonly log: LocalLog;
  readonly writer: BacklogWriter<LogSpan>;
  readonly warehouse: WarehouseAccess;
  readonly enrich: (raw: RawBatch) => ClickBatch;
  readonly clock: Clock;
  readonly onClicks?: (batch: ClickBatch) => void;
  readonly onProblem: (what: string, error: unknown) => void;
  /** Called now and then during long work, so that new clicks can be taken in and stored. */
  readonly onPause?: () => Promise<void>;
  readonly pieceClicksMin?: number;
}

/** The warehouse may be closed and opened again at any time, because its file may have been replaced. */
export interface WarehouseAccess {
  /** False when the open warehouse is no longer the one that `get` would open. */
  readonly isCurrent: boolean;
  get(): Warehouse;
  /** The cause, if any, decides whether the same file may be opened again. */
  close(cause?: unknown): void;
}

export type PipelineCounts = LogWriterCounts & Readonly<WarehouseCounts>;

interface WarehouseCounts {
  /** Clicks counted in the warehouse by this process, recorded by any process. */
  counted: number;
  duplicates: number;
  /** Milliseconds since the warehouse last accepted clicks. */
  lagMs: number;
}

/** Clicks kept in memory for the warehouse; beyond it they are read from the stream again. */
const uncountedClicksMax = 200_000;
const catchUpBytesMax = 512 * 1024;
/** Counting is done in pieces of about this length, and new clicks are accepted in between so that none are lost. */
const pieceMs = 200;
const pieceClicksDefault = 16_384;
/** Each piece has a fixed cost: with smaller ones, a busy machine that has less time for counting would need more. */
const pieceClicksMinDefault = 4_096;
/** How often logs of dead producers are looked for. */
const adoptPeriodMs = 2_000;

export class ClickPipeline {
  readonly #options: PipelineOptions;
  readonly #counts: WarehouseCounts = { counted: 0, duplicates: 0, lagMs: 0 };
  #uncounted: LogBatch[] = [];
  /** True when the stream has uncounted clicks of ours that are no longer in memory. */
  #mustCatchUp = true;
  /** True when the open warehouse has all deletions. */
  #deletionsAreKnown = false;
  #adoptedAtMs = Number.NEGATIVE_INFINITY;
  /** The number of clicks per piece: clicks of many links take longer to count. */
  #pieceClicks = pieceClicksDefault;
  #countedAtMs: number;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#countedAtMs = options.clock.monotonicMs();
  }

  get counts(): PipelineCounts {
    return { ...this.#options.writer.counts, ...this.#counts };
  }

  async accept(raw: RawBatch): Promise<void> {
    const { enrich, onClicks, writer } = this.#options;
    const batch = enrich(raw);
    this.#keepUncounted(await writer.write(batch));
    onClicks?.(batch);
  }

  /** Stores a bounded part of what waits for the stream. */
  async store(): Promise<void> {
    this.#keepUncounted(await this.#options.writer.round());
  }

  /** Counts a bounded number of clicks; true when there is more to do. */
  async count(): Promise<boolean> {
    const { clock, onProblem } = this.#options;
    try {
      const warehouse = await this.#openWarehouse();
      const more = this.#mustCatchUp ? await this.#catchUp(warehouse) : await this.#countUncounted(warehouse);
      const adopted =
        clock.monotonicMs() - this.#adoptedAtMs >= adoptPeriodMs && (await this.#adopt(warehouse));
      this.#countedAtMs = clock.monotonicMs();
      this.#counts.lagMs = 0;
      return more || adopted;
    } catch (error) {
      onProblem('the click warehouse cannot be written', error);
      this.#warehouseFailed(error);
      this.#counts.lagMs = clock.monotonicMs() - this.#countedAtMs;
      return false;
    }
  }

  #warehouseFailed(error: unknown): void {
    this.#options.warehouse.close(error);
    this.#deletionsAreKnown = false;
    this.#uncounted = [];
    this.#mustCatchUp = true;
  }

  /** Stores and counts everything; what cannot be stored or counted now is left to the next process. */
  async close(): Promise<void> {
    this.#keepUncounted(await this.#options.writer.finish());
    while (await this.count());
    this.#options.warehouse.close();
    await this.#options.log.close();
  }

  async forget(code: string, at: number): Promise<void> {
    // First recorded where it cannot be lost together with the counts.
    await this.#options.log.markForgotten(code, at);
    await (await this.#openWarehouse()).forget(code, at);
  }

  /** Recounts the whole stream. */
  async recountAll(): Promise<void> {
    const { log, clock, onPause } = this.#options;
    const warehouse = await this.#openWarehouse();
    const logs = await log.partitions();
    await recountLog(warehouse, {
      log,
      keptFrom: await keptFrom(log),
      producers: [...new Set(logs.flatMap(({ producer }) => producer ?? []))],
      clock,
      onPause,
    });
    this.#uncounted = [];
    this.#mustCatchUp = true;
  }

  async positions(): Promise<ReadonlyMap<string, number>> {
    return (await this.#openWarehouse()).positions();
  }

  async retire(partitions: readonly string[]): Promise<void> {
    await (await this.#openWarehouse()).retire(partitions);
  }

  /** A failure closes the warehouse, as one of counting does. */
  async maintain(plan: MaintenancePlan): Promise<number> {
    const warehouse = await this.#openWarehouse();
    try {
      return await warehouse.maintain(plan);
    } catch (error) {
      this.#warehouseFailed(error);
      throw error;
    }
  }

  async warehouseState(): Promise<WarehouseState | undefined> {
    return (await this.#openWarehouse()).state?.();
  }

  /** Clicks of other processes are counted from the stream, like those that dead producers leave. */
  #keepUncounted(stored: readonly StoredBatch<LogSpan>[]): void {
    const own = stored.filter(({ producer }) => producer === this.#options.producer);
    this.#uncounted.push(...own.map(({ place, producer, batch }) => ({ ...place, producer, batch })));
    if (clicksIn(this.#uncounted) <= uncountedClicksMax) return;
    this.#uncounted = [];
    this.#mustCatchUp = true;
  }

  async #countUncounted(warehouse: Warehouse): Promise<boolean> {
    const { clock, onPause, pieceClicksMin = pieceClicksMinDefault } = this.#options;
    const batches = this.#uncounted;
    this.#uncounted = [];
    while (batches.length > 0 && !this.#mustCatchUp) {
      const piece = batches.splice(0, batchesWithin(batches, this.#pieceClicks));
      const given = clicksIn(piece);
      const startedMs = clock.monotonicMs();
      const { clicks, duplicates } = await warehouse.apply(piece);
      const inTime = (given * pieceMs) / Math.max(1, clock.monotonicMs() - startedMs);
      this.#pieceClicks = Math.max(pieceClicksMin, inTime);
      this.#counts.counted += clicks;
      // Skipped batches mean that our position was wrong: read from the stream again.
      if (clicks + duplicates < given) this.#mustCatchUp = true;
      if (batches.length > 0) await onPause?.();
    }
    return this.#mustCatchUp;
  }

  async #catchUp(warehouse: Warehouse): Promise<boolean> {
    this.#uncounted = [];
    const more = await this.#countFromStream(warehouse, producer => producer === this.#options.producer);
    this.#mustCatchUp = more;
    return more;
  }

  /** Counts what dead producers left behind. */
  async #adopt(warehouse: Warehouse): Promise<boolean> {
    const living = await livingProducers(this.#options.log);
    const more = await this.#countFromStream(warehouse, producer => !living.has(producer));
    if (!more) this.#adoptedAtMs = this.#options.clock.monotonicMs();
    return more;
  }

  async #countFromStream(warehouse: Warehouse, wanted: (producer: string) => boolean): Promise<boolean> {
    const { log } = this.#options;
    const positions = await warehouse.positions();
    for (const { name: partition, producer } of await partitionsBehind(log, positions)) {
      if (producer === undefined || !wanted(producer)) continue;
      const batches = await this.#readOrSkip(partition, positions.get(partition) ?? 0);
      if (batches.length === 0) continue;
      const { clicks, duplicates } = await warehouse.apply(batches);
      this.#counts.counted += clicks;
      this.#counts.duplicates += duplicates;
      return true;
    }
    return false;
  }

  /** A partition that cannot be read now must not prevent the others from being counted. */
  async #readOrSkip(partition: string, position: number): Promise<LogBatch[]> {
    try {
      return await readBatches(this.#options.log, partition, position, catchUpBytesMax);
    } catch (error) {
      this.#options.onProblem(`the click log ${partition} cannot be read`, error);
      return [];
    }
  }

  async #openWarehouse(): Promise<Warehouse> {
    const { warehouse: access, log } = this.#options;
    if (!access.isCurrent) {
      // A new file has no counts: everything is read from the stream again.
      this.#mustCatchUp = true;
      this.#deletionsAreKnown = false;
    }
    const warehouse = access.get();
    if (!this.#deletionsAreKnown) {
      for (const [code, at] of await log.forgotten()) {
        if ((await warehouse.forgottenBefore(code)) < at) await warehouse.forget(code, at);
      }
      this.#deletionsAreKnown = true;
    }
    return warehouse;
  }
}

/** How many of the first batches have at most this many clicks together; at least one. */
function batchesWithin(batches: readonly LogBatch[], clicksMax: number): number {
  let clicks = 0;
  const beyond = batches.findIndex(({ batch }) => {
    clicks += clickCount(batch);
    return clicks > clicksMax;
  });
  return beyond === -1 ? batches.length : Math.max(1, beyond);
}

const clicksIn = (batches: readonly LogBatch[]): number =>
  batches.reduce((clicks, { batch }) => clicks + clickCount(batch), 0);
