/** Two days of a log with an archive beside it, for tests, and the operations on them, on a clock that stands still. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import { type Archive, Archiver } from '../archive.ts';
import { createMemoryArchive, type MemoryArchive } from '../archives/fake-memory.ts';
import { randomClicks, sampleBatch, samplesStart } from '../batch-samples.ts';
import { everythingIn } from '../fake-warehouse-truth.ts';
import { keptFrom, recountLog } from '../replay.ts';
import { openSqliteWarehouse } from '../warehouses/sqlite/warehouse.ts';
import { createEmbeddedLog, listDays } from './embedded.ts';
import { createArchivableLog } from './embedded-archive.ts';
import { type RestoredDay, restoreFrom } from './embedded-restore.ts';
import { applyRetention } from './embedded-retention.ts';

export const day = '2026-06-01';
export const nextDay = '2026-06-02';
export const dayMs = 24 * 60 * 60_000;
export const rawDays = 30;

export class FakeLogDays {
  readonly folder = mkdtempSync(join(tmpdir(), 'terse-archive-'));
  readonly clock = new ManualClock(samplesStart);
  readonly archive: MemoryArchive = createMemoryArchive();
  readonly problems: string[] = [];

  /** The first day is over, and the second has begun. */
  static async begin(): Promise<FakeLogDays> {
    const days = new FakeLogDays();
    await days.log('one', 1, 200);
    await days.log('two', 1, 100);
    days.clock.advance(dayMs);
    await days.log('one', 201, 50);
    return days;
  }

  async log(producer: string, firstSequence: number, count: number): Promise<void> {
    const clicks = randomClicks(seededRandom(firstSequence), count, 1);
    const stream = createEmbeddedLog({ folder: this.folder, producer, clock: this.clock });
    await stream.append(sampleBatch(firstSequence, clicks));
    await stream.close();
  }

  archiver(into: Archive = this.archive): Archiver {
    const onProblem = (what: string, error: unknown) =>
      void this.problems.push(`${what}: ${(error as Error).message}`);
    const { folder: logFolder, clock } = this;
    return new Archiver(createArchivableLog({ archive: into, logFolder, clock, onProblem }), onProblem);
  }

  async restore(first = day, archive: Archive = this.archive): Promise<RestoredDay[]> {
    const restored: RestoredDay[] = [];
    await restoreFrom({ archive, logFolder: this.folder, clock: this.clock }, first, done => {
      restored.push(done);
    });
    return restored;
  }

  /** The counts of the log as it is now. */
  async counts(): Promise<unknown> {
    const warehouse = openSqliteWarehouse(':memory:');
    const stream = createEmbeddedLog({ folder: this.folder, producer: 'reader', clock: this.clock });
    await recountLog(warehouse, {
      log: stream,
      keptFrom: await keptFrom(stream),
      producers: ['one', 'two', 'three'],
      clock: this.clock,
    });
    const scope = { kind: 'owner', ownerId: 'acc_1' } as const;
    const all = [await everythingIn(warehouse, [scope]), await warehouse.ledger(0, Number.MAX_SAFE_INTEGER)];
    await warehouse.close();
    return all;
  }

  /** Applies retention as if everything was counted. */
  retain(archives = true): Promise<void> {
    const logs = listDays(this.folder).flatMap(name =>
      readdirSync(join(this.folder, name)).map(file => `${name}/${file}`),
    );
    return applyRetention({
      logFolder: this.folder,
      rawDays,
      archives,
      clock: this.clock,
      positions: async () => new Map(logs.map(partition => [partition, Number.MAX_SAFE_INTEGER])),
      living: async () => new Set<string>(),
      retire: async () => {},
    });
  }

  end(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
