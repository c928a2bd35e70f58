/**
 * The click thread's work: raw batches in; enrich, append to the stream, count in the warehouse. A redirect has
 * long been answered when any of this runs.
 *
 * What fails here is bounded and counted. A stream that cannot be written keeps batches waiting, in memory and
 * then on disk, up to a limit; then the oldest are dropped, which shows as a gap in the numbers (backlog.ts). A
 * warehouse that cannot be written loses nothing: the batches are in the stream and are counted when it is back.
 * What producers that died have left behind is stored and counted by whoever lives.
 */
import type { Clock } from '../base/clock.ts';
import { type ClickBatch, clickCount } from './batch.ts';
import type { RawBatch } from './raw-batch.ts';
import { rebuildFrom } from './rebuild.ts';
import { type ClickStream, livingProducers, type StreamBatch, type StreamSpan } from './stream.ts';
import type { StoredBatch, StreamWriter, StreamWriterCounts } from './stream-writer.ts';
import type { Warehouse } from './warehouse.ts';

export interface PipelineOptions {
  readonly producer: string;
  readonly stream: ClickStream;
  readonly writer: StreamWriter<StreamSpan>;
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
  /** The cause, if there is one, tells whether the same file may be opened again. */
  close(cause?: unknown): void;
}

export type PipelineCounts = StreamWriterCounts & Readonly<WarehouseCounts>;

interface WarehouseCounts {
  /** Clicks counted in the warehouse by this process, whoever noted them. */
  counted: number;
  duplicates: number;
  /** Milliseconds since the warehouse last took something it was given. */
  lagMs: number;
}

/** Clicks kept at hand for the warehouse; beyond it they are read from the stream again. */
const uncountedClicksMax = 200_000;
const catchUpBytesMax = 512 * 1024;
/** Counting is done in pieces of about this long: new clicks are taken in between, or they would pile up and be lost. */
const pieceMs = 200;
const pieceClicksDefault = 16_384;
/** Each piece has costs of its own. With smaller ones, the less time a busy machine leaves for counting the more it would take. */
const pieceClicksMinDefault = 4_096;
/** How often logs of dead producers are looked for. */
const adoptPeriodMs = 2_000;

