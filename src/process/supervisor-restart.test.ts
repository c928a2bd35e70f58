/** Replacing all workers, and ending them. */
import { beforeEach, describe, expect, test } from 'bun:test';
import { FakeCrew, ready } from './fake-crew.ts';
import { settle } from './fake-workers.ts';
import { leaveMaxMs } from './running-worker.ts';

let crew: FakeCrew;

beforeEach(() => {
  crew = new FakeCrew();
});

test('a change of the log level reaches every worker, including later ones', async () => {
  const [first, second] = await crew.startAll(2);
  const message = { kind: 'setLogLevel', level: 'debug' } as const;
  crew.supervisor.setLogLevel('debug');
  for (const worker of [first!, second!]) expect(worker.messages).toContainEqual(message);
  await first!.ends('SIGKILL');
  crew.clock.advance(10_000);
  expect(crew.workers.latest.messages).toEqual([]);
  await ready(crew.workers.latest);
  expect(crew.workers.latest.messages).toContainEqual(message);
});

describe('a rolling restart', () => {
  test('replaces one after the other, each only when its successor serves', async () => {
    const [first, second] = await crew.startAll(2);
    const replaced = crew.supervisor.replaceAll();
    await settle();
    const third = crew.workers.latest;
    expect([third.place, first!.received]).toEqual([0, []]);
    await ready(third);
    expect(first!.received).toEqual(['retire']);
    expect(crew.workers.latest).toBe(third);
    await first!.ends(0);
    const fourth = crew.workers.latest;
    expect([fourth.place, second!.received]).toEqual([1, []]);
    await ready(fourth);
    await second!.ends(0);
    await replaced;
    expect(crew.workers.alive).toEqual([third, fourth]);
    expect(crew.events()).toEqual(['the workers are replaced']);
  });

  test('ends a worker that does not leave', async () => {
    const [only] = await crew.startAll(1);
    crew.supervisor.replaceAll();
    await settle();
    await ready(crew.workers.latest);
    await crew.pass(leaveMaxMs - 1);
    expect(only!.received).toEqual(['retire']);
    await crew.pass(1);
    expect(only!.received).toEqual(['retire', 'SIGKILL']);
  });

  test('stops at the first successor that cannot start: all others stay', async () => {
    const before = await crew.startAll(3);
    const replaced = crew.supervisor.replaceAll();
    await settle();
    await crew.workers.latest.ends(2);
    await replaced;
    expect(crew.workers.alive).toEqual(before);
    expect(before.flatMap(({ received }) => received)).toEqual([]);
    expect(crew.events()).toEqual(['a worker ended', 'a worker could not be replaced: the others stay']);
  });

  test('continues when a worker dies while its successor starts', async () => {
    const [only] = await crew.startAll(1);
    const replaced = crew.supervisor.replaceAll();
    await settle();
    const next = crew.workers.latest;
    await only!.ends('SIGKILL');
    crew.clock.advance(10_000);
    expect(crew.workers.alive).toEqual([next]);
    await ready(next);
    await replaced;
    expect(crew.workers.alive).toEqual([next]);
  });

  test('starts a worker again when both it and its successor died', async () => {
    const [only] = await crew.startAll(1);
    const replaced = crew.supervisor.replaceAll();
    await settle();
    const next = crew.workers.latest;
    await only!.ends('SIGKILL');
    await next.ends(1);
    await replaced;
    crew.clock.advance(10_000);
    expect(crew.workers.alive.length).toBe(1);
  });

  test('gives one successor to a worker that waits to be started again', async () => {
    await crew.startAll(1);
    await crew.workers.latest.ends(1);
    crew.clock.advance(0);
    await crew.workers.latest.ends(1);
    crew.supervisor.replaceAll();
    await settle();
    crew.clock.advance(10_000);
    expect(crew.workers.alive.length).toBe(1);
  });

  test('lets a worker that is starting get ready before it asks it to leave', async () => {
    const [only] = await crew.startAll(1);
    await only!.ends('SIGKILL');
    crew.clock.advance(0);
    const starting = crew.workers.latest;
    crew.supervisor.replaceAll();
    await settle();
    expect(crew.workers.alive).toEqual([starting]);
    await ready(starting);
    await ready(crew.workers.latest);
    expect(starting.received).toEqual(['retire']);
  });

  test('that is requested three times happens once now and once more after that', async () => {
    await crew.startAll(1);
    const wishes = [crew.supervisor.replaceAll()];
    await settle();
    wishes.push(crew.supervisor.replaceAll(), crew.supervisor.replaceAll());
    for (let round = 0; round < 2; round += 1) {
      const old = crew.workers.alive[0]!;
      await ready(crew.workers.latest);
      await old.ends(0);
    }
    await Promise.all(wishes);
    expect(crew.workers.all.length).toBe(3);
  });

  test('that is requested during the start comes after it', async () => {
    const started = crew.supervise(2).start();
    crew.supervisor.replaceAll();
    await settle();
    expect(crew.workers.all.length).toBe(1);
    await ready(crew.workers.latest);
    await ready(crew.workers.latest);
    await started;
    await settle();
    expect(crew.workers.all.map(({ place }) => place)).toEqual([0, 1, 0]);
  });
});

