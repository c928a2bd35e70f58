/** When a replica counts as fresh, moment by moment; with replica.test.ts, which asks a real one. */
import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { createLog } from '../../ops/log.ts';
import type { Connections } from './connections.ts';
import { ReplicaReads } from './replica.ts';

let clock: ManualClock;
let written: number;
/** Undefined where the server says that it is no replica. */
let replayed: number | undefined;
let isReplicaAway: boolean;
let isPrimaryAway: boolean;
let asked: number;
let lines: string[];
let near: ReplicaReads;
let startReading: (aloneMaxMs: number) => void;

const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

beforeEach(async () => {
  clock = new ManualClock();
  [written, replayed, asked, lines] = [100, 100, 0, []];
  [isReplicaAway, isPrimaryAway] = [false, false];
  const replica = {
    async run(_deadlineMs: number, work: (client: unknown) => Promise<unknown>) {
      if (isReplicaAway) throw new Error('away');
      return work({ query: async ({ text }: { text: string }) => ({ rows: rowsOf(text) }) });
    },
  };
  const primary = {
    async read() {
      if (isPrimaryAway) throw new Error('away');
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

test('without word from the primary it is used for as long as it may be alone, and no longer', async () => {
  isPrimaryAway = true;
  for (let second = 1; second < 60; second += 1) {
    await pass(1);
    expect(await read()).toBeDefined();
  }
  await pass(1);
  expect(await read()).toBeUndefined();
  isPrimaryAway = false;
  await pass(1);
  expect(await read()).toBeDefined();
});

test('one that was late when the primary fell silent is not used instead of it', async () => {
  written = 200;
  await pass(6);
  isPrimaryAway = true;
  await pass(10);
  expect(await read()).toBeUndefined();
});

test('one that may not be alone is used for five seconds after the last word from the primary', async () => {
  startReading(0);
  await settle();
  isPrimaryAway = true;
  await pass(4);
  expect(await read()).toBeDefined();
  await pass(1);
  expect(await read()).toBeUndefined();
});

test('one that is promoted because its primary is lost goes on answering', async () => {
  isPrimaryAway = true;
  await pass(4);
  replayed = undefined;
  await pass(4);
  expect(await read()).toBeDefined();
});

test('after one reader was failed by it, nobody asks it until it has been measured again', async () => {
  isReplicaAway = true;
  expect(await read()).toBeUndefined();
  isReplicaAway = false;
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
  isReplicaAway = true;
  await pass(3);
  isReplicaAway = false;
  await pass(3);
  const events = lines.join('').match(/postgres_replica_\w+/g);
  expect(events).toEqual(['postgres_replica_used', 'postgres_replica_not_used', 'postgres_replica_used']);
});

test('it is not measured any more once it is stopped', async () => {
  near.stop();
  await pass(6);
  expect(await read()).toBeUndefined();
});
