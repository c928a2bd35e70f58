import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { sha256 } from '../../../test/kit/safe-browsing-server.ts';
import { until } from '../../../test/kit/until.ts';
import { firstDelayMs, type Installation, malware, minuteMs, World } from './fake-installation.ts';
import { SafeBrowsingFault } from './fault.ts';
import { isFreshList } from './lists.ts';

/** The server's 300 seconds plus half of their twentieth, which is the jitter drawn. */
const waitMs = 307_500;
const kindOf = (fault: unknown): unknown => (fault instanceof SafeBrowsingFault ? fault.kind : fault);

describe('lists', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
    world.server.list(malware, ['evil.example/', 'bad.example/x', 'worse.example/a/']);
  });
  afterEach(() => world.end());

  const holds = ({ lists }: Installation, expression: string): boolean =>
    lists.matches(sha256(expression), world.clock.now());
  const nextTick = async ({ updater }: Installation, afterMs: number): Promise<void> => {
    world.clock.advance(afterMs);
    await updater.tick();
  };

  test('are fetched whole the first time, within a random minute of the start', async () => {
    const here = world.install();
    await here.updater.start();
    await nextTick(here, firstDelayMs - 1);
    expect(world.server.asked).toEqual([]);
    await nextTick(here, 1);
    expect(world.server.listRequests).toHaveLength(1);
    expect(world.server.listRequests[0]!.versions).toEqual([]);
    expect(here.lists.all).toHaveLength(world.server.listRequests[0]!.names.length);
    expect(holds(here, 'evil.example/')).toBe(true);
    expect(holds(here, 'good.example/')).toBe(false);
    expect([...world.server.keys]).toEqual(['the-key']);
  });

  test('follow removals and additions', async () => {
    const here = await world.installed();
    world.server.unlist(malware, ['evil.example/', 'worse.example/a/']);
    world.server.list(malware, ['new.example/']);
    await nextTick(here, waitMs);
    expect(world.server.listRequests[1]!.versions).toContain(`${malware}@1`);
    expect(
      ['evil.example/', 'bad.example/x', 'worse.example/a/', 'new.example/'].map(each => holds(here, each)),
    ).toEqual([false, true, false, true]);
    expect(here.updater.mismatches).toBe(0);
  });

  test('match the server through any sequence of changes', async () => {
    const here = await world.installed();
    const change = fc.record({ add: fc.array(fc.nat({ max: 30 })), remove: fc.array(fc.nat({ max: 30 })) });
    const expected = new Set<number>();
    const expressionOf = (number: number): string => `site-${number}.example/`;
    await fc.assert(
      fc.asyncProperty(change, async ({ add, remove }) => {
        for (const number of remove) expected.delete(number);
        for (const number of add) expected.add(number);
        world.server.unlist(malware, remove.map(expressionOf));
        world.server.list(malware, add.map(expressionOf));
        await nextTick(here, waitMs);
        for (let number = 0; number <= 30; number += 1) {
          expect(holds(here, expressionOf(number))).toBe(expected.has(number));
        }
      }),
      { numRuns: 25 },
    );
    expect(here.updater.mismatches).toBe(0);
  });

  test('are never requested before the time that the server named', async () => {
    const here = await world.installed();
    await nextTick(here, waitMs - 1);
    expect(world.server.asked).toHaveLength(1);
    await nextTick(here, 1);
    expect(world.server.asked).toHaveLength(2);
  });

  test('are requested on time by the clock alone', async () => {
    const here = await world.installed();
    world.clock.advance(waitMs + 5_000);
    await here.updater.tick();
    expect(world.server.asked).toHaveLength(2);
    await here.updater.stop();
    world.clock.advance(60 * minuteMs);
    expect(world.server.asked).toHaveLength(2);
  });

  test.each([undefined, 0])(
    'are not requested in a loop when the server names no time to wait (%p)',
    async waitS => {
      world.server.behaviour.waitS = waitS;
      const here = await world.installed();
      const rounds = 8;
      expect(world.server.asked).toHaveLength(rounds);
      await nextTick(here, 5 * minuteMs - 1);
      expect(world.server.asked).toHaveLength(rounds);
      await nextTick(here, minuteMs);
      expect(world.server.asked).toHaveLength(2 * rounds);
    },
  );

  test('with a false checksum are fetched whole, at once and once', async () => {
    const here = await world.installed();
    world.server.list(malware, ['new.example/']);
    world.server.behaviour.falseChecksums = 1;
    await nextTick(here, waitMs);
    const [, second, third] = world.server.listRequests;
    expect(second!.versions.length).toBeGreaterThan(0);
    expect(third!.versions).toEqual([]);
    expect(third!.names).toHaveLength(1);
    expect(here.updater.mismatches).toBe(1);
    expect(holds(here, 'new.example/')).toBe(true);
    expect(here.updater.faults).toBe(0);
  });

  test('whose checksum stays false are kept as they were, and the updater backs off', async () => {
    const here = await world.installed();
    world.server.unlist(malware, ['evil.example/']);
    world.server.behaviour.falseChecksums = Number.MAX_SAFE_INTEGER;
    await nextTick(here, waitMs);
    expect(world.server.listRequests).toHaveLength(3);
    expect(holds(here, 'evil.example/')).toBe(true);
    expect(here.faults.map(kindOf)).toEqual(['mismatch']);
    world.server.behaviour.falseChecksums = 0;
    await nextTick(here, 22.5 * minuteMs);
    expect(holds(here, 'evil.example/')).toBe(false);
  });

  test('become stale in a storm of 503, requested after 22½, 45, 90 … minutes and no sooner, and recover', async () => {
    const here = await world.installed();
    world.server.behaviour.status = 503;
    const askedAfter: number[] = [];
    await nextTick(here, waitMs);
    let [last, asked] = [world.clock.now(), world.server.asked.length];
    for (let step = 0; step < 4 * 24 * 60; step += 1) {
      await nextTick(here, minuteMs / 2);
      if (world.server.asked.length === asked) continue;
      asked = world.server.asked.length;
      askedAfter.push((world.clock.now() - last) / minuteMs);
      last = world.clock.now();
    }
    expect(askedAfter).toEqual([22.5, 45, 90, 180, 360, 720, 1_440]);
    expect(holds(here, 'evil.example/')).toBe(false);
    expect(here.faults).toHaveLength(8);

    world.server.behaviour.status = 200;
    await nextTick(here, 1_440 * minuteMs);
    expect(holds(here, 'evil.example/')).toBe(true);
    // The failure count starts again from zero.
    world.server.behaviour.status = 503;
    await nextTick(here, waitMs);
    await nextTick(here, 22.5 * minuteMs - 1);
    const before = world.server.asked.length;
    await nextTick(here, 1);
    expect(world.server.asked).toHaveLength(before + 1);
  });

  test('match for thirty minutes after the server confirmed them, and not a moment longer', async () => {
    const here = await world.installed();
    await world.server.stop();
    await nextTick(here, 30 * minuteMs);
    expect(here.faults.map(kindOf)).toEqual(['unreachable']);
    expect(holds(here, 'evil.example/')).toBe(true);
    world.clock.advance(1);
    expect(holds(here, 'evil.example/')).toBe(false);
    expect(here.lists.isFresh(world.clock.now())).toBe(false);
  });

  test.each([
    ['another content type', 'content_type', { contentType: 'text/html' }],
    ['a redirect', 'status', { status: 302 }],
    ['an empty answer', 'malformed', { mangle: () => new Uint8Array() }],
    ['an answer that leaves a list out', 'malformed', { omittedList: 'pha-4b' }],
    ['nonsense', 'malformed', { mangle: () => new Uint8Array(100).fill(0xff) }],
  ] as const)('are left as they are by %s', async (_fault, kind, behaviour) => {
    const here = await world.installed();
    world.server.unlist(malware, ['evil.example/']);
    Object.assign(world.server.behaviour, behaviour);
    await nextTick(here, waitMs);
    expect(here.faults.map(kindOf)).toEqual([kind]);
    expect(holds(here, 'evil.example/')).toBe(true);
    // The key goes nowhere else, wherever a redirect points.
    expect(world.server.strayPaths).toEqual([]);
  });

  test('survive an answer cut off anywhere, or with any byte changed', async () => {
    const at = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const here = await world.installed();
    await fc.assert(
      fc.asyncProperty(at, fc.integer({ min: 0, max: 255 }), async (share, change) => {
        world.server.list(malware, ['other.example/']);
        world.server.unlist(malware, ['other.example/']);
        world.server.behaviour.mangle = body => {
          const position = Math.floor(share * body.length);
          if (change === 0) return body.slice(0, position);
          return body.with(position, body[position]! ^ change);
        };
        await nextTick(here, 24 * 60 * minuteMs);
        world.server.behaviour.mangle = body => body;
        await nextTick(here, 24 * 60 * minuteMs);
        expect(holds(here, 'evil.example/')).toBe(true);
        expect(here.faults.filter(fault => !(fault instanceof SafeBrowsingFault))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test('of a server that never ends its response time out after a minute', async () => {
    const here = await world.installed();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.server.behaviour.hold = promise;
    world.clock.advance(waitMs);
    const ticking = here.updater.tick();
    await until('the second request', () => world.server.asked.length >= 2);
    world.clock.advance(minuteMs);
    await ticking;
    resolve();
    expect(here.faults.map(kindOf)).toEqual(['timeout']);
  });

  test('are requested by one process, and read by the others from the folder', async () => {
    const [first, second] = [await world.installed(), world.install()];
    await second.updater.start();
    expect(holds(second, 'evil.example/')).toBe(true);
    world.server.list(malware, ['new.example/']);
    world.clock.advance(waitMs);
    await Promise.all([first.updater.tick(), second.updater.tick()]);
    world.clock.advance(5_000);
    await Promise.all([first.updater.tick(), second.updater.tick()]);
    expect(world.server.asked).toHaveLength(2);
    expect([holds(first, 'new.example/'), holds(second, 'new.example/')]).toEqual([true, true]);
  });

  test('that another process has just fetched are not requested again', async () => {
    const first = await world.installed();
    const second = world.install(() => first.updater.tick());
    await second.updater.start();
    world.server.list(malware, ['new.example/']);
    await nextTick(second, waitMs);
    expect(world.server.asked).toHaveLength(2);
    expect(holds(second, 'new.example/')).toBe(true);
  });

  test('are not requested by any process while one backs off', async () => {
    const [first, second] = [await world.installed(), world.install()];
    await second.updater.start();
    world.server.behaviour.status = 503;
    world.clock.advance(waitMs);
    await first.updater.tick();
    await second.updater.tick();
    const restarted = world.install();
    await restarted.updater.start();
    await nextTick(restarted, 22.4 * minuteMs);
    expect(world.server.asked).toHaveLength(2);
  });

  test('in a broken file are fetched again, and the file is repaired', async () => {
    await world.installed();
    const path = join(world.folder, 'v5-lists');
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(0, whole.length - 5));
    const restarted = await world.installed();
    expect(world.server.listRequests).toHaveLength(2);
    expect(world.server.listRequests[1]!.versions).toEqual([]);
    expect(holds(restarted, 'evil.example/')).toBe(true);
    expect(readFileSync(path)).toHaveLength(whole.length);
    expect(readdirSync(world.folder).filter(name => name.endsWith('.new'))).toEqual([]);
  });

  test('are due when the clock was set back, and not trusted from the future', async () => {
    const here = await world.installed();
    world.clock.set(world.clock.now() - 24 * 60 * minuteMs);
    const [list] = here.lists.all;
    expect(isFreshList(list!, world.clock.now())).toBe(false);
    const restarted = await world.installed();
    expect(world.server.listRequests).toHaveLength(2);
    expect(holds(restarted, 'evil.example/')).toBe(true);
  });

  test('cause no backoff when we abort the request ourselves', async () => {
    const here = await world.installed();
    world.server.behaviour.hold = new Promise(() => undefined);
    world.clock.advance(waitMs);
    void here.updater.tick();
    await until('the second request', () => world.server.asked.length >= 2);
    const stopped = here.updater.stop();
    here.client.close();
    await stopped;
    world.server.behaviour.hold = undefined;
    await world.installed();
    expect(world.server.asked).toHaveLength(3);
  });

  test('are not retried constantly where the lock is not accessible', async () => {
    const here = world.install(() => Promise.reject(new Error('the disk is read-only')));
    await here.updater.start();
    await nextTick(here, firstDelayMs);
    await nextTick(here, 22.5 * minuteMs - 1);
    expect(here.faults).toHaveLength(1);
    await nextTick(here, 1);
    expect(here.faults).toHaveLength(2);
    expect(here.updater.faults).toBe(2);
  });

  test('are used from memory when the folder cannot be written', async () => {
    const here = world.install();
    await here.updater.start();
    // A folder in its place cannot be written to as a file.
    mkdirSync(join(world.folder, 'v5-lists.new'));
    await nextTick(here, firstDelayMs);
    expect(here.faults).toHaveLength(1);
    expect(holds(here, 'evil.example/')).toBe(true);
    await nextTick(here, waitMs - 1);
    expect(world.server.asked).toHaveLength(1);
    await nextTick(here, 1);
    expect(world.server.asked).toHaveLength(2);
  });
});
