import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { sha256 } from '../../../test/kit/safe-browsing-server.ts';
import { until } from '../../../test/kit/until.ts';
import { HashCache } from './checker.ts';
import { type Installation, malware, minuteMs, World } from './fake-installation.ts';

const listed = { listed: true, threat: 'malware' };
const notListed = { listed: false };

function countOf({ checker }: Installation, outcome: string): number {
  const samples = checker.outcomes.samples('outcome');
  return samples.find(({ labels }) => labels?.outcome === outcome)?.value ?? 0;
}

describe('a check', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
    world.server.list(malware, ['evil.example/', 'mixed.example/bad/']);
  });
  afterEach(() => world.end());

  test.each([
    ['https://evil.example/', true],
    ['https://evil.example/any/page?at=all', true],
    ['http://sub.sub.evil.example:8443/', true],
    ['https://mixed.example/bad/page', true],
    ['https://mixed.example/good', false],
    ['https://notevil.example/', false],
  ])('of %s finds it listed: %p', async (url, isListed) => {
    const { checker } = await world.installed();
    expect(await checker.check(url)).toEqual(isListed ? listed : notListed);
  });

  test('of a page that no list has a prefix of sends no request', async () => {
    const here = await world.installed();
    expect(await here.checker.check('https://good.example/')).toEqual(notListed);
    expect(world.server.hashRequests).toEqual([]);
    expect(countOf(here, 'clean')).toBe(1);
  });

  test('sends the server four bytes per prefix that a list has, and nothing else', async () => {
    const { checker } = await world.installed();
    await checker.check('https://private.evil.example/secret/path?token=1');
    const sent = world.server.hashRequests.map(({ prefixes }) =>
      prefixes.map(each => Buffer.from(each).toString('hex')),
    );
    expect(sent).toEqual([[sha256('evil.example/').toString('hex', 0, 4)]]);
  });

  test('clears a page that only shares its prefix with a listed one', async () => {
    world.server.listNeighbourOf(malware, 'good.example/');
    const { checker } = await world.installed();
    expect(await checker.check('https://good.example/')).toEqual(notListed);
    expect(world.server.hashRequests).toHaveLength(1);
  });

  test('asks about all prefixes that hit in one request', async () => {
    world.server.listNeighbourOf(malware, 'evil.example/page');
    const { checker } = await world.installed();
    expect(await checker.check('https://evil.example/page')).toEqual(listed);
    expect(world.server.hashRequests.map(({ prefixes }) => prefixes.length)).toEqual([2]);
  });

  test('asks again only when an answer has expired', async () => {
    world.server.listNeighbourOf(malware, 'good.example/');
    const { checker, updater } = await world.installed();
    const requestsAfter = async (url: string): Promise<number> => {
      await checker.check(url);
      return world.server.hashRequests.length;
    };
    expect(await requestsAfter('https://evil.example/')).toBe(1);
    expect(await requestsAfter('https://good.example/')).toBe(2);
    world.clock.advance(599_999);
    expect(await requestsAfter('https://good.example/')).toBe(2);
    world.clock.advance(1);
    expect(await requestsAfter('https://good.example/')).toBe(3);
    expect(await requestsAfter('https://evil.example/')).toBe(4);
    await updater.tick();
  });

  test('trusts the cache no longer than the server said, even that a page is listed', async () => {
    const { checker } = await world.installed();
    expect(await checker.check('https://evil.example/')).toEqual(listed);
    world.server.unlist(malware, ['evil.example/']);
    world.clock.advance(599_999);
    expect(await checker.check('https://evil.example/')).toEqual(listed);
    world.clock.advance(1);
    expect(await checker.check('https://evil.example/')).toEqual(notListed);
  });

  test('never matches by lists older than thirty minutes, whatever was cached', async () => {
    world.server.behaviour.cacheS = 24 * 60 * 60;
    const here = await world.installed();
    expect(await here.checker.check('https://evil.example/')).toEqual(listed);
    world.clock.advance(30 * minuteMs);
    expect(await here.checker.check('https://evil.example/')).toEqual(listed);
    world.clock.advance(1);
    expect(await here.checker.check('https://evil.example/')).toEqual(notListed);
    expect(await here.checker.inspect('https://evil.example/')).toEqual({ verdict: 'unknown' });
    expect(countOf(here, 'stale')).toBe(2);
  });

  test('before there are lists finds nothing', async () => {
    const here = world.install();
    expect(await here.checker.check('https://evil.example/')).toEqual(notListed);
    expect(countOf(here, 'stale')).toBe(1);
    expect(world.server.asked).toEqual([]);
  });

  test('in a storm of 503 lists nothing, and asks after 22½, 45 … minutes and no sooner', async () => {
    const here = await world.installed();
    world.server.behaviour.status = 503;
    const requestsAfter = async (afterMs: number): Promise<number> => {
      world.clock.advance(afterMs);
      // The lists are kept fresh: it is the other method that fails.
      world.server.behaviour.status = 200;
      await here.updater.tick();
      world.server.behaviour.status = 503;
      expect(await here.checker.check('https://evil.example/')).toEqual(notListed);
      return world.server.hashRequests.length;
    };
    expect(await requestsAfter(0)).toBe(1);
    expect(await requestsAfter(0)).toBe(1);
    expect(await requestsAfter(22.5 * minuteMs - 1)).toBe(1);
    expect(await requestsAfter(1)).toBe(2);
    expect(await requestsAfter(45 * minuteMs - 1)).toBe(2);
    expect(await requestsAfter(1)).toBe(3);
    expect(countOf(here, 'failed')).toBe(3);
    expect(countOf(here, 'waiting')).toBe(3);
    world.clock.advance(90 * minuteMs);
    world.server.behaviour.status = 200;
    await here.updater.tick();
    expect(await here.checker.check('https://evil.example/')).toEqual(listed);
    // The failure count starts again from zero.
    expect(await requestsAfter(60 * minuteMs)).toBe(5);
    expect(await requestsAfter(22.5 * minuteMs)).toBe(6);
  });

  test('without an answer counts as failed, and the next one tries again', async () => {
    const here = await world.installed();
    world.server.behaviour.contentType = 'text/html';
    expect(await here.checker.check('https://evil.example/')).toEqual(notListed);
    world.server.behaviour.contentType = 'application/x-protobuf';
    world.server.behaviour.mangle = () => Uint8Array.of(0x0a, 0xff);
    expect(await here.checker.check('https://evil.example/')).toEqual(notListed);
    expect(countOf(here, 'failed')).toBe(2);
    world.server.behaviour.mangle = body => body;
    expect(await here.checker.check('https://evil.example/')).toEqual(listed);
    world.clock.advance(10 * minuteMs);
    await world.server.stop();
    expect(await here.checker.check('https://evil.example/')).toEqual(notListed);
    expect(countOf(here, 'failed')).toBe(3);
  });

  test('of a server that is slow is cut off after two seconds', async () => {
    const here = await world.installed();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.server.behaviour.hold = promise;
    const checking = here.checker.check('https://evil.example/');
    await until('the first question', () => world.server.hashRequests.length !== 0);
    world.clock.advance(2_000);
    expect(await checking).toEqual(notListed);
    expect(countOf(here, 'failed')).toBe(1);
    resolve();
  });

  test('of the same page at the same time asks once, and of many pages not of all at once', async () => {
    const pages = Array.from({ length: 30 }, (_, index) => `site-${index}.example/`);
    world.server.list(malware, pages);
    const here = await world.installed();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.server.behaviour.hold = promise;
    const twice = [1, 2].map(() => here.checker.check('https://evil.example/'));
    const many = pages.map(page => here.checker.check(`https://${page}`));
    await until('all questions', () => world.server.hashRequests.length >= 16);
    resolve();
    expect(await Promise.all(twice)).toEqual([listed, listed]);
    const results = await Promise.all(many);
    expect(world.server.hashRequests).toHaveLength(16);
    expect(results.filter(result => result.listed)).toHaveLength(15);
    expect(countOf(here, 'waiting')).toBe(15);
  });

  test('survives an answer cut off anywhere, or with any byte changed', async () => {
    const here = await world.installed();
    const at = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(at, fc.integer({ min: 0, max: 255 }), async (share, change) => {
        world.server.behaviour.mangle = body => {
          const position = Math.floor(share * body.length);
          if (change === 0) return body.slice(0, position);
          return body.with(position, body[position]! ^ change);
        };
        const result = await here.checker.check('https://evil.example/');
        expect(typeof result.listed).toBe('boolean');
        world.server.behaviour.mangle = body => body;
        // Past the lifetime of anything that it may have cached.
        world.clock.advance(24 * 60 * minuteMs);
        await here.updater.tick();
        expect(await here.checker.check('https://evil.example/')).toEqual(listed);
        world.clock.advance(24 * 60 * minuteMs);
        await here.updater.tick();
      }),
      { numRuns: 60 },
    );
  });

  test('accepts any text', async () => {
    const { checker } = await world.installed();
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl()), async text => {
        expect(await checker.check(text)).toEqual(notListed);
      }),
    );
  });
});

