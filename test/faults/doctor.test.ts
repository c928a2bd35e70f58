/**
 * Broken set-ups, as operators have them: `terse doctor` names the problem and its fix, and reports nothing more about
 * it once it is fixed.
 */
import { Database } from 'bun:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Admin } from '@platformatic/kafka';
import { Client } from 'pg';
import type { Finding } from '../../src/base/finding.ts';
import { parseKafkaAddress } from '../../src/engines/kafka/address.ts';
import { neededRights } from '../../src/engines/redis/doctor.ts';
import { runTerse } from '../kit/command-line.ts';
import { startClickHouse } from '../kit/engines/clickhouse.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../kit/engines/dynamodb.ts';
import { freeEnginePorts } from '../kit/engines/free-port.ts';
import { sharedKafka, startKafka } from '../kit/engines/kafka.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { startRedis } from '../kit/engines/redis.ts';
import { sharedRedisCluster, startRedisCluster } from '../kit/engines/redis-cluster.ts';
import { askRedis } from '../kit/engines/redis-question.ts';
import { startTerseProcess } from '../kit/terse-process.ts';

type Env = Readonly<Record<string, string>>;

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'terse-doctor-'));
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

const run = (command: string, env: Env, ...more: string[]) =>
  runTerse([command, ...more], { env: { PORT: '0', TERSE_DATA: data, ...env } });

/** The failed checks, as `subject: check`; the exit code must agree. */
async function problems(env: Env): Promise<{ failed: string[]; findings: Finding[] }> {
  const { exitCode, stdout, stderr } = await run('doctor', env, '--json');
  expect(stderr).toBe('');
  const { findings } = JSON.parse(Buffer.from(stdout, 'latin1').toString()) as { findings: Finding[] };
  const failed = findings.filter(({ verdict }) => verdict === 'fail');
  expect(exitCode).toBe(failed.length === 0 ? 0 : 1);
  return { failed: failed.map(({ subject, check }) => `${subject}: ${check}`), findings };
}

/** The only failed check. */
async function problem(env: Env): Promise<{ name: string; detail: string; fix: string }> {
  const { failed, findings } = await problems(env);
  expect(failed).toHaveLength(1);
  const { detail, fix = '' } = findings.find(({ verdict }) => verdict === 'fail')!;
  return { name: failed[0]!, detail, fix };
}

const nothing: string[] = [];

describe('a machine', () => {
  test('whose port belongs to another program', async () => {
    const other = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    const env = { HOST: '127.0.0.1', PORT: String(other.port) };
    expect(await problem(env)).toEqual({
      name: 'port: listening',
      detail: `127.0.0.1:${other.port} is in use by another program`,
      fix: 'stop what uses it, or choose another port with PORT',
    });
    other.stop(true);
    expect((await problems(env)).failed).toEqual(nothing);
  }, 60_000);

  test('whose port belongs to Terse itself is in order', async () => {
    const terse = await startTerseProcess({ env: { HOST: '127.0.0.1' } });
    const { failed, findings } = await problems({ HOST: '127.0.0.1', PORT: new URL(terse.url).port });
    await terse.stop();
    expect(failed).toEqual(nothing);
    expect(findings.find(({ subject }) => subject === 'port')?.detail).toStartWith(
      'Terse is already running at',
    );
  }, 60_000);

  test('whose data folder cannot be written to', async () => {
    const { failed, findings } = await problems({ TERSE_DATA: '/proc' });
    expect(failed).toContain('data folder: writing');
    const writing = findings.find(({ check }) => check === 'writing');
    expect(writing?.fix).toBe('let the user that runs Terse write to /proc');
    writeFileSync(join(data, 'file'), '');
    const inFile = await problem({ TERSE_DATA: join(data, 'file', 'data') });
    expect(inFile).toMatchObject({ name: 'data folder: folder' });
  }, 60_000);

  test('whose settings a server refuses, in the server’s words', async () => {
    const env = { TERSE_WRITES: 'queued', TERSE_CODE_STRATEGY: 'random' };
    const { exitCode, stderr } = await run('serve', env);
    expect(exitCode).toBe(2);
    const { failed, findings } = await problems(env);
    expect(failed).toEqual(['settings: combination', 'settings: combination']);
    const [first, second] = findings.filter(({ verdict }) => verdict === 'fail');
    expect(`terse: ${first?.detail}\n`).toBe(stderr);
    expect(first?.fix).toContain('TERSE_WRITES=direct');
    expect(second?.detail).toStartWith('TERSE_CODE_STRATEGY=random is not allowed');
    expect((await problems({ ...env, TERSE_WRITES: 'direct' })).failed).toEqual(nothing);
  }, 60_000);

  test('whose links are half of a copy, in the server’s words', async () => {
    const terse = await startTerseProcess({ dataFolder: data });
    await terse.stop();
    const database = new Database(join(data, 'terse.db'));
    database.run('CREATE TABLE IF NOT EXISTS transfer_progress (progress TEXT)');
    const progress = { format: 1, from: 'postgres://elsewhere', phase: 'copying' };
    database.run('INSERT INTO transfer_progress (progress) VALUES (?)', [JSON.stringify(progress)]);
    database.close();
    const { exitCode, stderr } = await run('serve', {});
    expect(exitCode).toBe(1);
    const { name, detail, fix } = await problem({});
    expect(name).toBe('links: copy');
    expect(stderr).toContain(detail);
    expect(fix).toContain('terse migrate --final');
  }, 60_000);

  test('where a restore was cut off', async () => {
    mkdirSync(join(data, 'restore.filling'));
    const { detail, fix } = await problem({});
    expect((await run('serve', {})).stderr).toBe(`terse: ${detail}\n`);
    expect(fix).toContain('terse restore');
    rmSync(join(data, 'restore.filling'), { recursive: true, force: true });
    expect((await problems({})).failed).toEqual(nothing);
  }, 60_000);
});

