/**
 * Four processes on Postgres and a Redis Cluster, under steady load, while one part after the other is killed or stops
 * answering. Warm links are followed throughout, whichever engine is down; nothing acknowledged is lost, and no code is
 * given twice.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { inParallel } from '../../src/base/in-parallel.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { type RedisClusterEngine, startRedisCluster } from '../kit/engines/redis-cluster.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { follow } from '../kit/follow.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { type Outcome, SteadyVisitors } from '../kit/steady-visitors.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';

const processCount = scaled(2, 4);
const downMs = scaled(2_000, 10_000);
/** Between faults, so that the fleet has recovered before the next one. */
const restMs = scaled(2_000, 25_000);
const rounds = scaled(1, 2);
/** After this time no process redirects to an old destination, whichever change messages were lost. */
const staleMaxMs = 3_500;

describeWithEngine(
  'redis-cluster',
  'while engines are down',
  () => {
    describeWithEngine('postgres', 'beside Postgres', body, { own: true });
  },
  { own: true },
);

function body(): void {
  let postgres: PostgresEngine;
  let redis: RedisClusterEngine;
  const fleet: (TerseProcess | undefined)[] = [];
  const env = () => ({ TERSE_LINKS: postgres.url, TERSE_CACHE: redis.url, TERSE_LOG_LEVEL: 'silent' });

  beforeAll(async () => {
    postgres = await startPostgres();
    redis = await startRedisCluster();
    for (let index = 0; index < processCount; index += 1) fleet.push(await startTerseProcess({ env: env() }));
  });
  afterAll(async () => {
    for (const terse of fleet) await terse?.stop();
    await redis?.stop();
    await postgres?.stop();
  });

  const pause = (ms: number) => sleep(systemClock, ms);
  const faults: Record<string, () => Promise<void>> = {
    async 'a Redis primary killed, then restarted'() {
      const [primary] = await redis.primaries();
      await primary!.kill();
      await pause(downMs);
      await primary!.restart();
    },
    async 'a Redis primary stopped answering'() {
      const [primary] = await redis.primaries();
      primary!.pause();
      await pause(downMs);
      primary!.resume();
    },
    async 'all of Redis killed, then restarted'() {
      await Promise.all(redis.nodes.map(node => node.kill()));
      await pause(downMs);
      await Promise.all(redis.nodes.map(node => node.restart()));
    },
    async 'all of Redis stopped answering'() {
      for (const node of redis.nodes) node.pause();
      await pause(downMs);
      for (const node of redis.nodes) node.resume();
    },
    async 'Postgres killed, then restarted'() {
      await postgres.kill();
      await pause(downMs);
      await postgres.restart();
    },
    async 'Postgres stopped answering'() {
      postgres.pause();
      await pause(downMs);
      postgres.resume();
    },
    async 'a Terse process killed, then another started'() {
      const victim = fleet[0]!;
      fleet[0] = undefined;
      // Visits in flight to it are lost; no new ones are sent there.
      await pause(500);
      await victim.kill();
      await pause(downMs);
      fleet[0] = await startTerseProcess({ env: env() });
    },
    async 'a Terse process stopped answering'() {
      const sleeper = fleet[0]!;
      const call = callerOf(fleet[1]!.url);
      const { body: link } = await call('POST', '/api/v1/links', {
        body: { longUrl: 'https://example.com/' },
      });
      expect((await follow(sleeper.url, link.shortCode)).status).toBe(302);
      fleet[0] = undefined;
      await pause(500);
      process.kill(sleeper.pid, 'SIGSTOP');
      expect((await call('DELETE', `/api/v1/links/${link.shortCode}`)).status).toBe(204);
      await pause(Math.max(downMs, staleMaxMs));
      process.kill(sleeper.pid, 'SIGCONT');
      // The process knew the link and was paused when the link was deleted.
      expect((await follow(sleeper.url, link.shortCode)).status).toBe(410);
      fleet[0] = sleeper;
    },
  };

  test(
    'warm links are followed throughout, nothing acknowledged is lost, no code is given twice',
    async () => {
      const visitors = new SteadyVisitors({
        servers: () => fleet.filter(terse => terse !== undefined).map(({ url }) => url),
        warmCount: 50,
        visitsPerSecond: scaled(100, 200),
        coldPerSecond: 20,
        createsPerSecond: 20,
      });
      await visitors.start();
      await pause(restMs);
      const failedWarm: Outcome[] = [];
      for (let round = 0; round < rounds; round += 1) {
        for (const [name, strike] of Object.entries(faults)) {
          const from = performance.now();
          await strike();
          const backAt = performance.now();
          await pause(restMs);
          const to = performance.now();
          failedWarm.push(...visitors.between(from, to, 'warm').filter(({ ok }) => !ok));
          report(`${name}: ${costOf(visitors, from, backAt, to)}`);
          await redis.untilHealthy();
        }
      }
      await visitors.stop();

      expect(failedWarm.slice(0, 5)).toEqual([]);
      const codes = visitors.made.map(({ code }) => code);
      expectSafe(new Set(codes).size).toBe(codes.length);
      const misdirected: string[] = [];
      await inParallel(visitors.made.length, 32, async index => {
        const { code, longUrl } = visitors.made[index]!;
        const { status, location } = await follow(fleet[index % fleet.length]!.url, code);
        if (status !== 302 || location !== longUrl) misdirected.push(`${code}: ${status}`);
      });
      // A 503 means that the link could not be read, not that it is lost.
      expectSafe(misdirected.filter(each => !each.endsWith(': 503'))).toEqual([]);
      expect(misdirected).toEqual([]);
      report(`${codes.length} acknowledged links, all lead where they should, each code once`);
    },
    heavyTestMaxMs,
  );
}

/** The cost of a fault: failed visits of each kind, the slowest warm one, and the time until full recovery. */
function costOf(visitors: SteadyVisitors, from: number, backAt: number, to: number): string {
  const parts = (['warm', 'cold', 'create'] as const).map(kind => {
    const all = visitors.between(from, to, kind);
    const failed = all.filter(({ ok }) => !ok);
    const answers = [...new Set(failed.map(({ answer }) => answer))].join('/');
    return `${kind} ${failed.length} of ${all.length} failed${answers === '' ? '' : ` (${answers})`}`;
  });
  const warm = visitors
    .between(from, to, 'warm')
    .map(({ took }) => took)
    .sort((a, b) => a - b);
  const lastFailure = (['warm', 'cold', 'create'] as const)
    .flatMap(kind => visitors.between(from, to, kind))
    .filter(({ ok }) => !ok)
    .reduce((latest, { at }) => Math.max(latest, at), backAt);
  const p99 = warm[Math.floor(warm.length * 0.99)] ?? 0;
  return `${parts.join(', ')}; warm p99 ${p99.toFixed(0)} ms, slowest ${(warm.at(-1) ?? 0).toFixed(0)} ms; all well ${((lastFailure - backAt) / 1_000).toFixed(1)} s after its return`;
}
