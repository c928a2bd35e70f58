import { beforeEach, describe, expect, test } from 'bun:test';
import { FakeCrew, ready } from './fake-crew.ts';
import { settle } from './fake-workers.ts';
import { leaveMaxMs } from './running-worker.ts';
import { WorkerFailed } from './supervisor.ts';

let crew: FakeCrew;

beforeEach(() => {
  crew = new FakeCrew();
});

describe('at the start', () => {
  test('the first worker goes ahead, the others follow together', async () => {
    const started = crew.supervise(3).start();
    expect(crew.workers.all.map(({ place }) => place)).toEqual([0]);
    await ready(crew.workers.latest);
    expect(crew.workers.all.map(({ place }) => place)).toEqual([0, 1, 2]);
    await ready(...crew.workers.all.slice(1));
    await started;
  });

  test.each([
    ['with its exit code', 2, 2, true],
    ['with 1 when it ended as if all were well', 0, 1, true],
    ['with 1 when it was killed, and it has not said why', 'SIGKILL', 1, false],
  ])('a first worker that fails ends it: %s', async (_, how, exitCode, hasSpoken) => {
    const started = crew.supervise(3).start();
    const failure = started.catch(error => error);
    await crew.workers.latest.ends(how);
    expect(await failure).toBeInstanceOf(WorkerFailed);
    expect(await failure).toMatchObject({ exitCode, hasSpoken });
    crew.clock.advance(60_000);
    await settle();
    expect(crew.workers.all.length).toBe(1);
  });

  test('a first worker that cannot even be started ends it, and the reason is reported', async () => {
    crew.workers.startFault = 'out of processes';
    const failure = await crew
      .supervise(2)
      .start()
      .catch(error => error);
    expect(failure).toMatchObject({ hasSpoken: false, exitCode: 1 });
    expect(failure.message).toContain('out of processes');
  });

  test('a first worker that never gets ready is ended', async () => {
    const failure = crew
      .supervise(2)
      .start()
      .catch(error => error);
    crew.clock.advance(119_000);
    expect(crew.workers.latest.received).toEqual([]);
    crew.clock.advance(1_000);
    expect(crew.workers.latest.received).toEqual(['SIGKILL']);
    expect(await failure).toBeInstanceOf(WorkerFailed);
  });

  test('another worker that fails is retried and delays no other', async () => {
    const started = crew.supervise(2).start();
    await ready(crew.workers.latest);
    await crew.workers.latest.ends(1);
    await started;
    crew.clock.advance(0);
    expect(crew.workers.all.map(({ place }) => place)).toEqual([0, 1, 1]);
  });

  test('a stop that comes meanwhile ends the first worker and starts no other', async () => {
    const started = crew.supervise(2).start();
    const stopped = crew.supervisor.stop();
    await crew.workers.latest.ends('SIGTERM');
    await Promise.all([started, stopped]);
    expect(crew.workers.all.length).toBe(1);
  });

  test('a first worker that gets ready when a stop has come is followed by no other', async () => {
    const started = crew.supervise(2).start();
    const stopped = crew.supervisor.stop();
    await ready(crew.workers.latest);
    await crew.workers.latest.ends(0);
    await Promise.all([started, stopped]);
    expect(crew.workers.all.length).toBe(1);
  });
});

