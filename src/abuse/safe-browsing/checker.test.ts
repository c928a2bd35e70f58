import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { sha256 } from '../../../test/kit/safe-browsing-server.ts';
import { apiVersions } from './api.ts';
import { type Installation, minuteMs, World } from './fake-installation.ts';

const listed = { listed: true, threat: 'malware' };
const notListed = { listed: false };

function countOf({ checker }: Installation, outcome: string): number {
  const samples = checker.outcomes.samples('outcome');
  return samples.find(({ labels }) => labels?.outcome === outcome)?.value ?? 0;
}

describe.each(apiVersions)('a check by %s', version => {
  let world: World;
  beforeEach(() => {
    world = new World(version);
    world.server.list(world.malware, ['evil.example/', 'mixed.example/bad/']);
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

  test('of a page that no list has a prefix of asks nobody', async () => {
    const here = await world.installed();
    expect(await here.checker.check('https://good.example/')).toEqual(notListed);
    expect(world.server.hashRequests).toEqual([]);
    expect(countOf(here, 'clean')).toBe(1);
  });

  test('tells the server four bytes per prefix that a list has, and nothing else', async () => {
    const { checker } = await world.installed();
    await checker.check('https://private.evil.example/secret/path?token=1');
    const told = world.server.hashRequests.map(({ prefixes }) =>
      prefixes.map(each => Buffer.from(each).toString('hex')),
    );
    expect(told).toEqual([[sha256('evil.example/').toString('hex', 0, 4)]]);
  });

  test('clears a page that only shares its prefix with a listed one', async () => {
    world.server.listNeighbourOf(world.malware, 'good.example/');
    const { checker } = await world.installed();
    expect(await checker.check('https://good.example/')).toEqual(notListed);
    expect(world.server.hashRequests).toHaveLength(1);
  });

  test('asks about all prefixes that hit in one request', async () => {
    world.server.listNeighbourOf(world.malware, 'evil.example/page');
    const { checker } = await world.installed();
    expect(await checker.check('https://evil.example/page')).toEqual(listed);
    expect(world.server.hashRequests.map(({ prefixes }) => prefixes.length)).toEqual([2]);
  });

  test('asks again only when the time of an answer is over', async () => {
    world.server.listNeighbourOf(world.malware, 'good.example/');
    const { checker, updater } = await world.installed();
    const [cacheMs, negativeMs] = [600_000, version === 'v5' ? 600_000 : 300_000];
    const requestsAfter = async (url: string): Promise<number> => {
      await checker.check(url);
      return world.server.hashRequests.length;
    };
    expect(await requestsAfter('https://evil.example/')).toBe(1);
    expect(await requestsAfter('https://good.example/')).toBe(2);
    world.clock.advance(negativeMs - 1);
    expect(await requestsAfter('https://good.example/')).toBe(2);
    world.clock.advance(1);
    expect(await requestsAfter('https://good.example/')).toBe(3);
    world.clock.advance(cacheMs - negativeMs - (version === 'v5' ? 0 : 1));
    if (version === 'v4') {
      expect(await requestsAfter('https://evil.example/')).toBe(3);
      world.clock.advance(1);
    }
    expect(await requestsAfter('https://evil.example/')).toBe(4);
    await updater.tick();
  });

  test('believes the cache no longer than the server said, also that a page is listed', async () => {
    const { checker } = await world.installed();
    expect(await checker.check('https://evil.example/')).toEqual(listed);
    world.server.unlist(world.malware, ['evil.example/']);
    world.clock.advance(599_999);
    expect(await checker.check('https://evil.example/')).toEqual(listed);
    world.clock.advance(1);
    expect(await checker.check('https://evil.example/')).toEqual(notListed);
  });

  test('never lists anything by lists older than thirty minutes, whatever was cached', async () => {
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

  test('before there are lists says nothing', async () => {
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
    // The count of failures starts anew.
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
    while (world.server.hashRequests.length === 0) await Bun.sleep(1);
    world.clock.advance(2_000);
    expect(await checking).toEqual(notListed);
    expect(countOf(here, 'failed')).toBe(1);
    resolve();
  });

  test('of the same page at the same time asks once, and of many pages not of all at once', async () => {
    const pages = Array.from({ length: 30 }, (_, index) => `site-${index}.example/`);
    world.server.list(world.malware, pages);
    const here = await world.installed();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.server.behaviour.hold = promise;
    const twice = [1, 2].map(() => here.checker.check('https://evil.example/'));
    const many = pages.map(page => here.checker.check(`https://${page}`));
    while (world.server.hashRequests.length < 16) await Bun.sleep(1);
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
        // Past whatever it may have been made to believe.
        world.clock.advance(24 * 60 * minuteMs);
        await here.updater.tick();
        expect(await here.checker.check('https://evil.example/')).toEqual(listed);
        world.clock.advance(24 * 60 * minuteMs);
        await here.updater.tick();
      }),
      { numRuns: 60 },
    );
  });

  test('takes any text whatever', async () => {
    const { checker } = await world.installed();
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl()), async text => {
        expect(await checker.check(text)).toEqual(notListed);
      }),
    );
  });
});

test('version 4 is left alone for as long as it says after telling full hashes', async () => {
  const world = new World('v4');
  world.server.list('malware', ['evil.example/', 'bad.example/']);
  const here = await world.installed();
  world.server.behaviour.hashWaitS = 60;
  expect(await here.checker.check('https://evil.example/')).toEqual(listed);
  expect(await here.checker.check('https://bad.example/')).toEqual(notListed);
  expect(countOf(here, 'waiting')).toBe(1);
  world.clock.advance(60_000);
  expect(await here.checker.check('https://bad.example/')).toEqual(listed);
  await world.end();
});

test('version 4 finds prefixes of more than four bytes, and still tells only four', async () => {
  const world = new World('v4');
  world.server.list('malware', ['evil.example/']);
  const hash = sha256('long.example/');
  world.server.list('social_engineering', ['long.example/']);
  world.server.change('social_engineering', { remove: [hash.subarray(0, 4)], add: [hash.subarray(0, 7)] });
  const { checker } = await world.installed();
  expect(await checker.check('https://long.example/')).toEqual({
    listed: true,
    threat: 'social_engineering',
  });
  expect(world.server.hashRequests[0]!.prefixes.map(each => each.length)).toEqual([4]);
  world.server.change('social_engineering', { remove: [hash.subarray(0, 7)] });
  await world.end();
});

test.each([
  ['a canary', [1]],
  ['for frames only', [2]],
  ['of a kind that nobody knows yet', [9]],
])('version 5 does not list what is %s', async (_what, attributes) => {
  const world = new World('v5');
  world.server.list('se-4b', ['evil.example/'], attributes);
  const { checker } = await world.installed();
  expect(await checker.check('https://evil.example/')).toEqual(notListed);
  expect(world.server.hashRequests).toHaveLength(1);
  await world.end();
});
