import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client } from 'pg';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../../../test/kit/engines/dynamodb.ts';
import { type PostgresEngine, startPostgres } from '../../../test/kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../../../test/kit/engines/redis.ts';
import { type RedisClusterEngine, startRedisCluster } from '../../../test/kit/engines/redis-cluster.ts';
import { askRedis } from '../../../test/kit/engines/redis-question.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { examineDynamo } from '../../engines/dynamodb/doctor.ts';
import { openDynamo } from '../../engines/dynamodb/dynamodb.ts';
import { examinePostgres } from '../../engines/postgres/doctor.ts';
import { runMigrations } from '../../engines/postgres/migrations.ts';
import { openPostgres } from '../../engines/postgres/postgres.ts';
import { examineRedis } from '../../engines/redis/doctor.ts';
import { postgresMigrations } from '../../stores/postgres.ts';
import { findingOf, verdictsOf } from './fake-verdicts.ts';

const world = { clock: systemClock, random: systemRandom };
const nowhere = '127.0.0.1:1';

describeWithEngine(
  'postgres',
  'the doctor of Postgres',
  () => {
    let engine: PostgresEngine;
    beforeAll(async () => {
      engine = await startPostgres({ replica: true, settings: { max_connections: '40' } });
    });
    afterAll(() => engine.stop());
    const look = (url: string, processes = 1) =>
      examinePostgres({ ...world, url, processes, migrations: postgresMigrations });
    const tell = async (url: string, statement: string): Promise<void> => {
      const client = new Client(url);
      await client.connect();
      await client.query(statement);
      await client.end();
    };

    test('finds nothing wrong with a server and its replica, and leaves nothing behind', async () => {
      const url = await engine.freshDatabase();
      const postgres = openPostgres(url, world);
      await runMigrations(postgres, postgresMigrations);
      const tables = () => postgres.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
      const before = await tables();
      const findings = await look(`${url}?pool=5&replica=${engine.replica!.address}`);
      expect(await tables()).toEqual(before);
      await postgres.close();
      const { latency: _latency, ...verdicts } = verdictsOf(findings);
      expect(verdicts).toEqual({
        version: 'ok',
        role: 'ok',
        durability: 'ok',
        clock: 'ok',
        permissions: 'ok',
        schema: 'ok',
        indexes: 'ok',
        connections: 'ok',
        replica: 'ok',
      });
    });

    test('reports pools that are too large for the server', async () => {
      const url = await engine.freshDatabase();
      const { connections } = verdictsOf(await look(`${url}?pool=20`, 4));
      expect(connections).toBe('fail');
      const found = findingOf(await look(`${url}?pool=20`, 4), 'connections');
      expect(found).toMatchObject({ detail: expect.stringContaining('4 × 20 wanted, 37 allowed') });
      expect(verdictsOf(await look(`${url}?pool=32`))).toMatchObject({ connections: 'warn' });
    });

    test('reports a standby, a wrong name and a wrong port', async () => {
      expect(verdictsOf(await look(engine.replica!.url))).toMatchObject({
        role: 'fail',
        permissions: 'fail',
      });
      const missing = engine.url.replace(/[^/]*$/, 'no-such-database');
      expect(await look(missing)).toMatchObject([
        {
          check: 'reachable',
          verdict: 'fail',
          fix: expect.stringMatching(/createdb --host=127.0.0.1 .* no-such-database$/),
        },
      ]);
      expect(await look(`postgres://user:hunter2@${nowhere}/terse`)).toMatchObject([
        { verdict: 'fail', detail: expect.not.stringContaining('hunter2') },
      ]);
      const url = await engine.freshDatabase();
      const replicaDown = await look(`${url}?replica=${nowhere}`);
      expect(verdictsOf(replicaDown)).toMatchObject({ reachable: 'fail', permissions: 'ok' });
      const noStandby = await look(`${url}?replica=${engine.address}`);
      expect(verdictsOf(noStandby)).toMatchObject({ replica: 'warn' });
    });

    test('reports a database of a newer version, and an unfinished index', async () => {
      const url = await engine.freshDatabase();
      const postgres = openPostgres(url, world);
      await runMigrations(postgres, postgresMigrations);
      await postgres.close();
      await tell(url, "UPDATE migrations SET version = 99 WHERE component = 'links'");
      await tell(url, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'links_by_id'::regclass");
      const findings = await look(url);
      expect(verdictsOf(findings)).toMatchObject({ schema: 'fail', indexes: 'fail' });
      expect(findingOf(findings, 'indexes')?.fix).toBe('REINDEX INDEX CONCURRENTLY links_by_id');
    });
  },
  { own: true },
);

describeWithEngine('postgres', 'the doctor of a Postgres without fsync', () => {
  test('reports that a power cut would lose data', async () => {
    const engine = await startPostgres({ fsync: false });
    const findings = await examinePostgres({ ...world, url: engine.url, processes: 1, migrations: [] });
    await engine.stop();
    expect(findingOf(findings, 'durability')).toMatchObject({ verdict: 'fail', fix: 'set fsync = on' });
  });
});

describeWithEngine(
  'redis',
  'the doctor of Redis',
  () => {
    let good: RedisEngine;
    let plain: RedisEngine;
    beforeAll(async () => {
      const settings = { maxmemory: '64mb', 'maxmemory-policy': 'allkeys-lru' };
      [good, plain] = await Promise.all([startRedis({ settings }), startRedis()]);
    });
    afterAll(() => Promise.all([good.stop(), plain.stop()]));
    const look = (url: string) => examineRedis({ ...world, url });

    test('finds nothing wrong with a cache that evicts', async () => {
      const { latency: _latency, ...verdicts } = verdictsOf(await look(good.url));
      expect(verdicts).toEqual({
        version: 'ok',
        role: 'ok',
        memory: 'ok',
        eviction: 'ok',
        clock: 'ok',
        permissions: 'ok',
      });
    });

    test('warns of a cache without a memory limit, and of one that does not evict', async () => {
      const findings = await look(plain.url);
      expect(verdictsOf(findings)).toMatchObject({ memory: 'warn', eviction: 'warn' });
      expect(findingOf(findings, 'eviction')?.fix).toContain('CONFIG SET maxmemory-policy allkeys-lru');
    });

    test('reports an address where nothing listens, and a wrong password', async () => {
      expect(await look(`redis://${nowhere}`)).toMatchObject([{ check: 'reachable', verdict: 'fail' }]);
      await askRedis(plain.url, 'CONFIG SET requirepass secret');
      const locked = await look(plain.url);
      expect(locked).toMatchObject([{ verdict: 'fail', fix: expect.stringContaining('password') }]);
      const opened = await look(plain.url.replace('redis://', 'redis://:secret@'));
      expect(verdictsOf(opened)).toMatchObject({ permissions: 'ok' });
    });
  },
  { own: true },
);

describeWithEngine(
  'redis-cluster',
  'the doctor of a Redis Cluster',
  () => {
    let cluster: RedisClusterEngine;
    beforeAll(async () => {
      cluster = await startRedisCluster();
    });
    afterAll(() => cluster.stop());
    const look = (url: string) => examineRedis({ ...world, url });

    test('examines every primary, and the slots and replicas of all', async () => {
      const findings = await look(cluster.url);
      expect(verdictsOf(findings)).toMatchObject({
        slots: 'ok',
        replicas: 'ok',
        role: 'ok',
        permissions: 'ok',
      });
      expect(new Set(findings.map(({ subject }) => subject)).size).toBe(4);
    });

    test('reports that a node is not a server by itself', async () => {
      expect(verdictsOf(await look(cluster.nodes[0]!.url))).toMatchObject({ mode: 'fail' });
      expect(verdictsOf(await look(`redis-cluster://${nowhere}`))).toEqual({ reachable: 'fail' });
    });

    test('reports the slots of a primary that is down with its replica', async () => {
      await Promise.all([cluster.nodes[0]!.kill(), cluster.nodes[3]!.kill()]);
      await until('the slots', async () => verdictsOf(await look(cluster.url)).slots === 'fail');
    });
  },
  { own: true },
);

describeWithEngine('dynamodb', 'the doctor of DynamoDB', () => {
  const look = (url: string) => examineDynamo({ ...world, url, hasCredentials: false });

  test('reports a missing table, and finds nothing wrong with one that was set up', async () => {
    const url = (await sharedDynamo()).freshTableUrl();
    expect(await look(url)).toMatchObject([
      { check: 'table', verdict: 'fail', fix: 'run `terse setup` to create it' },
      { check: 'clock', verdict: 'ok' },
    ]);
    const dynamo = openDynamo(url, world);
    await dynamo.ensureTable();
    const { latency: _latency, ...verdicts } = verdictsOf(await look(url));
    expect(verdicts).toEqual({ table: 'ok', indexes: 'ok', clock: 'ok', expiry: 'ok', permissions: 'ok' });
    const { items } = await dynamo.scan({ limit: 10 });
    expect(items).toEqual([]);
    dynamo.close();
  });
});

describe('an address where nothing listens', () => {
  test('is a finding within seconds', async () => {
    const url = `dynamodb://some-table?endpoint=http://${nowhere}`;
    const findings = await examineDynamo({ ...world, url, hasCredentials: false });
    expect(findings).toMatchObject([{ check: 'reachable', verdict: 'fail' }]);
  });
});
