import { beforeEach, describe, expect, test } from 'bun:test';
import type { Metric } from '../ops/metrics.ts';
import { FakeCrew } from './fake-crew.ts';
import { type FakeWorker, settle } from './fake-workers.ts';

const done = (value: number): Metric => ({
  name: 'done_total',
  help: '',
  type: 'counter',
  samples: [{ value }],
});
const level = (value: number): Metric => ({
  name: 'level',
  help: '',
  type: 'gauge',
  across: 'sum',
  samples: [{ value }],
});

let crew: FakeCrew;
let first: FakeWorker;
let second: FakeWorker;
let third: FakeWorker;

beforeEach(async () => {
  crew = new FakeCrew();
  [first, second, third] = (await crew.startAll(3)) as [FakeWorker, FakeWorker, FakeWorker];
});

const questionsTo = (worker: FakeWorker): number[] =>
  worker.messages.flatMap(message => (message.kind === 'giveMetrics' ? [message.round] : []));

async function answer(worker: FakeWorker, ...metrics: Metric[]): Promise<void> {
  await worker.says({ kind: 'metrics', round: questionsTo(worker).at(-1), metrics });
}

/** What the worker was answered last, by name; of several samples, by their label. */
function shownTo(worker: FakeWorker): Record<string, number> {
  const message = worker.messages.findLast(({ kind }) => kind === 'allMetrics');
  if (message?.kind !== 'allMetrics') return {};
  return Object.fromEntries(
    message.metrics.flatMap(({ name, samples }) =>
      samples.map(({ labels, value }) => [labels === undefined ? name : `${name} ${labels.reason}`, value]),
    ),
  );
}

describe('a worker that is asked for numbers', () => {
  test('shows those of all, and what their supervisor knows', async () => {
    await second.says({ kind: 'askMetrics', question: 1 });
    await answer(first, done(1), level(10));
    await answer(second, done(2), level(20));
    expect(shownTo(second)).toEqual({});
    await answer(third, done(3), level(30));
    expect(shownTo(second)).toEqual({
      done_total: 6,
      level: 60,
      terse_workers: 3,
      terse_workers_serving: 3,
      terse_workers_heard: 3,
      'terse_worker_restarts_total died': 0,
      'terse_worker_restarts_total hung': 0,
      'terse_worker_restarts_total left': 0,
      'terse_worker_restarts_total replaced': 0,
    });
  });

  test('does not wait for one that is silent, and says how many were heard', async () => {
    await first.says({ kind: 'askMetrics', question: 1 });
    for (const worker of [first, second, third]) await answer(worker, done(10), level(1));
    await first.says({ kind: 'askMetrics', question: 2 });
    await answer(first, done(11), level(1));
    await answer(second, done(12), level(1));
    crew.clock.advance(400);
    await settle();
    // What the silent one had counted stays; what it was like is no longer known.
    expect(shownTo(first)).toMatchObject({ done_total: 33, level: 2, terse_workers_heard: 2 });
  });

  test('does not wait for one that dies meanwhile, and what that had counted stays', async () => {
    await first.says({ kind: 'askMetrics', question: 1 });
    for (const worker of [first, second, third]) await answer(worker, done(10), level(1));
    await first.says({ kind: 'askMetrics', question: 2 });
    await answer(first, done(11), level(1));
    await answer(second, done(12), level(1));
    await third.ends('SIGKILL');
    expect(shownTo(first)).toMatchObject({
      done_total: 33,
      level: 2,
      terse_workers: 3,
      terse_workers_serving: 2,
      terse_workers_heard: 2,
      'terse_worker_restarts_total died': 1,
    });
  });

  test('shares the round of another that was asked just before', async () => {
    await first.says({ kind: 'askMetrics', question: 1 });
    await second.says({ kind: 'askMetrics', question: 1 });
    expect(crew.workers.all.map(questionsTo)).toEqual([[1], [1], [1]]);
    for (const worker of [first, second, third]) await answer(worker, done(1));
    expect([shownTo(first), shownTo(second)]).toMatchObject([{ done_total: 3 }, { done_total: 3 }]);
  });

  test('is not told a number of the round before', async () => {
    await first.says({ kind: 'askMetrics', question: 1 });
    await answer(first, done(1));
    await answer(second, done(1));
    crew.clock.advance(400);
    await settle();
    await first.says({ kind: 'askMetrics', question: 2 });
    await answer(first, done(2));
    await answer(second, done(2));
    await third.says({ kind: 'metrics', round: 1, metrics: [done(1)] });
    expect(shownTo(first)).toMatchObject({ terse_workers_heard: 2 });
    await answer(third, done(2));
    expect(shownTo(first)).toMatchObject({ done_total: 6, terse_workers_heard: 3 });
  });
});

describe('a rolling restart', () => {
  /** Starts a successor for the next worker in turn, which then leaves. */
  async function replaceNext(): Promise<FakeWorker> {
    await settle();
    const next = crew.workers.latest;
    await next.says({ kind: 'ready' });
    return next;
  }

  test('makes no counter fall', async () => {
    crew.supervisor.replaceAll();
    const fourth = await replaceNext();
    await first.says({ kind: 'metrics', round: undefined, metrics: [done(7), level(1)] });
    await first.ends(0);
    const fifth = await replaceNext();
    await second.says({ kind: 'metrics', round: undefined, metrics: [done(5), level(1)] });
    await second.ends(0);
    await third.says({ kind: 'askMetrics', question: 1 });
    for (const worker of [third, fourth, fifth]) await answer(worker, done(1), level(1));
    expect(shownTo(third)).toMatchObject({
      done_total: 15,
      level: 3,
      terse_workers_heard: 3,
      'terse_worker_restarts_total replaced': 2,
    });
  });

  test('still asks who is leaving, but does not count it among those that serve', async () => {
    crew.supervisor.replaceAll();
    const fourth = await replaceNext();
    await second.says({ kind: 'askMetrics', question: 1 });
    for (const worker of [first, second, third, fourth]) await answer(worker, done(1));
    expect(shownTo(second)).toMatchObject({
      done_total: 4,
      terse_workers_serving: 3,
      terse_workers_heard: 3,
    });
  });
});