describeWithEngine(
  'kafka',
  'a Kafka',
  () => {
    test('that is down, and then up again', async () => {
      const kafka = await startKafka();
      try {
        const env = { TERSE_STREAM: kafka.freshTopicUrl() };
        expect((await run('setup', env)).exitCode).toBe(0);
        expect((await problems(env)).failed).toEqual(nothing);
        await kafka.kill();
        const { name, detail, fix } = await problem(env);
        expect(name).toBe('kafka: reachable');
        expect(detail).toContain('ECONNREFUSED');
        expect(fix).toStartWith('start Kafka');
        expect(await run('setup', env)).toMatchObject({ exitCode: 1 });
        await kafka.restart();
        expect((await problems(env)).failed).toEqual(nothing);
      } finally {
        await kafka.stop();
      }
    }, 180_000);

    test('that is asked for more copies than it has brokers', async () => {
      const url = (await sharedKafka()).freshTopicUrl();
      const env = { TERSE_STREAM: `${url}&replication=3&minInsync=2` };
      expect(await problem(env)).toMatchObject({
        name: 'kafka: replication',
        detail: 'replication=3 needs 3 brokers, and there is 1',
        fix: 'start 2 more, or set replication=1 in TERSE_STREAM',
      });
      const fixed = { TERSE_STREAM: `${url}&replication=1` };
      expect((await run('setup', fixed)).stdout).toContain('made the topic');
      expect((await problems(fixed)).failed).toEqual(nothing);
    }, 120_000);

    test('without topics, and then with fewer partitions than the settings say', async () => {
      const url = (await sharedKafka()).freshTopicUrl({ partitions: 2 });
      const warnings = async (stream: string) =>
        (await problems({ TERSE_STREAM: stream })).findings.filter(
          ({ subject, verdict, check }) => subject === 'kafka' && verdict === 'warn' && check !== 'latency',
        );
      const missing = await warnings(url);
      expect(missing.map(({ check }) => check)).toEqual(['topic', 'topic']);
      expect(missing[0]?.fix).toContain('terse setup');
      await run('setup', { TERSE_STREAM: url });
      expect(await warnings(url)).toEqual([]);
      const more = url.replace('partitions=2', 'partitions=4');
      const [few] = await warnings(more);
      expect(few?.detail).toEndWith('has 2 instead of 4');
      expect(few?.fix).toEndWith('set partitions=2 in TERSE_STREAM');
      const { exitCode, stdout } = await run('setup', { TERSE_STREAM: more });
      expect(exitCode).toBe(0);
      expect(stdout).toContain('has 2 instead of 4');
    }, 120_000);

    test('whose topics lose links or take none, which setup refuses too', async () => {
      const url = (await sharedKafka()).freshTopicUrl({ partitions: 1 });
      const { topic, servers } = parseKafkaAddress(url);
      const admin = new Admin({ clientId: 'test', bootstrapBrokers: [...servers], retries: 5 });
      const make = (name: string, configs: Record<string, string>) =>
        admin.createTopics({
          topics: [name],
          partitions: 1,
          replicas: 1,
          configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
        });
      await make(`${topic}-links`, { 'retention.ms': '3600000' });
      await make(`${topic}-links-dead`, { 'retention.ms': '-1', 'min.insync.replicas': '2' });
      await admin.close();
      const env = { TERSE_STREAM: url, TERSE_WRITES: 'queued', TERSE_CLICKS: 'off' };
      const { exitCode, stdout } = await run('setup', env);
      expect(exitCode).toBe(1);
      expect(stdout).toContain(
        '-links keeps messages for 1 h, and they are needed without an end: kafka-configs',
      );
      expect(stdout).toContain('no write is acknowledged: kafka-configs');
      expect(stdout).toEndWith('must be corrected before Terse can use it\n');
    }, 120_000);
  },
  { own: true },
);