export class ClickPipeline {
  readonly #options: PipelineOptions;
  readonly #counts: WarehouseCounts = { counted: 0, duplicates: 0, lagMs: 0 };
  #uncounted: StreamBatch[] = [];
  /** True when something of ours is in the stream, but not at hand, and not counted. */
  #mustCatchUp = true;
  /** True when the open warehouse knows which clicks were deleted. */
  #marksAreTaken = false;
  #adoptedAtMs = Number.NEGATIVE_INFINITY;
  /** How many clicks a piece has: what spreads over many links takes longer to count. */
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
    this.#keepAtHand(await writer.write(batch));
    onClicks?.(batch);
  }

  /** Stores a bounded part of what waits for the stream. */
  async store(): Promise<void> {
    this.#keepAtHand(await this.#options.writer.round());
  }

  /** Brings the warehouse up to date as far as a bounded amount of work allows; true when there is more to do. */
  async count(): Promise<boolean> {
    const { clock, onProblem } = this.#options;
    try {
      const warehouse = await this.#openWarehouse();
      const more = this.#mustCatchUp ? await this.#catchUp(warehouse) : await this.#countAtHand(warehouse);
      const adopted =
        clock.monotonicMs() - this.#adoptedAtMs >= adoptPeriodMs && (await this.#adopt(warehouse));
      this.#countedAtMs = clock.monotonicMs();
      this.#counts.lagMs = 0;
      return more || adopted;
    } catch (error) {
      onProblem('the click warehouse cannot be written', error);
      this.#options.warehouse.close(error);
      this.#marksAreTaken = false;
      this.#uncounted = [];
      this.#mustCatchUp = true;
      this.#counts.lagMs = clock.monotonicMs() - this.#countedAtMs;
      return false;
    }
  }

  /** Stores and counts everything there is; what cannot be stored or counted now is left to the next process. */
  async close(): Promise<void> {
    this.#keepAtHand(await this.#options.writer.finish());
    while (await this.count());
    this.#options.warehouse.close();
    await this.#options.stream.close();
  }

  async forget(code: string, at: number): Promise<void> {
    // First where it cannot be lost with the counts.
    await this.#options.stream.markForgotten(code, at);
    await (await this.#openWarehouse()).forget(code, at);
  }

  /** Counts the whole stream anew. */
  async rebuild(): Promise<void> {
    const { stream, onPause } = this.#options;
    const warehouse = await this.#openWarehouse();
    const logs = await stream.behind(new Map());
    await rebuildFrom(warehouse, {
      source: stream,
      keptFrom: await stream.keptFrom(),
      producers: [...new Set(logs.map(({ producer }) => producer))],
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

  async dropMinutes(before: number, rowsMax: number): Promise<number> {
    return (await this.#openWarehouse()).dropMinutes(before, rowsMax);
  }

  /** What others noted is counted from the stream, as all that dead producers leave. */
  #keepAtHand(stored: readonly StoredBatch<StreamSpan>[]): void {
    const own = stored.filter(({ producer }) => producer === this.#options.producer);
    this.#uncounted.push(...own.map(({ place, producer, batch }) => ({ ...place, producer, batch })));
    if (clicksIn(this.#uncounted) <= uncountedClicksMax) return;
    this.#uncounted = [];
    this.#mustCatchUp = true;
  }

  async #countAtHand(warehouse: Warehouse): Promise<boolean> {
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
      // Passed over means that our idea of the position was wrong: look at what the stream says.
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
    const living = await livingProducers(this.#options.stream);
    const more = await this.#countFromStream(warehouse, producer => !living.has(producer));
    if (!more) this.#adoptedAtMs = this.#options.clock.monotonicMs();
    return more;
  }

  async #countFromStream(warehouse: Warehouse, wanted: (producer: string) => boolean): Promise<boolean> {
    const { stream } = this.#options;
    const positions = await warehouse.positions();
    for (const { name: partition, producer } of await stream.behind(positions)) {
      if (!wanted(producer)) continue;
      const batches = await this.#readOrSkip(partition, positions.get(partition) ?? 0);
      if (batches.length === 0) continue;
      const { clicks, duplicates } = await warehouse.apply(batches);
      this.#counts.counted += clicks;
      this.#counts.duplicates += duplicates;
      return true;
    }
    return false;
  }

  /** A partition that cannot be read now must not keep the others from being counted. */
  async #readOrSkip(partition: string, position: number): Promise<StreamBatch[]> {
    try {
      return await this.#options.stream.read(partition, position, catchUpBytesMax);
    } catch (error) {
      this.#options.onProblem(`the click log ${partition} cannot be read`, error);
      return [];
    }
  }

  async #openWarehouse(): Promise<Warehouse> {
    const { warehouse: access, stream } = this.#options;
    if (!access.isCurrent) {
      // A new file has counted nothing: everything is read from the stream again.
      this.#mustCatchUp = true;
      this.#marksAreTaken = false;
    }
    const warehouse = access.get();
    if (!this.#marksAreTaken) {
      for (const [code, at] of await stream.forgotten()) {
        if ((await warehouse.forgottenBefore(code)) < at) await warehouse.forget(code, at);
      }
      this.#marksAreTaken = true;
    }
    return warehouse;
  }
}

/** How many of the first batches have together no more than that many clicks; at least one. */
function batchesWithin(batches: readonly StreamBatch[], clicksMax: number): number {
  let clicks = 0;
  const beyond = batches.findIndex(({ batch }) => {
    clicks += clickCount(batch);
    return clicks > clicksMax;
  });
  return beyond === -1 ? batches.length : Math.max(1, beyond);
}

const clicksIn = (batches: readonly StreamBatch[]): number =>
  batches.reduce((clicks, { batch }) => clicks + clickCount(batch), 0);
