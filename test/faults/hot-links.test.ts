/**
 * Hot links survive a store outage (K8). Three processes under steady load lose the contents of Redis, or a part of it,
 * and then the store: no redirect of a hot link fails before, during or after the outage. Links that are hot at two
 * processes are found by the third through Redis. Without Redis and the store, a process serves links from memory for
 * TERSE_STALE_IF_ISOLATED_S and reports that.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { startDynamo } from '../kit/engines/dynamodb.ts';
import type { Engine } from '../kit/engines/engine-process.ts';
import { startPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { askRedis } from '../kit/engines/redis-question.ts';
import {
  changeVictims,
  isolatedOf,
  notLeading,
  untilTrusted,
  untilWell,
  watchVictims,
} from '../kit/fleet-health.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { type HotLink, HotVisitors, type Section, shownSection } from '../kit/hot-visitors.ts';
import { makeVictims } from '../kit/kills.ts';
import { type Fleet, type LinkFault, startFleet } from '../kit/outage-fleet.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(heavyTestMaxMs);

const hotCount = scaled(200, 1_000);
/** Hot at two processes only; each outage takes some of them to the third. */
const sharedCount = scaled(20, 100);
const outageMs = scaled(6_000, 60_000);
const visitsPerSecond = scaled(300, 900);
const clientsPerProcess = 8;
/** Two heartbeats and a read of the feed: from then on a process knows that it missed nothing. */
const settleMs = 2_500;
const putBackMaxMs = scaled(8_000, 60_000);
/**
 * After this time no process redirects to an old destination, whatever was lost: 3 s, and half a second for a busy
 * machine.
 */
const staleMaxMs = 3_500;
const shortTtlS = 3;
const isolatedS = 5;

interface Installation {
  readonly store: Engine;
  readonly redis: RedisEngine;
  readonly fleet: Fleet;
}

/** Ends the fault. */
type Undo = () => Promise<void>;

const nothingToUndo: Undo = async () => undefined;

const preparations = {
  async 'Redis restarted empty'({ redis }) {
    await redis.kill();
    await redis.restart();
    return nothingToUndo;
  },
  async 'Redis full and evicting'({ redis }) {
    const memory = /used_memory:(\d+)/.exec(await askRedis(redis.url, 'INFO memory'))?.[1];
    await askRedis(
      redis.url,
      `CONFIG SET maxmemory ${Number(memory) + 500_000} maxmemory-policy allkeys-lru`,
    );
    let isOver = false;
    let round = 0;
    // Twice the memory of Redis, several times a second: entries of Terse are soon evicted.
    const script = "for i=1,500 do redis.call('SET',ARGV[1]..i,string.rep('x',2000),'EX',60) end";
    const filling = (async () => {
      for (; !isOver; round += 1) {
        await askRedis(redis.url, `EVAL "${script}" 0 junk:${round}:`).catch(() => undefined);
        await Bun.sleep(200);
      }
    })();
    await until('evictions', async () => /evicted_keys:[1-9]/.test(await askRedis(redis.url, 'INFO stats')));
    return async () => {
      isOver = true;
      await filling;
      await askRedis(redis.url, 'CONFIG SET maxmemory 0 maxmemory-policy noeviction');
      await redis.flush();
    };
  },
  async 'copies in Redis expired'() {
    await Bun.sleep(shortTtlS * 1_100);
    return nothingToUndo;
  },
} satisfies Record<string, (installation: Installation) => Promise<Undo>>;
type Preparation = keyof typeof preparations;

const storeFaults = {
  async hanging({ store }) {
    store.pause();
    return async () => store.resume();
  },
  async killed({ store }) {
    await store.kill();
    return () => store.restart();
  },
  /** One process gets no answer, the others get their connections refused. */
  async 'cut off'({ fleet: { members } }) {
    await Promise.all(members.map(({ store }, n) => store.fail(n === 0 ? 'swallowed' : 'refused')));
    return async () => void (await Promise.all(members.map(({ store }) => store.heal())));
  },
} satisfies Record<string, (installation: Installation) => Promise<Undo>>;
type StoreFault = keyof typeof storeFaults;

type Case = readonly [Preparation, StoreFault];
const everyCase = (Object.keys(preparations) as Preparation[]).flatMap(preparation =>
  (Object.keys(storeFaults) as StoreFault[]).map((fault): Case => [preparation, fault]),
);
/** Everyday runs see each of them once on Postgres. */
const postgresCases = scaled<readonly Case[]>(
  [
    ['Redis restarted empty', 'hanging'],
    ['Redis full and evicting', 'killed'],
    ['copies in Redis expired', 'cut off'],
  ],
  everyCase,
);
const dynamoCases = scaled<readonly Case[]>([['Redis restarted empty', 'hanging']], everyCase);