describeWithEngine(
  'redis',
  'a Redis',
  () => {
    test('that is full and evicts nothing', async () => {
      const redis = await startRedis({ settings: { maxmemory: '4mb', 'maxmemory-policy': 'noeviction' } });
      try {
        const env = { TERSE_CACHE: redis.url };
        expect((await problems(env)).failed).toEqual(nothing);
        await askRedis(redis.url, 'CONFIG SET maxmemory 1');
        const { name, detail, fix } = await problem(env);
        expect(name).toBe('redis: memory');
        expect(detail).toContain('it is full and takes nothing new');
        expect(fix).toContain('raise maxmemory');
        await askRedis(redis.url, 'CONFIG SET maxmemory 64mb');
        const { failed, findings } = await problems(env);
        expect(failed).toEqual(nothing);
        const eviction = findings.find(({ check }) => check === 'eviction');
        expect(eviction).toMatchObject({ verdict: 'warn' });
        expect(eviction?.fix).toStartWith('CONFIG SET maxmemory-policy allkeys-lru');
        await askRedis(redis.url, 'CONFIG SET maxmemory-policy allkeys-lru');
        const fixed = (await problems(env)).findings.find(({ check }) => check === 'eviction');
        expect(fixed?.verdict).toBe('ok');
      } finally {
        await redis.stop();
      }
    }, 60_000);

    test('whose user may not do what Terse does, or has another password', async () => {
      const redis = await startRedis();
      try {
        await askRedis(redis.url, 'ACL SETUSER terse on >right ~* &* +ping +hello +select +time +get +set');
        const env = { TERSE_CACHE: redis.url.replace('redis://', 'redis://terse:right@') };
        const wrong = await problem({ TERSE_CACHE: env.TERSE_CACHE.replace('right', 'wrong') });
        expect(wrong.fix).toBe('correct the user or the password in TERSE_CACHE');
        const { name, fix } = await problem(env);
        expect(name).toBe('redis: permissions');
        expect(fix).toBe(`ACL SETUSER terse resetkeys resetchannels ${neededRights}`);
        expect(await askRedis(redis.url, fix)).toStartWith('+OK');
        expect((await problems(env)).failed).toEqual(nothing);
        // Others may use the default user, so its rights are not replaced.
        await askRedis(redis.url, 'ACL SETUSER default -eval');
        const unnamed = await problem({ TERSE_CACHE: redis.url });
        expect(unnamed.fix).toStartWith(
          `make a user for Terse: ACL SETUSER terse on >PASSWORD ${neededRights},`,
        );
        expect(unnamed.fix).not.toContain('SETUSER default');
      } finally {
        await redis.stop();
      }
    }, 60_000);

    test('rights that are granted are those of the manual', async () => {
      const manual = await Bun.file(join(import.meta.dir, '../../docs/operations/redis.md')).text();
      expect(manual).toContain(`ACL SETUSER terse on >PASSWORD ${neededRights}\n`);
    });

    test('whose every cluster node is asked for every right', async () => {
      const cluster = await startRedisCluster();
      try {
        const rights = neededRights.replace(' +eval ', ' ').replace(' +publish', '');
        for (const { url } of cluster.nodes) await askRedis(url, `ACL SETUSER terse on >right ${rights}`);
        const url = cluster.url.replace('://', '://terse:right@');
        const all = ['permissions', 'permissions', 'permissions'];
        const failures = async () =>
          (await problems({ TERSE_CACHE: url })).findings.filter(({ verdict }) => verdict === 'fail');
        const evaluating = await failures();
        expect(evaluating.map(({ check }) => check)).toEqual(all);
        expect(evaluating[0]?.detail).toContain("'eval'");
        for (const node of cluster.nodes) await askRedis(node.url, 'ACL SETUSER terse +eval');
        const publishing = await failures();
        expect(publishing.map(({ check }) => check)).toEqual(all);
        expect(publishing[0]?.detail).toContain("'publish'");
        // Without the slots of a node the key may be another node's, which is reported after the rights were checked.
        for (const node of cluster.nodes)
          await askRedis(node.url, 'ACL SETUSER terse -cluster|nodes -cluster|info');
        expect((await failures()).filter(({ detail }) => detail.includes("'publish'"))).not.toEqual([]);
        for (const node of cluster.nodes) await askRedis(node.url, 'ACL SETUSER terse +publish');
        expect(await failures()).toEqual([]);
      } finally {
        await cluster.stop();
      }
    }, 120_000);

    test('that is a node of a Cluster, and the reverse', async () => {
      const { url } = await sharedRedisCluster();
      const [node] = url.replace('redis-cluster://', '').split(',');
      const asOne = await problems({ TERSE_CACHE: `redis://${node}` });
      const mode = asOne.findings.find(({ check }) => check === 'mode');
      expect(mode).toMatchObject({ verdict: 'fail', fix: 'write TERSE_CACHE as redis-cluster://…' });
      expect((await problems({ TERSE_CACHE: url })).failed).toEqual(nothing);
      const redis = await startRedis();
      const reverse = await problem({ TERSE_CACHE: redis.url.replace('redis:', 'redis-cluster:') });
      await redis.stop();
      expect(reverse).toEqual({
        name: 'redis: mode',
        detail: 'this is not a cluster node',
        fix: 'write TERSE_CACHE as redis://…',
      });
    }, 120_000);
  },
  { own: true },
);

