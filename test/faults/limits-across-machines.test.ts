/**
 * Processes that share nothing but Postgres and Redis enforce the limits of an account together. While Redis is down
 * each counts alone: no request is rejected that should be served, and no limit ever disappears altogether.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { type Answer, type Call, callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { type RedisClusterEngine, startRedisCluster } from '../kit/engines/redis-cluster.ts';
import { metricOf } from '../kit/follow.ts';
import { accountOn } from '../kit/planned-account.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const processCount = 3;
const clients = 12;
const allowance = 100;
const sharedAgainMaxMs = 60_000;

const engines = [
  ['redis', 'over Redis', startRedis],
  ['redis-cluster', 'over Redis Cluster', startRedisCluster],
] as const;

for (const [engine, title, start] of engines) {
  const body = () => describeWithEngine('postgres', 'on Postgres', () => limitsAcrossMachines(start));
  describeWithEngine(engine, title, body, { own: true });
}

function limitsAcrossMachines(start: () => Promise<RedisEngine | RedisClusterEngine>): void {
  let redis: RedisEngine | RedisClusterEngine;
  let processes: TerseProcess[] = [];
  let calls: Call[];

  beforeAll(async () => {
    redis = await start();
    const links = await (await sharedPostgres()).freshDatabase();
    const env = {
      TERSE_LINKS: `${links}?pool=8`,
      TERSE_CACHE: redis.url,
      TERSE_LIMITS: `free=${allowance}/h`,
      // Silent, because the failures here are intended.
      TERSE_LOG_LEVEL: 'silent',
    };
    processes = await Promise.all(Array.from({ length: processCount }, () => startTerseProcess({ env })));
    calls = processes.map(({ url }) => callerOf(url));
  });
  afterAll(async () => {
    for (const terse of processes) await terse.stop();
    await redis?.stop();
  });

  const servers = () => ('nodes' in redis ? redis.nodes : [redis]);
  const create = (call: Call, key: string): Promise<Answer> =>
    call('POST', '/api/v1/links', { key, body: { longUrl: 'https://example.com/limited' } });
  /** Decisions that a process made without the others. */
  const aloneSoFar = async (): Promise<number> => {
    const counts = await Promise.all(processes.map(({ url }) => metricOf(url, 'terse_limits_local_total')));
    return counts.reduce((sum, count) => sum + count, 0);
  };

  /** Clients at every process, all creating at once until each of them has been refused. */
  async function createUntilRefused() {
    const { key } = await accountOn(calls[0]!, 'free');
    const aloneBefore = await aloneSoFar();
    const statuses: number[] = [];
    const client = async (index: number): Promise<void> => {
      for (let status = 201; status === 201; statuses.push(status)) {
        ({ status } = await create(calls[index % calls.length]!, key));
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
    expect(statuses.filter(status => status !== 201)).toEqual(Array(clients).fill(429));
    const alone = (await aloneSoFar()) - aloneBefore;
    return { served: statuses.length - clients, alone };
  }

  test(
    'an account makes as many links as its plan allows, wherever it makes them',
    async () => {
      const { served, alone } = await createUntilRefused();
      report(
        `${clients} clients, ${processCount} processes, ${allowance}/h: ${served} served, ${alone} alone`,
      );
      expect(served).toBeGreaterThanOrEqual(allowance);
      // Only a machine too busy to answer in time makes a process decide alone.
      expect(served).toBeLessThanOrEqual(allowance + alone);
      for (const { dataFolder } of processes) expect(readdirSync(dataFolder)).not.toContain('limits.db');
    },
    heavyTestMaxMs,
  );

  test(
    'while Redis is down each process limits alone, and together again afterwards',
    async () => {
      for (const server of servers()) await server.kill();
      const withoutRedis = await createUntilRefused();
      expect(withoutRedis.served).toBeGreaterThanOrEqual(allowance);
      expect(withoutRedis.served).toBeLessThanOrEqual(allowance * processCount);
      expect(withoutRedis.alone).toBeGreaterThanOrEqual(withoutRedis.served);

      await Promise.all(servers().map(server => server.restart()));
      await untilShared();
      const { served, alone } = await createUntilRefused();
      report(`${withoutRedis.served} served while Redis was down; ${served} afterwards, ${alone} alone`);
      expect(served).toBeGreaterThanOrEqual(allowance);
      expect(served).toBeLessThanOrEqual(allowance + alone);
    },
    heavyTestMaxMs,
  );

  /** Until no process needs to decide alone. */
  async function untilShared(): Promise<void> {
    const { key } = await accountOn(calls[0]!, 'free');
    const areShared = async (): Promise<boolean> => {
      const before = await aloneSoFar();
      for (const call of calls) expect((await create(call, key)).status).toBeOneOf([201, 429]);
      return (await aloneSoFar()) === before;
    };
    await until('shared limits', areShared, { maxMs: sharedAgainMaxMs, everyMs: 500 });
  }
}