describe('a stop', () => {
  test('ends when every worker has', async () => {
    const [first, second] = await crew.startAll(2);
    let hasStopped = false;
    const stopped = crew.supervisor.stop().then(() => {
      hasStopped = true;
    });
    expect([first!.received, second!.received]).toEqual([['SIGTERM'], ['SIGTERM']]);
    await first!.ends(0);
    expect(hasStopped).toBe(false);
    await second!.ends(0);
    await stopped;
    crew.clock.advance(60_000);
    expect([crew.workers.all.length, crew.logged]).toEqual([2, []]);
  });

  test('during a rolling restart also ends workers that leave or start, and replaces no more', async () => {
    const [first, second] = await crew.startAll(2);
    const replaced = crew.supervisor.replaceAll();
    await settle();
    await ready(crew.workers.latest);
    const third = crew.workers.latest;
    const stopped = crew.supervisor.stop();
    for (const worker of [first!, second!, third]) expect(worker.received.at(-1)).toBe('SIGTERM');
    await first!.ends(0);
    await second!.ends(0);
    await third.ends(0);
    await Promise.all([stopped, replaced]);
    expect(crew.workers.all.length).toBe(3);
  });

  test('while a successor starts ends it too', async () => {
    const [only] = await crew.startAll(1);
    const replaced = crew.supervisor.replaceAll();
    await settle();
    const stopped = crew.supervisor.stop();
    expect(crew.workers.latest.received).toEqual(['SIGTERM']);
    await crew.workers.latest.ends('SIGTERM');
    await only!.ends(0);
    await Promise.all([stopped, replaced]);
    expect([crew.workers.all.length, crew.logged]).toEqual([2, []]);
  });

  test('starts no worker that waited to be started again', async () => {
    await crew.startAll(1);
    await crew.workers.latest.ends(1);
    crew.clock.advance(0);
    await crew.workers.latest.ends(1);
    await crew.supervisor.stop();
    crew.clock.advance(60_000);
    expect(crew.workers.alive).toEqual([]);
    expect(crew.workers.all.length).toBe(2);
  });

  test('kills workers that do not end, after a while or on an immediate stop', async () => {
    const [first, second] = await crew.startAll(2);
    const stopped = crew.supervisor.stop();
    await first!.ends(0);
    crew.clock.advance(leaveMaxMs);
    expect(second!.received).toEqual(['SIGTERM', 'SIGKILL']);
    await stopped;

    crew.workers.all.length = 0;
    const [impatient] = await crew.startAll(1);
    crew.supervisor.abandon();
    expect(impatient!.received).toEqual(['SIGKILL']);
    await crew.pass(10_000);
    expect(crew.workers.all.length).toBe(1);
  });
});