describe('a worker that dies', () => {
  test('is replaced at once, on its own place', async () => {
    const [, second] = await crew.startAll(2);
    await second!.ends('SIGKILL');
    crew.clock.advance(0);
    expect(crew.workers.alive.map(({ place }) => place)).toEqual([0, 1]);
    expect(crew.logged).toMatchObject([
      { event: 'a worker ended', worker: 2, pid: second!.pid, how: 'SIGKILL', startsAgainInMs: 0 },
    ]);
  });

  test('again and again waits longer each time, while the others are left alone', async () => {
    const [first] = await crew.startAll(2);
    const waits: number[] = [];
    for (let death = 0; death < 10; death += 1) {
      await crew.workers.latest.ends(1);
      const waitMs = Number(crew.logged.at(-1)?.startsAgainInMs);
      waits.push(waitMs);
      const startedBefore = crew.workers.all.length;
      await crew.pass(waitMs - 1);
      expect(crew.workers.all.length).toBe(startedBefore);
      crew.clock.advance(Math.min(waitMs, 1));
      expect(crew.workers.all.length).toBe(startedBefore + 1);
    }
    expect(waits).toEqual([0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
    expect(first!.hasEnded).toBe(false);
    expect(first!.received).toEqual(['attend 1']);
  });

  test('after having served for long has not failed to start', async () => {
    await crew.startAll(1);
    for (let death = 0; death < 3; death += 1) {
      await crew.workers.latest.ends(1);
      crew.clock.advance(200);
    }
    await ready(crew.workers.latest);
    await crew.pass(10_000);
    await crew.workers.latest.ends(1);
    expect(crew.logged.at(-1)).toMatchObject({ startsAgainInMs: 0 });
  });

  test('and cannot be started is tried again until it can', async () => {
    const [, second] = await crew.startAll(2);
    crew.workers.startFault = 'out of processes';
    await second!.ends(1);
    crew.clock.advance(0);
    await settle();
    expect(crew.logged.at(-1)).toMatchObject({ event: 'a worker ended', how: 'out of processes' });
    crew.workers.startFault = undefined;
    crew.clock.advance(100);
    expect(crew.workers.alive.map(({ place }) => place)).toEqual([0, 1]);
  });

  test('has its socket served by another until its successor is ready', async () => {
    const [first, second, third] = await crew.startAll(3);
    await second!.ends('SIGKILL');
    expect([first!.received, third!.received]).toEqual([['attend 1'], []]);
    crew.clock.advance(0);
    await ready(crew.workers.latest);
    expect([first!.received, third!.received]).toEqual([['attend 1', 'attend'], []]);
  });

  test('unnoticed so far, and cannot receive messages, does not prevent replacements', async () => {
    const [first, second] = await crew.startAll(2);
    first!.hasEnded = true;
    await second!.ends('SIGKILL');
    crew.clock.advance(0);
    expect(crew.workers.latest.place).toBe(1);
  });

  test('together with others leaves its socket to a remaining worker', async () => {
    const [first, second, third] = await crew.startAll(3);
    await first!.ends('SIGKILL');
    await second!.ends('SIGKILL');
    expect(third!.received.at(-1)).toBe('attend 0,1');
  });
});

describe('a worker that hangs', () => {
  test('has its socket served by another, is ended, and is replaced', async () => {
    const [first, second] = await crew.startAll(2);
    await crew.pass(4_000, second);
    expect(first!.received).toEqual(['attend 1']);
    await crew.pass(5_000, second);
    expect(second!.hasEnded).toBe(false);
    await crew.pass(1_000, second);
    expect(second!.received).toEqual(['SIGKILL']);
    crew.clock.advance(0);
    expect(crew.workers.alive.map(({ place }) => place)).toEqual([0, 1]);
    expect(crew.events()).toEqual(['a worker hangs and is killed', 'a worker ended']);
  });

  test('has its own socket back when it responds again', async () => {
    const [first, second] = await crew.startAll(2);
    await crew.pass(4_000, second);
    await crew.pass(2_000);
    expect(first!.received).toEqual(['attend 1', 'attend']);
    expect(second!.hasEnded).toBe(false);
  });

  test('cannot be distinguished by a supervisor that was itself stopped', async () => {
    const [first, second] = await crew.startAll(2);
    crew.clock.set(crew.clock.now() + 60_000);
    crew.clock.advance(1_000);
    expect([first!.received, second!.received]).toEqual([[], []]);
  });

  test('while it starts is killed, and the worker that serves the place continues', async () => {
    const [only] = await crew.startAll(1);
    const replaced = crew.supervisor.replaceAll();
    await settle();
    const next = crew.workers.latest;
    await crew.pass(120_000, next);
    expect(next.received).toEqual(['SIGKILL']);
    await replaced;
    expect(crew.workers.alive).toEqual([only!]);
    expect(only!.received).toEqual([]);
  });
});

describe('a worker that leaves by itself', () => {
  test('is replaced at once, not when it has ended', async () => {
    const [first, second] = await crew.startAll(2);
    await second!.says({ kind: 'leaving' });
    expect(crew.workers.all.map(({ place }) => place)).toEqual([0, 1, 1]);
    expect(first!.received).toEqual(['attend 1']);
    await ready(crew.workers.latest);
    await second!.ends(0);
    await crew.pass(10_000);
    expect(crew.workers.all.length).toBe(3);
    expect(crew.events()).toEqual(['a worker is being replaced']);
  });

  test('before it was ready is replaced too', async () => {
    const [, second] = await crew.startAll(2);
    await second!.ends('SIGKILL');
    crew.clock.advance(0);
    const third = crew.workers.latest;
    await third.says({ kind: 'leaving' });
    await third.ends(0);
    await crew.pass(1_000);
    expect(crew.workers.alive.map(({ place }) => place)).toEqual([0, 1]);
  });

  test('is not replaced by two when its successor waits to be restarted', async () => {
    const [, second] = await crew.startAll(2);
    await crew.pass(10_000);
    await second!.says({ kind: 'leaving' });
    await crew.workers.latest.ends(1);
    crew.clock.advance(0);
    await crew.workers.latest.ends(1);
    await second!.ends(0);
    await crew.pass(10_000);
    expect(crew.workers.alive.map(({ place }) => place)).toEqual([0, 1]);
    expect(crew.workers.all.length).toBe(5);
  });

  test('and does not end is killed', async () => {
    const [only] = await crew.startAll(1);
    await only!.says({ kind: 'leaving' });
    await crew.pass(leaveMaxMs);
    expect(only!.received).toEqual(['SIGKILL']);
  });
});