const own = { own: true };
describeWithEngine(
  'redis',
  'hot links',
  () => {
    describeWithEngine(
      'postgres',
      'on Postgres',
      () => {
        body('Postgres', postgresCases, true, async () => {
          const store = await startPostgres({ fsync: false });
          return { store, links: await store.freshDatabase() };
        });
      },
      own,
    );
    describeWithEngine(
      'dynamodb',
      'on DynamoDB',
      () => {
        body('DynamoDB', dynamoCases, scaled(false, true), async () => {
          const store = await startDynamo();
          return { store, links: store.freshTableUrl() };
        });
      },
      own,
    );
  },
  own,
);

function body(
  engine: string,
  cases: readonly Case[],
  seesIsolation: boolean,
  startStore: () => Promise<{ store: Engine; links: string }>,
): void {
  let store: Engine;
  let redis: RedisEngine;
  let links: string;

  beforeAll(async () => {
    ({ store, links } = await startStore());
    redis = await startRedis({ settings: { appendonly: 'no' } });
  });
  afterAll(async () => {
    await Promise.all([store?.stop(), redis?.stop()]);
  });

  const usual = cases.filter(([preparation]) => preparation !== 'copies in Redis expired');
  if (usual.length > 0)
    describe('and Redis', () => {
      const installed = withFleet(usual, {});
      if (seesIsolation) bothDown(installed);
    });
  const expiring = cases.filter(([preparation]) => preparation === 'copies in Redis expired');
  if (expiring.length > 0)
    describe(`and Redis that keeps links for ${shortTtlS} s`, () =>
      withFleet(expiring, { TERSE_CACHE_TTL_S: String(shortTtlS) }));
  if (seesIsolation) describe('without both', isolation);

  interface InstalledFleet {
    readonly fleet: Fleet;
    readonly visitors: HotVisitors;
  }

  function withFleet(some: readonly Case[], env: Readonly<Record<string, string>>): () => InstalledFleet {
    let fleet: Fleet;
    let visitors: HotVisitors;
    let sharedVisitors: HotVisitors;
    const shared: HotLink[] = [];

    beforeAll(async () => {
      fleet = await startFleet({ count: 3, links, cache: redis.url, env: { TERSE_CLICKS: 'off', ...env } });
      const call = callerOf(fleet.urls[0]!);
      visitors = new HotVisitors({
        urls: fleet.urls,
        links: await makeVictims(call, hotCount),
        clientsPerProcess,
        visitsPerSecond,
      });
      shared.push(...(await makeVictims(call, sharedCount * some.length)));
      sharedVisitors = new HotVisitors({
        urls: fleet.urls.slice(0, 2),
        links: shared,
        clientsPerProcess: 2,
        visitsPerSecond: scaled(60, 200),
      });
      await visitors.start();
      await sharedVisitors.start();
    });
    afterAll(async () => {
      await Promise.all([visitors?.stop(), sharedVisitors?.stop()]);
      await fleet?.stop();
    });

    test.each(some.map(([preparation, fault], index) => [preparation, fault, index] as const))(
      '%s, then the store %s: no hot redirect fails',
      async (preparation, fault, index) => {
        const story = `${engine}, ${preparation}, then the store ${fault} for ${outageMs / 1_000} s`;
        const installation = { store, redis, fleet };
        const someShared = shared.slice(index * sharedCount, (index + 1) * sharedCount);
        visitors.section();
        sharedVisitors.section();
        const undo = await preparations[preparation](installation);
        const isInRedis = preparation !== 'Redis full and evicting';
        const putBack = isInRedis ? await untilInRedis(someShared) : 'evicted all the time';
        await Bun.sleep(settleMs);
        const victims = await changeVictims(fleet);
        const before = visitors.section();
        const sharedBefore = sharedVisitors.section();

        let during: Section;
        let sharedDuring: Section;
        let misdirected: string[];
        let viaRedis: string[] = [];
        const heal = await storeFaults[fault](installation);
        try {
          [misdirected] = await Promise.all([
            watchVictims(fleet, victims, outageMs),
            Bun.sleep(outageMs / 2).then(async () => {
              if (isInRedis) viaRedis = await notLeading(fleet.urls[2]!, someShared);
              if (viaRedis.length > 0) report(await freshnessOf(fleet.urls));
            }),
          ]);
          during = visitors.section();
          sharedDuring = sharedVisitors.section();
        } finally {
          await heal();
        }
        const recoveryS = await untilWell(fleet, victims);
        await undo();
        const after = visitors.section();

        report(`${story}: before ${shownSection(before)}`);
        report(`  during ${shownSection(during)}`);
        report(`  links hot at two processes: ${shownSection(sharedDuring)}; in Redis: ${putBack}`);
        if (isInRedis)
          report(`  at the third, through Redis: ${viaRedis.length} of ${someShared.length} failed`);
        report(`  after ${shownSection(after)}; all well ${recoveryS.toFixed(1)} s after the end`);
        const failed = [before, sharedBefore, during, sharedDuring, after].map(section => section.failed);
        expect(failed.map(some => some.length)).toEqual([0, 0, 0, 0, 0]);
        expect(viaRedis).toEqual([]);
        expect(misdirected).toEqual([]);
      },
    );

    return () => ({ fleet, visitors });
  }

  function bothDown(installed: () => InstalledFleet): void {
    test('Redis killed, then the store hanging: no hot redirect fails within the time allowed', async () => {
      const { fleet, visitors } = installed();
      await untilTrusted(fleet);
      const victims = await changeVictims(fleet);
      visitors.section();
      await redis.kill();
      const heal = await storeFaults.hanging({ store, redis, fleet });
      let during: Section;
      let isolated: number[];
      let misdirected: string[];
      try {
        misdirected = await watchVictims(fleet, victims, outageMs);
        isolated = await isolatedOf(fleet);
        during = visitors.section();
      } finally {
        await Promise.all([heal(), redis.restart()]);
      }
      const recoveryS = await untilWell(fleet, victims);
      const after = visitors.section();
      report(`${engine}, store and Redis down for ${outageMs / 1_000} s: during ${shownSection(during)}`);
      report(`  after ${shownSection(after)}; all well ${recoveryS.toFixed(1)} s after the end`);
      expect([during.failed.length, after.failed.length]).toEqual([0, 0]);
      expect(misdirected).toEqual([]);
      expect(isolated).toEqual(fleet.urls.map(() => 1));
    });
  }

  /** Metrics that explain missing links in Redis: only proven links are written there. */
  async function freshnessOf(urls: readonly string[]): Promise<string> {
    const texts = await Promise.all(urls.map(async url => (await fetch(`${url}/metrics`)).text()));
    const wanted =
      /^terse_(?:freshness_proof_age|peers|change_messages_missed|shared_cache_(?:trusted|renewals|fills)).*$/gm;
    return texts.map((text, n) => `process ${n}: ${[...text.matchAll(wanted)].join(', ')}`).join('\n');
  }

  /** Resolves with the time it took; a timeout does not fail, because visits show whether it matters. */
  async function untilInRedis(some: readonly HotLink[]): Promise<string> {
    const startedMs = performance.now();
    const keys = some.map(({ code }) => `terse/${code}`).join(' ');
    let found = 0;
    const areFound = async (): Promise<boolean> => {
      found = Number(/^:(\d+)/.exec(await askRedis(redis.url, `EXISTS ${keys}`))?.[1]);
      return found === some.length;
    };
    await until('the links in Redis', areFound, { maxMs: putBackMaxMs }).catch(() => undefined);
    return `${found} of ${some.length} after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
  }

  function isolation(): void {
    let fleet: Fleet;
    beforeAll(async () => {
      fleet = await startFleet({
        count: 1,
        links,
        cache: redis.url,
        env: { TERSE_CLICKS: 'off', TERSE_STALE_IF_ISOLATED_S: String(isolatedS) },
      });
    });
    afterAll(() => fleet?.stop());

    test.each(scaled<readonly LinkFault[]>(['swallowed'], ['swallowed', 'refused']))(
      `a process whose packets are %s serves what it knows for ${isolatedS} s, then 503, and says so`,
      async fault => {
        const [member] = fleet.members;
        const url = member!.url;
        const known = await makeVictims(callerOf(url), 20);
        await untilWell(fleet, []);
        expect(await notLeading(url, known)).toEqual([]);
        expect(await isolatedOf(fleet)).toEqual([0]);
        const startedMs = performance.now();
        await Promise.all([member!.store.fail(fault), member!.redis.fail(fault)]);
        let atEndMs = 0;
        try {
          // The last proof may be a second old when the links fail.
          while (performance.now() - startedMs < (isolatedS - 1.5) * 1_000) {
            expect(await notLeading(url, known)).toEqual([]);
            await Bun.sleep(100);
          }
          expect(await isolatedOf(fleet)).toEqual([1]);
          await until('503s', async () => {
            const visits = await Promise.all(known.map(({ code }) => follow(url, code)));
            atEndMs = performance.now() - startedMs;
            return visits.every(({ status }) => status === 503);
          });
          expect(await metricOf(url, 'terse_stale_redirects_total')).toBeGreaterThan(0);
          expect(await isolatedOf(fleet)).toEqual([1]);
          const { status, body: ready } = await callerOf(url)('GET', '/health/ready');
          const said = JSON.stringify(ready);
          report(`${engine}, ${fault}: only 503 after ${(atEndMs / 1_000).toFixed(1)} s; ready says ${said}`);
          expect(status).toBe(503);
          expect(ready.parts).toMatchObject({ freshness: 'unavailable' });
        } finally {
          await Promise.all([member!.store.heal(), member!.redis.heal()]);
        }
        await until('links to be followed again', async () => (await notLeading(url, known)).length === 0);
        await until('the end of isolation', async () => (await isolatedOf(fleet))[0] === 0);
        expect(atEndMs).toBeLessThan(isolatedS * 1_000 + staleMaxMs);
      },
    );
  }
}