describeWithEngine(
  'postgres',
  'a Postgres',
  () => {
    let postgres: PostgresEngine;
    let hba: string;
    beforeAll(async () => {
      hba = mkdtempSync(join(tmpdir(), 'terse-hba-'));
      const path = join(hba, 'pg_hba.conf');
      writeFileSync(path, 'host all terse 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n');
      Bun.spawnSync(['chmod', '-R', 'a+rX', hba]);
      postgres = await startPostgres({ settings: { hba_file: path } });
    });
    afterAll(async () => {
      await postgres.stop();
      rmSync(hba, { recursive: true, force: true });
    });
    async function sql(url: string, ...statements: string[]): Promise<void> {
      const client = new Client(url);
      await client.connect();
      for (const statement of statements) await client.query(statement);
      await client.end();
    }
    const as = (url: string, user: string, password: string): string => {
      const address = new URL(url);
      address.username = user;
      address.password = password;
      return address.href;
    };

    test('without the database, which setup names the command for', async () => {
      const env = { TERSE_LINKS: postgres.url.replace(/[^/]*$/, 'nowhere') };
      const { name, fix } = await problem(env);
      expect(name).toBe('postgres: reachable');
      const [, command, database] =
        /(createdb --host=127\.0\.0\.1 --port=\d+ --owner=\w+ (\w+))$/.exec(fix) ?? [];
      expect(database).toBe('nowhere');
      const { exitCode, stderr } = await run('setup', env);
      expect(exitCode).toBe(1);
      expect(stderr).toContain(command!);
      await sql(postgres.url, `CREATE DATABASE ${database}`);
      expect((await run('setup', env)).exitCode).toBe(0);
      expect((await problems(env)).failed).toEqual(nothing);
    }, 60_000);

    test('with another password', async () => {
      await sql(postgres.url, "CREATE ROLE keyed LOGIN PASSWORD 'right'");
      const url = await postgres.freshDatabase();
      const { detail, fix } = await problem({ TERSE_LINKS: as(url, 'keyed', 'wrong') });
      expect(detail).toContain('password authentication failed');
      expect(fix).toBe('correct the user or the password in TERSE_LINKS, or pg_hba.conf');
      const { name } = await problem({ TERSE_LINKS: as(url, 'keyed', 'right') });
      expect(name).toBe('postgres: permissions');
    }, 60_000);

    test('whose role may not make tables, and then may not use them', async () => {
      await sql(postgres.url, "CREATE ROLE server LOGIN PASSWORD 'right'");
      const url = await postgres.freshDatabase();
      const env = { TERSE_LINKS: as(url, 'server', 'right') };
      const first = await problem(env);
      expect(first.detail).toContain('permission denied for schema public');
      expect(first.fix).toContain('run `terse setup` as the owner');
      const { stderr } = await run('setup', env);
      expect(stderr).toContain('GRANT CREATE, USAGE ON SCHEMA public TO "server"');
      await run('setup', { TERSE_LINKS: url });
      const second = await problems(env);
      const rights = second.findings.find(({ verdict }) => verdict === 'fail')!;
      expect(rights.detail).toStartWith('may not: SELECT on migrations');
      expect(rights.fix).not.toMatch(/UPDATE[^;]*"audit"|(?:INSERT|UPDATE|DELETE)[^;]*"migrations"/);
      await sql(url, ...rights.fix!.split('; '));
      expect((await problems(env)).failed).toEqual(nothing);
    }, 60_000);

    test('whose role lacks a single right, and has a name to be quoted', async () => {
      await sql(postgres.url, `CREATE ROLE "Terse-server" LOGIN PASSWORD 'right'`);
      const url = await postgres.freshDatabase();
      await run('setup', { TERSE_LINKS: url });
      await sql(
        url,
        'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "Terse-server"',
        'REVOKE INSERT, UPDATE, DELETE ON migrations FROM "Terse-server"',
      );
      const env = { TERSE_LINKS: as(url, 'Terse-server', 'right') };
      const sequence = await problem(env);
      expect(sequence).toMatchObject({
        detail: 'may not: USAGE on link_ids',
        fix: 'GRANT USAGE ON SEQUENCE "link_ids" TO "Terse-server"',
      });
      await sql(url, sequence.fix);
      expect((await problems(env)).failed).toEqual(nothing);
      await sql(url, 'REVOKE DELETE ON link_tags, links FROM "Terse-server"');
      const tables = await problem(env);
      expect(tables.fix).toBe('GRANT DELETE ON TABLE "links", "link_tags" TO "Terse-server"');
      await sql(url, tables.fix);
      expect((await problems(env)).failed).toEqual(nothing);
    }, 60_000);
  },
  { own: true },
);