test.each([
  ['a canary', [1]],
  ['for frames only', [2]],
  ['of a kind that nobody knows yet', [9]],
])('what is %s is not listed', async (_what, attributes) => {
  const world = new World();
  world.server.list('se-4b', ['evil.example/'], attributes);
  const { checker } = await world.installed();
  expect(await checker.check('https://evil.example/')).toEqual(notListed);
  expect(world.server.hashRequests).toHaveLength(1);
  await world.end();
});

const hashOf = (start: number, end: number): Uint8Array => {
  const hash = new Uint8Array(32).fill(end);
  new DataView(hash.buffer).setUint32(0, start);
  return hash;
};
const prefixOf = (start: number): Uint8Array => hashOf(start, 0).slice(0, 4);

describe('the cache of full hashes', () => {
  const bad = hashOf(7, 1);
  const answer = {
    found: [
      { hash: bad, threat: 'malware' },
      { hash: bad, threat: 'unwanted_software' },
      { hash: hashOf(8, 1), threat: 'malware' },
    ],
    cacheMs: 300,
  } as const;

  test('has no answer for a prefix that was never requested', () => {
    expect(new HashCache().look(bad, 0)).toBeUndefined();
  });

  test('returns a listed hash for as long as the server said, and then asks again', () => {
    const cache = new HashCache();
    cache.keep([prefixOf(7)], answer, 1_000);
    expect(cache.look(bad, 1_299)).toEqual({ threat: 'malware' });
    expect(cache.look(bad, 1_300)).toBeUndefined();
  });

  test('knows that nothing else is behind a prefix for as long as the server said', () => {
    const cache = new HashCache();
    cache.keep([prefixOf(7)], answer, 1_000);
    expect(cache.look(hashOf(7, 2), 1_299)).toEqual({ threat: undefined });
    expect(cache.look(hashOf(7, 2), 1_300)).toBeUndefined();
    expect(cache.size).toBe(0);
  });

  test('caches nothing for prefixes that were not requested', () => {
    const cache = new HashCache();
    cache.keep([prefixOf(7)], answer, 1_000);
    expect(cache.look(hashOf(8, 1), 1_000)).toBeUndefined();
  });

  test('caps every lifetime at a day', () => {
    const cache = new HashCache();
    cache.keep([prefixOf(9)], { found: [], cacheMs: Number.MAX_SAFE_INTEGER }, 0);
    expect(cache.look(hashOf(9, 1), 86_399_999)).toEqual({ threat: undefined });
    expect(cache.look(hashOf(9, 1), 86_400_000)).toBeUndefined();
  });

  test('is bounded, and evicts the oldest answer', () => {
    const cache = new HashCache(2);
    for (const start of [7, 8, 7, 9]) cache.keep([prefixOf(start)], answer, 0);
    expect(cache.size).toBe(2);
    expect(cache.look(bad, 0)).toEqual({ threat: 'malware' });
    expect(cache.look(hashOf(8, 1), 0)).toBeUndefined();
  });
});
