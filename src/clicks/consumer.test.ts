/** Counting together: whichever process dies, hangs or comes back, every click is counted exactly once. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { samplesStart } from './batch-samples.ts';
import { clickCount } from './click.ts';
import { ClickConsumer, type ConsumerBounds } from './consumer.ts';
import { FakeCountedLog, type FakeMember } from './fake-counting-group.ts';
import type { LogBatch } from './log.ts';
import type { WarehouseAccess } from './pipeline.ts';
import type { Warehouse } from './warehouse.ts';
import { openSqliteWarehouse } from './warehouses/sqlite/warehouse.ts';

const bounds = {
  blockClicksMin: 20,
  blockClicksMax: 30,
  blockMs: 1_000,
  blockClicksGood: 0,
  heldClicksMax: 200,
} as const;

/**
 * Like a warehouse of several tables without transactions: a block goes to one table after the other, each recognises
 * it by its place and accepts it once, and anything may happen in between. It compares no positions.
 */
class TwoTables {
  readonly tables = [new Map<string, number>(), new Map<string, number>()];
  /** Runs between the inserts into the two tables. */
  between: () => Promise<void> = async () => {};

  async apply(batches: readonly LogBatch[]) {
    const between = this.between;
    let sum = 0;
    for (const [partition, block] of Map.groupBy(batches, each => each.partition)) {
      const clicks = block.reduce((total, { batch }) => total + clickCount(batch), 0);
      const token = `${partition}/${block[0]!.from}-${block.at(-1)!.to}`;
      this.#insert(0, token, clicks);
      await between();
      this.#insert(1, token, clicks);
      sum += clicks;
    }
    return { clicks: sum, duplicates: 0 };
  }

  #insert(table: number, token: string, clicks: number): void {
    this.tables[table]!.set(token, this.tables[table]!.get(token) ?? clicks);
  }

  async positions() {
    const ends = [...this.tables[1]!.keys()].map(
      token => token.split(/\/(?=\d+-)|-/) as [string, string, string],
    );
    const byPartition = Map.groupBy(ends, ([partition]) => partition);
    return new Map(
      [...byPartition].map(([name, tokens]) => [name, Math.max(...tokens.map(([, , to]) => Number(to)))]),
    );
  }

  totals(): number[] {
    return this.tables.map(table => [...table.values()].reduce((sum, clicks) => sum + clicks, 0));
  }

  access(): WarehouseAccess {
    return { isCurrent: true, get: () => this as unknown as Warehouse, close() {} };
  }
}

