import { beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { GaugeRule, Metric } from '../telemetry/metrics.ts';
import { FakeCrew } from './fake-crew.ts';
import { type FakeWorker, settle } from './fake-workers.ts';
import { mergeMetrics, onlyCounters } from './metrics-rounds.ts';

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

/** The last answer to the worker, by name; for several samples, by their label. */
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
      terse_workers_reporting: 3,
      'terse_worker_restarts_total died': 0,
      'terse_worker_restarts_total hung': 0,
      'terse_worker_restarts_total left': 0,
      'terse_worker_restarts_total replaced': 0,
    });
  });

  test('does not wait for one that is unresponsive, and reports how many answered', async () => {
    await first.says({ kind: 'askMetrics', question: 1 });
    for (const worker of [first, second, third]) await answer(worker, done(10), level(1));
    await first.says({ kind: 'askMetrics', question: 2 });
    await answer(first, done(11), level(1));
    await answer(second, done(12), level(1));
    crew.clock.advance(400);
    await settle();
    // The counters of the unresponsive one stay; its gauges are no longer known.
    expect(shownTo(first)).toMatchObject({ done_total: 33, level: 2, terse_workers_reporting: 2 });
  });

  test('does not wait for one that dies meanwhile, whose counters stay', async () => {
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
      terse_workers_reporting: 2,
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

  test('never gets a number of the previous round', async () => {
    await first.says({ kind: 'askMetrics', question: 1 });
    await answer(first, done(1));
    await answer(second, done(1));
    crew.clock.advance(400);
    await settle();
    await first.says({ kind: 'askMetrics', question: 2 });
    await answer(first, done(2));
    await answer(second, done(2));
    await third.says({ kind: 'metrics', round: 1, metrics: [done(1)] });
    expect(shownTo(first)).toMatchObject({ terse_workers_reporting: 2 });
    await answer(third, done(2));
    expect(shownTo(first)).toMatchObject({ done_total: 6, terse_workers_reporting: 3 });
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
      terse_workers_reporting: 3,
      'terse_worker_restarts_total replaced': 2,
    });
  });

  test('still asks a worker that is leaving, but does not count it as serving', async () => {
    crew.supervisor.replaceAll();
    const fourth = await replaceNext();
    await second.says({ kind: 'askMetrics', question: 1 });
    for (const worker of [first, second, third, fourth]) await answer(worker, done(1));
    expect(shownTo(second)).toMatchObject({
      done_total: 4,
      terse_workers_serving: 3,
      terse_workers_reporting: 3,
    });
  });
});

const counter = (name: string, samples: Metric['samples']): Metric => ({
  name,
  help: 'Help.',
  type: 'counter',
  samples,
});

const gauge = (value: number, across?: GaugeRule): Metric => ({
  name: 'level',
  help: 'Level.',
  type: 'gauge',
  ...(across !== undefined && { across }),
  samples: [{ value }],
});

describe('the metrics of several processes', () => {
  test('are those of one process when there is only one', () => {
    const alone = [counter('a_total', [{ labels: { kind: 'x' }, value: 3 }]), gauge(7, 'average')];
    expect(mergeMetrics([alone])).toEqual(alone);
  });

  test('add up counters by their labels, whatever order those are in', () => {
    const one = counter('a_total', [
      { labels: { route: 'read', status: 200 }, value: 3 },
      { labels: { route: 'read', status: 404 }, value: 1 },
    ]);
    const other = counter('a_total', [
      { labels: { status: '200', route: 'read' }, value: 4 },
      { labels: { route: 'list', status: 200 }, value: 5 },
    ]);
    expect(mergeMetrics([[one], [other]])).toEqual([
      counter('a_total', [
        { labels: { route: 'read', status: 200 }, value: 7 },
        { labels: { route: 'read', status: 404 }, value: 1 },
        { labels: { route: 'list', status: 200 }, value: 5 },
      ]),
    ]);
  });

  test('have what only some of them have, in the order of its first appearance', () => {
    const merged = mergeMetrics([
      [counter('b_total', [{ value: 1 }])],
      [counter('a_total', [{ value: 2 }]), counter('b_total', [{ value: 3 }])],
    ]);
    expect(merged.map(({ name, samples }) => [name, samples[0]?.value])).toEqual([
      ['b_total', 4],
      ['a_total', 2],
    ]);
  });

  test.each([
    ['sum', 9],
    ['max', 6],
    ['min', 1],
    ['average', 3],
    [undefined, 6],
  ] as const)('merge a gauge by the rule it declares (%s)', (rule, expected) => {
    const [level] = mergeMetrics([[gauge(2, rule)], [gauge(1, rule)], [gauge(6, rule)]]);
    expect(level?.samples).toEqual([{ value: expected }]);
  });

  test.each(['sum', 'max', 'min', 'average'] as const)(
    'leave out what was never measured, unless no process has (%s)',
    rule => {
      const unmeasured = gauge(Number.NaN, rule);
      expect(mergeMetrics([[unmeasured], [gauge(4, rule)]])[0]?.samples).toEqual([{ value: 4 }]);
      expect(mergeMetrics([[unmeasured], [unmeasured]])[0]?.samples).toEqual([{ value: Number.NaN }]);
    },
  );

  test('are the same when some were merged before', () => {
    const parts = fc.array(
      fc.array(fc.record({ kind: fc.constantFrom('x', 'y', 'z'), value: fc.nat(1_000) }), { maxLength: 4 }),
      { minLength: 1, maxLength: 5 },
    );
    const total = (metrics: readonly Metric[]): Record<string, number> =>
      Object.fromEntries(
        metrics.flatMap(({ samples }) => samples.map(({ labels, value }) => [labels?.kind, value])),
      );
    fc.assert(
      fc.property(parts, fc.nat(4), (processes, cut) => {
        const metrics = processes.map(samples => [
          counter(
            'a_total',
            samples.map(({ kind, value }) => ({ labels: { kind }, value })),
          ),
        ]);
        const before = mergeMetrics(metrics.slice(0, cut));
        expect(total(mergeMetrics([before, ...metrics.slice(cut)]))).toEqual(total(mergeMetrics(metrics)));
      }),
    );
  });
});

test('keep the counters of a process that has ended', () => {
  const counted = counter('a_total', [{ value: 1 }]);
  expect(onlyCounters([gauge(5), counted])).toEqual([counted]);
});
