/** For tests of the pipeline: a real log, spill and warehouse in a temporary folder, with injected failures. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../base/clock.ts';
import { BacklogWriter, ClickBacklog } from './backlog.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import type { ClickBatch } from './click.ts';
import { type LocalLog, readBatches } from './log.ts';
import { headPath, ProducerHeadFile } from './log-folder.ts';
import { createEmbeddedLog } from './logs/embedded.ts';
import { ClickPipeline, type WarehouseAccess } from './pipeline.ts';
import type { RawBatch } from './recorder.ts';
import { SpillFolder } from './spill-folder.ts';
import type { Warehouse } from './warehouse.ts';
import { openSqliteWarehouse } from './warehouses/sqlite/warehouse.ts';

export const clicksPerBatch = 10;
/** Small, so that a test reaches them. */
export const backlogBounds = { memoryClicksMax: 30, memoryMs: 2_000, refusedClicksMax: 100 };

export interface StartedPipeline {
  readonly pipeline: ClickPipeline;
  readonly writer: BacklogWriter<unknown>;
  /** Accepts this many batches of new clicks of the link `abc`. */
  readonly send: (batches?: number) => Promise<void>;
}

export class FaultyStorage {
  readonly folder = mkdtempSync(join(tmpdir(), 'terse-pipeline-'));
  readonly spillFolder = join(this.folder, 'spill');
  readonly clock = new ManualClock(samplesStart);
  readonly problems: string[] = [];
  readonly broken = { stream: false, warehouse: false };
  spillBytesMax = 1024 * 1024;
  /** Hooks: while a pipeline pauses, and before anything is appended. */
  onPause = async (): Promise<void> => {};
  /** How long counting takes each time. */
  countMs = 0;
  pieceClicksMin = 1;
  onAppend = (): void => {};

  /** Starts a process of that name, which is alive now and silent from here on. */
  start(producer: string): StartedPipeline {
    const { clock } = this;
    const shared = { producer, clock, onProblem: (what: string) => void this.problems.push(what) };
    const stream = this.#breakable(this.log(producer));
    new ProducerHeadFile(headPath(this.folder, producer)).beat(clock.now());
    const spill = new SpillFolder({ ...shared, folder: this.spillFolder, bytesMax: this.spillBytesMax });
    const backlog = new ClickBacklog({ ...shared, spill, bounds: backlogBounds });
    const writer = new BacklogWriter({ ...shared, stream, backlog });
    const pipeline = new ClickPipeline({
      ...shared,
      log: stream,
      writer,
      warehouse: this.#warehouseAccess(),
      enrich: raw => raw as unknown as ClickBatch,
      onPause: () => this.onPause(),
      pieceClicksMin: this.pieceClicksMin,
    });
    let sequence = 1;
    return {
      pipeline,
      writer,
      send: async (batches = 1) => {
        for (let count = 0; count < batches; count += 1) {
          await pipeline.accept(this.batch(sequence) as unknown as RawBatch);
          sequence += clicksPerBatch;
        }
      },
    };
  }

  batch(firstSequence: number): ClickBatch {
    const clicks = Array.from({ length: clicksPerBatch }, (_, index) => ({
      at: this.clock.now() + index,
      visitor: firstSequence + index,
    }));
    return sampleBatch(firstSequence, clicks);
  }

  /** The log itself, without injected failures. */
  log(producer: string): LocalLog {
    return createEmbeddedLog({ folder: this.folder, producer, clock: this.clock });
  }

  /** The first numbers of the batches in the log, in order. */
  async logged(): Promise<number[]> {
    const log = this.log('reader');
    const numbers: number[] = [];
    for (const { name } of await log.partitions())
      for (const { batch } of await readBatches(log, name, 0, 1024 * 1024)) numbers.push(batch.firstSequence);
    return numbers;
  }

  async counted(): Promise<number> {
    return this.ask(
      async warehouse => (await warehouse.total({ kind: 'link', code: 'abc', ownerId: 'acc_1' })).clicks,
    );
  }

  async ask<Answer>(question: (warehouse: Warehouse) => Promise<Answer>): Promise<Answer> {
    const warehouse = openSqliteWarehouse(join(this.folder, 'stats.db'));
    try {
      return await question(warehouse);
    } finally {
      await warehouse.close();
    }
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #breakable(log: LocalLog): LocalLog {
    return {
      ...log,
      append: async (...batch) => {
        this.onAppend();
        if (this.broken.stream) throw new Error('no space');
        return log.append(...batch);
      },
    };
  }

  #slow(warehouse: Warehouse): Warehouse {
    return {
      ...warehouse,
      apply: async batches => {
        this.clock.advance(this.countMs);
        return warehouse.apply(batches);
      },
    };
  }

  #warehouseAccess(): WarehouseAccess {
    let open: Warehouse | undefined;
    return {
      isCurrent: true,
      get: () => {
        if (this.broken.warehouse) throw new Error('disk full');
        open ??= this.#slow(openSqliteWarehouse(join(this.folder, 'stats.db')));
        return open;
      },
      close() {
        open?.close();
        open = undefined;
      },
    };
  }
}

export async function countAll(pipeline: ClickPipeline): Promise<void> {
  while (await pipeline.count());
}