describe('counting together', () => {
  let folder: string;
  let clock: ManualClock;
  let stream: FakeCountedLog;
  let problems: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-consumer-'));
    clock = new ManualClock(samplesStart);
    stream = new FakeCountedLog(3);
    problems = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const members = new WeakMap<ClickConsumer, FakeMember>();
  const consumer = (warehouse: WarehouseAccess, others: Partial<ConsumerBounds> = {}) => {
    const group = stream.join();
    const onProblem = (what: string, error: unknown) => problems.push(`${what}: ${String(error)}`);
    const made = new ClickConsumer({
      group,
      log: stream,
      warehouse,
      clock,
      onProblem,
      bounds: { ...bounds, ...others },
    });
    members.set(made, group);
    return made;
  };
  const expel = (one: ClickConsumer) => members.get(one)!.expel();
  const sqlite = (): WarehouseAccess & { warehouse: Warehouse } => {
    const warehouse = openSqliteWarehouse(join(folder, 'stats.db'));
    return { warehouse, isCurrent: true, get: () => warehouse, close() {} };
  };
  const totalOf = async ({ warehouse }: { warehouse: Warehouse }) =>
    (await warehouse.total({ kind: 'link', code: 'abc', ownerId: 'acc_1' })).clicks;
  /** Runs rounds until everything is counted and committed as counted. */
  const settle = async (...consumers: ClickConsumer[]) => {
    for (let round = 0; round < 60; round += 1) {
      clock.advance(bounds.blockMs);
      for (const each of consumers) await each.round();
    }
    expect(consumers.reduce((sum, { counts }) => sum + counts.behind, 0)).toBe(0);
  };

  test('a block is counted when it has waited long enough, or at once when it is large', async () => {
    const tables = new TwoTables();
    const one = consumer(tables.access());
    stream.append('topic/0', 5);
    await one.round();
    expect(tables.totals()).toEqual([0, 0]);
    clock.advance(bounds.blockMs);
    await one.round();
    expect(tables.totals()).toEqual([5, 5]);
    stream.append('topic/1', 25);
    await one.round();
    expect(tables.totals()).toEqual([30, 30]);
    expect(one.counts).toMatchObject({ counted: 30, blocks: 2, partitions: 3, behind: 0 });
  });

  test('a small block waits for more clicks, for as long as it may', async () => {
    const tables = new TwoTables();
    const patient = { blockClicksGood: 10, smallBlockMs: 3_000 };
    const one = consumer(tables.access(), patient);
    stream.append('topic/0', 5);
    await one.round();
    clock.advance(bounds.blockMs);
    await one.round();
    expect(tables.totals()).toEqual([0, 0]);
    stream.append('topic/0', 5);
    await one.round();
    expect(tables.totals()).toEqual([10, 10]);
    stream.append('topic/1', 5);
    await one.round();
    clock.advance(patient.smallBlockMs - 1);
    await one.round();
    expect(tables.totals()).toEqual([10, 10]);
    clock.advance(1);
    await one.round();
    expect(tables.totals()).toEqual([15, 15]);
  });

  test('a block ends with the message that makes it large, and the rest is the next block', async () => {
    const tables = new TwoTables();
    for (let message = 0; message < 3; message += 1) stream.append('topic/0', 20);
    const one = consumer(tables.access());
    await settle(one);
    expect([...tables.tables[0]!]).toEqual([
      ['topic/0/0-2', 40],
      ['topic/0/2-3', 20],
    ]);
  });

  test('reports its lag in messages and in time, including messages it has not read yet', async () => {
    const one = consumer(new TwoTables().access());
    for (let message = 0; message < 5; message += 1) stream.append('topic/0', 40);
    clock.advance(7_000);
    await one.round();
    expect(one.counts).toMatchObject({ counted: 40, behind: 4, lagMs: 7_000 });
    stream.messagesPerTake = 1;
    await settle(one);
    expect(one.counts).toMatchObject({ counted: 200, behind: 0, lagMs: 0 });
    stream.append('topic/0', 40);
    stream.append('topic/0', 40);
    await one.round();
    expect(one.counts.lagMs).toBe(clock.now() - samplesStart);
  });

  test('nothing is counted before it is planned, and the last plan is closed when nothing is left', async () => {
    const tables = new TwoTables();
    const plans: unknown[] = [];
    tables.between = async () => void plans.push(stream.planOf('topic/0'));
    stream.append('topic/0', 25);
    const one = consumer(tables.access());
    await one.round();
    expect(plans).toEqual([{ from: 0, to: 1, since: undefined }]);
    await one.round();
    expect(stream.planOf('topic/0')).toEqual({ from: 1, to: undefined, since: undefined });
  });

  test('the next owner counts the planned block as planned, although there are more messages by now', async () => {
    const tables = new TwoTables();
    tables.between = () => Promise.reject(new Error('killed'));
    stream.append('topic/0', 25);
    const killed = consumer(tables.access());
    await killed.round();
    tables.between = async () => {};
    stream.append('topic/0', 2);
    expel(killed);
    await settle(consumer(tables.access()));
    expect([...tables.tables[0]!.keys()]).toEqual(['topic/0/0-1', 'topic/0/1-2']);
    expect(tables.totals()).toEqual([27, 27]);
  });

  test('while the warehouse is down, the held clicks stay within their bound, and then all of them are counted', async () => {
    const tables = new TwoTables();
    let isDown = true;
    const access = tables.access();
    const one = consumer({
      ...access,
      get: () => {
        if (isDown) throw new Error('down');
        return access.get();
      },
    });
    for (let message = 0; message < 300; message += 1) stream.append(stream.names[message % 3]!, 10);
    const taken: number[] = [];
    const read = stream.read.bind(stream);
    stream.read = async positions => {
      const found = await read(positions);
      taken.push(...[...found.values()].flatMap(({ items }) => items.map(({ batch }) => clickCount(batch))));
      return found;
    };
    for (let round = 0; round < 50; round += 1) {
      clock.advance(bounds.blockMs);
      expect(await one.round()).not.toBe('worked');
    }
    const clicksPerTake = 3 * 3 * 10;
    expect(taken.reduce((sum, clicks) => sum + clicks, 0)).toBeLessThan(bounds.heldClicksMax + clicksPerTake);
    expect(problems[0]).toContain('the click warehouse cannot be written');
    expect(one.counts.isWarehouseDown).toBe(true);
    isDown = false;
    await settle(one);
    expect(one.counts.isWarehouseDown).toBe(false);
    expect(tables.totals()).toEqual([3_000, 3_000]);
  });

  test('a block that the warehouse rejects delays the other partitions by one round only', async () => {
    const tables = new TwoTables();
    const access = tables.access();
    const apply = tables.apply.bind(tables);
    tables.apply = async batches => {
      if (batches.some(({ partition }) => partition === 'topic/0')) throw new Error('refused');
      return apply(batches);
    };
    const one = consumer(access);
    for (const name of stream.names) stream.append(name, 25);
    for (let round = 0; round < 5; round += 1) await one.round();
    expect(tables.totals()).toEqual([50, 50]);
    tables.apply = apply;
    await settle(one);
    expect(tables.totals()).toEqual([75, 75]);
  });

  test('a member without a partition waits, and has nothing to count', async () => {
    const more = Array.from({ length: 4 }, () => consumer(new TwoTables().access()));
    for (const each of more) await each.round();
    const outcomes = [];
    for (const each of more) outcomes.push(await each.round());
    expect(outcomes.toSorted()).toEqual(['idle', 'worked', 'worked', 'worked']);
  });

  test('a group configured to begin later skips what is before, also when another process counts the first block', async () => {
    const tables = new TwoTables();
    for (let message = 0; message < 4; message += 1) stream.append('topic/0', 5);
    const group = stream.join();
    await (await group.term()).commit(new Map([['topic/0', { from: 0, since: 2 }]]));
    await group.close();
    tables.between = () => Promise.reject(new Error('killed'));
    const one = consumer(tables.access());
    await one.round();
    clock.advance(bounds.blockMs);
    await one.round();
    expect(stream.planOf('topic/0')).toEqual({ from: 0, to: 4, since: 2 });
    tables.between = async () => {};
    expel(one);
    await settle(consumer(tables.access()));
    expect([...tables.tables[1]!]).toEqual([['topic/0/0-4', 10]]);
  });

  test('counts that were restored from an earlier time are continued from there', async () => {
    const access = sqlite();
    stream.append('topic/0', 25);
    const one = consumer(access);
    await settle(one);
    expect(await totalOf(access)).toBe(25);
    await access.warehouse.close();
    rmSync(join(folder, 'stats.db'));
    const fresh = sqlite();
    Object.assign(access, { warehouse: fresh.warehouse, get: () => fresh.warehouse });
    stream.append('topic/0', 3);
    await settle(one);
    expect(await totalOf(fresh)).toBe(28);
    await fresh.warehouse.close();
  });

  test('counts that went back are caught up with although no new clicks arrive, and a warehouse that is down shows', async () => {
    const access = sqlite();
    const warehouses = [access.warehouse];
    const one = consumer({ ...access, get: () => warehouses[0]! });
    stream.append('topic/0', 5);
    stream.append('topic/1', 7);
    await settle(one);
    const before = openSqliteWarehouse(join(folder, 'restored.db'));
    const isDown = () => Promise.reject(new Error('down'));
    warehouses[0] = { ...before, positions: isDown };
    clock.advance(10_000);
    expect(await one.round()).toBe('failed');
    expect(one.counts.isWarehouseDown).toBe(true);
    warehouses[0] = before;
    await settle(one);
    expect([await totalOf({ warehouse: before }), one.counts.isWarehouseDown]).toEqual([12, false]);
    await before.close();
  });

  test('clicks that were deleted stay deleted in a warehouse that has forgotten it', async () => {
    const access = sqlite();
    stream.append('topic/0', 25);
    const one = new ClickConsumer({
      group: stream.join(),
      log: stream,
      warehouse: access,
      forgotten: async () => new Map([['abc', samplesStart + 1]]),
      clock,
      onProblem: (_, error) => problems.push(String(error)),
      bounds,
    });
    await settle(one);
    expect(await totalOf(access)).toBe(0);
    expect(one.counts.counted).toBe(25);
    await access.warehouse.close();
  });

  /** One number chooses what happens next, the others which process it happens to. */
  const steps = fc.array(fc.tuple(fc.nat(7), fc.nat(2), fc.nat(40)), { minLength: 10, maxLength: 60 });

  test('members come, go, die between two tables and wake up again: every click counts once in each table', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async happenings => {
        stream = new FakeCountedLog(3);
        const tables = new TwoTables();
        const living = [consumer(tables.access())];
        const zombies: { wake: () => void; end: Promise<unknown> }[] = [];
        for (const [what, which, clicks] of happenings) {
          clock.advance(bounds.blockMs / 2);
          const one = living[which % living.length]!;
          if (what <= 2) stream.append(stream.names[which]!, clicks + 1);
          else if (what === 3) await one.round();
          else if (what === 4) {
            // The process dies after the first table, and another one takes its place.
            tables.between = () => Promise.reject(new Error('killed'));
            await one.round();
            tables.between = async () => {};
            expel(one);
            living[which % living.length] = consumer(tables.access());
          } else if (what === 5) {
            // The process hangs between the tables, is considered dead, and continues much later.
            const gate = Promise.withResolvers<void>();
            tables.between = () => gate.promise;
            const end = one.round();
            await yieldToEventLoop();
            tables.between = async () => {};
            expel(one);
            zombies.push({ wake: gate.resolve, end });
            living[which % living.length] = consumer(tables.access());
          } else if (what === 6) {
            // The warehouse fails in the middle, and the consumer retries later, when there may be more messages.
            tables.between = () => Promise.reject(new Error('down'));
            await one.round();
            tables.between = async () => {};
          } else if (living.length < 3) living.push(consumer(tables.access()));
          else await living.shift()!.close();
          if (zombies.length > 2) {
            const { wake, end } = zombies.shift()!;
            wake();
            await end;
          }
        }
        for (const { wake, end } of zombies) {
          wake();
          await end;
        }
        await settle(...living);
        expect(tables.totals()).toEqual([stream.appended, stream.appended]);
      }),
      { numRuns: 150 },
    );
  });
});