describeWithEngine('dynamodb', 'a DynamoDB', () => {
  test('without the table, or with one of others', async () => {
    const url = (await sharedDynamo()).freshTableUrl();
    const keys = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
    const env = { TERSE_LINKS: url, ...keys };
    expect(await problem(env)).toMatchObject({
      name: 'dynamodb: table',
      fix: 'run `terse setup` to create it',
    });
    expect((await run('setup', env)).exitCode).toBe(0);
    expect((await problems(env)).failed).toEqual(nothing);

    const other = new URL((await sharedDynamo()).freshTableUrl());
    const client = new DynamoDBClient({
      region: 'eu-west-1',
      endpoint: other.searchParams.get('endpoint')!,
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });
    await client.send(
      new CreateTableCommand({
        TableName: other.hostname,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      }),
    );
    client.destroy();
    const foreign = await problem({ TERSE_LINKS: other.href, ...keys });
    expect(foreign.detail).toContain('has the keys id instead of pk,sk');
    expect(foreign.fix).toStartWith('name another table in TERSE_LINKS');
  }, 120_000);
});

describeWithEngine(
  'clickhouse',
  'a ClickHouse',
  () => {
    test('that is down, and then has no database', async () => {
      const [port] = freeEnginePorts(1);
      const stream = { TERSE_STREAM: (await sharedKafka()).freshTopicUrl() };
      const unreachable = { ...stream, TERSE_STATS: `clickhouse://127.0.0.1:${port}/terse` };
      const { name, fix } = await problem(unreachable);
      expect(name).toBe('clickhouse: reachable');
      expect(fix).toStartWith('start ClickHouse');
      const clickHouse = await startClickHouse();
      try {
        const env = { ...stream, TERSE_STATS: clickHouse.freshDatabaseUrl() };
        const { findings } = await problems(env);
        const ofDatabase = ({ subject, check }: Finding) => subject === 'clickhouse' && check === 'database';
        const database = findings.find(ofDatabase);
        expect(database).toMatchObject({ verdict: 'warn', fix: 'run `terse setup` to create it' });
        expect((await run('setup', env)).exitCode).toBe(0);
        const fixed = await problems(env);
        expect(fixed.failed).toEqual(nothing);
        expect(fixed.findings.find(ofDatabase)?.verdict).toBe('ok');
      } finally {
        await clickHouse.stop();
      }
    }, 180_000);
  },
  { own: true },
);
