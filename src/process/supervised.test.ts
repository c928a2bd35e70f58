import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import type { Metric } from '../telemetry/metrics.ts';
import {
  type Channel,
  placeOf,
  placeText,
  Supervised,
  type SupervisedServer,
  type SupervisorMessage,
  type WorkerMessage,
} from './supervised.ts';

const place = { index: 1, count: 4, port: 8080 };
const metric = (value: number): Metric => ({
  name: 'done_total',
  help: 'Done.',
  type: 'counter',
  samples: [{ value }],
});

let clock: ManualClock;
let channel: FakeChannel;
let did: string[];
let orphaned: number;

class FakeChannel implements Channel {
  isOpen = true;
  readonly sent: WorkerMessage[] = [];
  take: (message: SupervisorMessage) => void = () => {};
  close: () => void = () => {};

  async send(message: WorkerMessage): Promise<void> {
    this.sent.push(message);
  }

  onMessage(take: (message: SupervisorMessage) => void): void {
    this.take = take;
  }

  onClosed(tell: () => void): void {
    this.close = tell;
  }
}

const server: SupervisedServer = {
  retire: () => void did.push('retire'),
  attend: places => void did.push(`attend ${places}`),
  setLogLevel: level => void did.push(`log ${level}`),
  metrics: () => [metric(5)],
};

const supervised = (): Supervised =>
  new Supervised(channel, place, clock, () => {
    orphaned += 1;
  });

beforeEach(() => {
  clock = new ManualClock();
  channel = new FakeChannel();
  did = [];
  orphaned = 0;
});

test('the place of a worker survives serialization, and nothing else is mistaken for it', () => {
  expect(placeOf(placeText(place))).toEqual(place);
  for (const text of [undefined, '', '1', '1:2', '1:2:3:4', 'a:b:c', '-1:2:3']) {
    expect(placeOf(text)).toBeUndefined();
  }
});

describe('a worker', () => {
  test('reports that it is ready, and then every second that it is alive', () => {
    const worker = supervised();
    clock.advance(10_000);
    expect(channel.sent).toEqual([]);
    worker.ready(server);
    clock.advance(2_000);
    expect(channel.sent).toEqual([{ kind: 'ready' }, { kind: 'beat' }, { kind: 'beat' }]);
  });

  test('follows the supervisor’s messages, and ignores unknown ones', () => {
    supervised().ready(server);
    channel.take({ kind: 'attend', places: [0, 2] });
    channel.take({ kind: 'sing' } as unknown as SupervisorMessage);
    channel.take({ kind: 'setLogLevel', level: 'debug' });
    channel.take({ kind: 'retire' });
    expect(did).toEqual(['attend 0,2', 'log debug', 'retire']);
    expect(channel.sent).toEqual([{ kind: 'ready' }]);
  });

  test('answers with its numbers when it is asked for them', () => {
    supervised().ready(server);
    channel.take({ kind: 'giveMetrics', round: 7 });
    expect(channel.sent.at(-1)).toEqual({ kind: 'metrics', round: 7, metrics: [metric(5)] });
  });

  test('learns once that its supervisor has ended', () => {
    supervised();
    expect(orphaned).toBe(0);
    channel.close();
    expect(orphaned).toBe(1);
  });

  test('learns it too when the supervisor ended before it could listen', () => {
    channel.isOpen = false;
    supervised();
    expect(orphaned).toBe(1);
  });
});

test('a worker that ends sends its metrics, but does not wait for a supervisor that does not listen', async () => {
  const worker = supervised();
  await worker.lastWords([metric(3)]);
  expect(channel.sent).toEqual([{ kind: 'metrics', round: undefined, metrics: [metric(3)] }]);
  channel.send = () => new Promise(() => {});
  const said = worker.lastWords([metric(3)]);
  clock.advance(500);
  await said;
});

describe('the numbers of all workers', () => {
  test('are what the supervisor answers to this question', async () => {
    const worker = supervised();
    const first = worker.metricsOfAll(() => [metric(1)]);
    const second = worker.metricsOfAll(() => [metric(1)]);
    expect(channel.sent).toEqual([
      { kind: 'askMetrics', question: 1 },
      { kind: 'askMetrics', question: 2 },
    ]);
    channel.take({ kind: 'allMetrics', question: 2, metrics: [metric(20)] });
    channel.take({ kind: 'allMetrics', question: 1, metrics: [metric(10)] });
    expect(await Promise.all([first, second])).toEqual([[metric(10)], [metric(20)]]);
  });

  test('are its own, and it says so, when no answer comes in time', async () => {
    const worker = supervised();
    const asked = worker.metricsOfAll(() => [metric(1)]);
    clock.advance(500);
    const byName = new Map((await asked).map(({ name, samples }) => [name, samples[0]?.value]));
    expect([...byName]).toEqual([
      ['done_total', 1],
      ['terse_workers', 4],
      ['terse_workers_reporting', 1],
    ]);
    // A late answer is useless.
    channel.take({ kind: 'allMetrics', question: 1, metrics: [] });
  });
});
