/**
 * Compares what stays available while engines hang with the table of docs/operations/outages.md. Everyday runs test
 * Postgres and Redis; TERSE_TEST_SCALE=full tests all four engines, and TERSE_TEST_RECORD=1 measures the table again
 * (then run `npm run docs`).
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { type ClickHouseEngine, startClickHouse } from '../kit/engines/clickhouse.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import type { Engine as EngineProcess } from '../kit/engines/engine-process.ts';
import { type KafkaEngine, startKafka } from '../kit/engines/kafka.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { askRedis } from '../kit/engines/redis-question.ts';
import { follow } from '../kit/follow.ts';
import { makeVictims, type Victim } from '../kit/kills.ts';
import {
  combinations,
  type Operation,
  type OutageRow,
  operations,
  recordedCells,
  recordRows,
} from '../kit/outage-table.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import type { Engine } from '../kit/start-table.ts';
import { adminKey, startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(heavyTestMaxMs);

const isRecording = process.env.TERSE_TEST_RECORD === '1';
const hasAllEngines = isRecording || scaled(false, true);
/** Longer than the lifetime of an unproven entry, shorter than a process may serve without any engine. */
const downMs = 5_000;
const hotEveryMs = 200;
/** Requests per operation. */
const samples = 4;
const answerMaxMs = 30_000;

const seen = combinations.filter(
  down => hasAllEngines || (down.length > 0 && down.every(engine => ['Postgres', 'Redis'].includes(engine))),
);
const measuredOperations = (Object.keys(operations) as Operation[]).filter(
  operation => hasAllEngines || (operation !== 'queuedCreate' && operation !== 'statistics'),
);

const own = { own: true };
describeWithEngine(
  'postgres',
  'what stays available',
  () =>
    describeWithEngine(
      'redis',
      'with Redis',
      () => {
        if (!hasAllEngines) body();
        else
          describeWithEngine(
            'kafka',
            'and Kafka',
            () => describeWithEngine('clickhouse', 'and ClickHouse', body, own),
            own,
          );
      },
      own,
    ),
  own,
);

interface Links {
  readonly hot: readonly Victim[];
  readonly redisOnly: readonly Victim[];
  readonly cold: readonly Victim[];
  readonly edited: readonly Victim[];
}

