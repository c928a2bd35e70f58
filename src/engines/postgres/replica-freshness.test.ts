/** When a replica counts as fresh, moment by moment; with replica.test.ts, which asks a real one. */
import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { createLog } from '../../telemetry/log.ts';
import type { Connections } from './connections.ts';
import { ReplicaReads } from './replica.ts';

let clock: ManualClock;
let written: number;
/** Undefined where the server says that it is no replica. */
let replayed: number | undefined;
let isReplicaDown: boolean;
let isPrimaryDown: boolean;
let asked: number;
let lines: string[];
let near: ReplicaReads;
let startReading: (aloneMaxMs: number) => void;

const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

beforeEach(async () => {
  clock = new ManualClock();
  [written, replayed, asked, lines] = [100, 100, 0, []];
  [isReplicaDown, isPrimaryDown] = [false, false];
  const replica = {
    async run(_deadlineMs: number, work: (client: unknown) => Promise<unknown>) {
      if (isReplicaDown) throw new Error('down');
      return work({ query: async ({ text }: { text: string }) => ({ rows: rowsOf(text) }) });
    },
  };
  const primary = {
    async read() {
      if (isPrimaryDown) throw new Error('down');
      return [{ position: written }];
    },
  };
  startReading = aloneMaxMs => {
    near?.stop();
    near = new ReplicaReads({
      primary: primary as never,
      replica: replica as unknown as Connections,
      aloneMaxMs,
      clock,
      log: createLog({ level: 'info', clock, write: text => lines.push(text) }),
    });
  };
  startReading(60_000);
  await settle();
});

function rowsOf(text: string): object[] {
  if (text.includes('replay')) return replayed === undefined ? [] : [{ position: replayed }];
  asked += 1;
  return [{ word: 'near' }];
}

const read = () => near.read('SELECT word');

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1_000);
    await settle();
  }
}

test('it is read from when it has replayed what its primary had written', async () => {
  expect(await read()).toEqual([{ word: 'near' }]);
});

test('it stays in use while nothing is written: an idle primary is not a late replica', async () => {
  for (let second = 0; second < 20; second += 1) {
    await pass(1);
    expect(await read()).toEqual([{ word: 'near' }]);
  }
});

test('one that is behind is as fresh as the moment that it has reached, for five seconds', async () => {
  written = 200;
  await pass(4);
  expect(await read()).toBeDefined();
  await pass(1);
  expect(await read()).toBeUndefined();
  replayed = 150;
  await pass(1);
  expect(await read()).toBeUndefined();
  replayed = 200;
  await pass(1);
  expect(await read()).toBeDefined();
});

test('one that follows at a distance stays in use', async () => {
  for (let second = 0; second < 20; second += 1) {
    replayed = written - 30;
    written += 10;
    await pass(1);
    expect(await read()).toBeDefined();
  }
});

test('without an answer from the primary it is used for as long as it may be alone, and no longer', async () => {
  isPrimaryDown = true;
  for (let second = 1; second < 60; second += 1) {
    await pass(1);
    expect(await read()).toBeDefined();
  }
  await pass(1);
  expect(await read()).toBeUndefined();
  isPrimaryDown = false;
  await pass(1);
  expect(await read()).toBeDefined();
});

test('one that was late when the primary stopped answering is not used instead of it', async () => {
  written = 200;
  await pass(6);
  isPrimaryDown = true;
  await pass(10);
  expect(await read()).toBeUndefined();
});

test('one that may not be alone is used for five seconds after the last answer from the primary', async () => {
  startReading(0);
  await settle();
  isPrimaryDown = true;
  await pass(4);
  expect(await read()).toBeDefined();
  await pass(1);
  expect(await read()).toBeUndefined();
});

test('one that is promoted because its primary is lost keeps answering', async () => {
  isPrimaryDown = true;
  await pass(4);
  replayed = undefined;
  await pass(4);
  expect(await read()).toBeDefined();
});

test('after one read from it failed, it is not read from until it has been measured again', async () => {
  isReplicaDown = true;
  expect(await read()).toBeUndefined();
  isReplicaDown = false;
  expect(await read()).toBeUndefined();
  expect(asked).toBe(0);
  await pass(1);
  expect(await read()).toBeDefined();
});

test('a server that is no replica is not read from, though it has all there is', async () => {
  replayed = undefined;
  await pass(6);
  expect(await read()).toBeUndefined();
});

test('the log says once when it is used and once when it is not any more', async () => {
  isReplicaDown = true;
  await pass(3);
  isReplicaDown = false;
  await pass(3);
  const events = lines.join('').match(/postgres_replica_\w+/g);
  expect(events).toEqual(['postgres_replica_used', 'postgres_replica_not_used', 'postgres_replica_used']);
  // Where a failure that repeats is looked for.
  const line = lines.join('').match(/.*postgres_replica_not_used.*/)![0];
  expect(JSON.parse(line).failure).toHaveProperty('message');
});

test('it is not measured any more once it is stopped', async () => {
  near.stop();
  await pass(6);
  expect(await read()).toBeUndefined();
});