function body(): void {
  let postgres: PostgresEngine;
  let redis: RedisEngine;
  /** For the process with queued writes, which is a separate installation. */
  let queuedRedis: RedisEngine | undefined;
  let kafka: KafkaEngine | undefined;
  let clickHouse: ClickHouseEngine | undefined;
  /** The first process creates the links; the second has them in memory or in Redis only. */
  let first: TerseProcess;
  let second: TerseProcess;
  let queued: TerseProcess | undefined;
  const rows: OutageRow[] = [];

  beforeAll(async () => {
    postgres = await startPostgres({ fsync: false });
    redis = await startRedis();
    const env: Record<string, string> = {
      TERSE_LINKS: await postgres.freshDatabase(),
      TERSE_CACHE: redis.url,
      TERSE_LOG_LEVEL: 'silent',
    };
    if (hasAllEngines) {
      queuedRedis = await startRedis();
      kafka = await startKafka();
      clickHouse = await startClickHouse();
      env.TERSE_STREAM = kafka.freshTopicUrl();
      env.TERSE_STATS = clickHouse.freshDatabaseUrl();
      queued = await startTerseProcess({
        env: {
          TERSE_LINKS: await postgres.freshDatabase(),
          TERSE_CACHE: queuedRedis.url,
          TERSE_STREAM: kafka.freshTopicUrl(),
          TERSE_WRITES: 'queued',
          TERSE_CLICKS: 'off',
          TERSE_LOG_LEVEL: 'silent',
        },
      });
    }
    first = await startTerseProcess({ env });
    second = await startTerseProcess({ env });
    await untilWell();
  }, heavyTestMaxMs);
  afterAll(async () => {
    const engines = allEngines();
    for (const engine of engines) engine.resume();
    for (const terse of [first, second, queued]) await terse?.stop();
    await Promise.all(engines.map(engine => engine.stop()));
    if (isRecording && rows.length === combinations.length) await recordRows(rows);
  });

  const enginesOf: Readonly<Record<Engine, () => readonly (EngineProcess | undefined)[]>> = {
    Postgres: () => [postgres],
    Redis: () => [redis, queuedRedis],
    Kafka: () => [kafka],
    ClickHouse: () => [clickHouse],
  };
  const processesOf = (down: readonly Engine[]): EngineProcess[] =>
    down.flatMap(name => enginesOf[name]()).filter(engine => engine !== undefined);
  const allEngines = (): EngineProcess[] => processesOf(Object.keys(enginesOf) as Engine[]);

  /** Creates links before the outage: hot ones are in memory, those for Redis only in that of the first process. */
  async function prepare(): Promise<Links> {
    const made = await makeVictims(callerOf(first.url), 4 * samples);
    const part = (n: number) => made.slice(n * samples, (n + 1) * samples);
    const links = { hot: part(0), redisOnly: part(1), cold: part(2), edited: part(3) };
    for (const { code } of links.hot) await Promise.all([follow(first.url, code), follow(second.url, code)]);
    for (const { code } of links.redisOnly) await follow(first.url, code);
    const keys = links.redisOnly.map(({ code }) => `terse/${code}`).join(' ');
    // A process that does not trust Redis yet writes nothing there, and would not do so later for links in its memory:
    // then the caller prepares other links.
    await until(
      'followed links in Redis',
      async () => (await askRedis(redis.url, `EXISTS ${keys}`)).startsWith(`:${samples}`),
      { maxMs: 3_000 },
    );
    return links;
  }

  const led = async (url: string, { code, longUrl }: Victim): Promise<string> => {
    const { status, location } = await follow(url, code);
    return status === 302 && location !== longUrl ? 'misdirected' : String(status);
  };
  const asked = async (terse: TerseProcess, method: string, path: string, content?: unknown) => {
    const { status } = await callerOf(terse.url)(method, path, {
      ...(content !== undefined && { body: content }),
    });
    return String(status);
  };
  const longUrl = 'https://example.com/made';
  const editing = { longUrl: 'https://example.com/edited' };
  const probes: Readonly<Record<Operation, (links: Links, n: number) => Promise<string>>> = {
    hot: ({ hot }, n) => led([first, second][n % 2]!.url, hot[n]!),
    redisOnly: ({ redisOnly }, n) => led(second.url, redisOnly[n]!),
    cold: ({ cold }, n) => led(second.url, cold[n]!),
    create: () => asked(first, 'POST', '/api/v1/links', { longUrl }),
    queuedCreate: () => asked(queued!, 'POST', '/api/v1/links', { longUrl }),
    edit: ({ edited }, n) => asked(first, 'PATCH', `/api/v1/links/${edited[n]!.code}`, editing),
    statistics: ({ hot }, n) => asked(second, 'GET', `/api/v1/links/${hot[n]!.code}/stats`),
    signIn: () => asked(second, 'POST', '/api/v1/session', { key: adminKey }),
  };

  /** Measures all operations at the same time, so that none profits from the timeout of another. */
  async function measure(down: readonly string[], links: Links): Promise<OutageRow> {
    const cells = measuredOperations.map(async operation => {
      const answers = await Promise.all(
        Array.from({ length: samples }, (_, n) =>
          Promise.race([
            probes[operation](links, n).catch(error => (error as Error).name),
            Bun.sleep(answerMaxMs).then(() => 'no answer'),
          ]),
        ),
      );
      return [operation, [...new Set(answers)].sort().join('/')] as const;
    });
    return { down: down.join(', '), ...Object.fromEntries(await Promise.all(cells)) };
  }

  async function untilWell(): Promise<void> {
    let missing = '';
    await until('everything to work again', async () => {
      try {
        const { down: _, ...cells } = await measure([], await prepare());
        const failing = Object.entries(cells).filter(([, cell]) => !/^(?:200|201|302)$/.test(String(cell)));
        missing = JSON.stringify(failing);
        return failing.length === 0;
      } catch (error) {
        missing = (error as Error).message;
        return false;
      }
    }).catch(error => {
      throw new Error(`${error.message}: ${missing}`);
    });
  }

  test.each(seen.map(down => [down.length === 0 ? 'nothing' : down.join(' and '), down] as const))(
    'with %s down is what is documented',
    async (_, down) => {
      const links = await prepare();
      const struck = processesOf(down);
      for (const engine of struck) engine.pause();
      let row: OutageRow;
      try {
        for (const startedMs = performance.now(); performance.now() - startedMs < downMs; ) {
          await Promise.all(links.hot.flatMap(link => [first, second].map(({ url }) => led(url, link))));
          await Bun.sleep(hotEveryMs);
        }
        row = await measure(down, links);
      } finally {
        for (const engine of struck) engine.resume();
      }
      rows.push(row);
      const { down: __, ...cells } = row;
      report(
        `${down.join(', ') || 'nothing'} down: ${Object.entries(cells)
          .map(([name, cell]) => `${name} ${cell}`)
          .join(', ')}`,
      );
      await untilWell();
      const documented = recordedCells(down) ?? {};
      if (!isRecording)
        expect(cells).toEqual(
          Object.fromEntries(measuredOperations.map(operation => [operation, documented[operation]!])),
        );
    },
  );
}
