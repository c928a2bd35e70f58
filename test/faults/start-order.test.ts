/**
 * Terse starts before its engines, in any order. A missing engine never ends it: it reports which one is missing, does
 * what is possible without it, and uses it without a restart once it is up. Its behaviour meanwhile is documented as a
 * table (test/kit/start-table.ts).
 */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { sharedClickHouse } from '../kit/engines/clickhouse.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { sharedRedis } from '../kit/engines/redis.ts';
import { follow } from '../kit/follow.ts';
import { type NetworkLink, startNetworkLink } from '../kit/network-link.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { type SpawnedTerse, spawnTerse } from '../kit/spawned-terse.ts';
import {
  doneBy,
  type Engine,
  engines,
  type StartRole,
  type StartRow,
  startRoles,
  startRows,
} from '../kit/start-table.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(heavyTestMaxMs);

/** Everyday runs test only the role that does everything, and without ClickHouse, which takes long to start. */
const roles = scaled<readonly StartRole[]>(['all'], startRoles);
const used = scaled<readonly Engine[]>(['Postgres', 'Redis', 'Kafka'], engines);
const orders: readonly (readonly Engine[])[] = scaled([used.toReversed()], permutations(used));
const longUrl = 'https://example.com/there';
const lookEveryMs = 250;

describeWithEngine('postgres', 'a start', () =>
  describeWithEngine('redis', 'on Redis', () =>
    describeWithEngine('kafka', 'and Kafka', () => {
      if (used.includes('ClickHouse')) describeWithEngine('clickhouse', 'and ClickHouse', body);
      else body();
    }),
  ),
);

function body(): void {
  /** The real address of each engine. */
  let addresses: Record<Engine, string>;
  let code: string;
  const started: SpawnedTerse[] = [];
  const links: NetworkLink[] = [];

  beforeAll(async () => {
    addresses = {
      Postgres: await (await sharedPostgres()).freshDatabase(),
      Redis: (await sharedRedis()).url,
      Kafka: (await sharedKafka()).freshTopicUrl(),
      ClickHouse: used.includes('ClickHouse') ? (await sharedClickHouse()).freshDatabaseUrl() : '',
    };
    const { terse } = await startWithout([], 'all');
    await until('a first start that is ready', async () => (await readiness(terse)).isWell);
    code = (await create(terse)).body.shortCode;
    await finish();
  });
  afterEach(finish);
  afterAll(finish);

  async function finish(): Promise<void> {
    await Promise.all(started.splice(0).map(terse => terse.stop()));
    await Promise.all(links.splice(0).map(link => link.stop()));
  }

  /** Each engine is reached through a link; for missing engines it refuses connections until the engine is started. */
  async function startWithout(missing: readonly Engine[], role: StartRole) {
    const ways = {} as Record<Engine, NetworkLink>;
    const env: Record<string, string> = { TERSE_ROLES: role };
    for (const engine of used) {
      const address = addresses[engine];
      const [, place = ''] = /\/\/(?:[^@/]*@)?([^/,?]+)/.exec(address) ?? [];
      ways[engine] = await startNetworkLink(place, { isRefusing: missing.includes(engine) });
      links.push(ways[engine]);
      env[settingOf[engine]] = address.replace(place, ways[engine].address);
    }
    const terse = spawnTerse(env);
    started.push(terse);
    return { terse, ways };
  }

  const create = ({ url }: SpawnedTerse) => callerOf(url)('POST', '/api/v1/links', { body: { longUrl } });

  async function readiness({ url }: SpawnedTerse) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined);
    const { parts = {} } = answer === undefined ? {} : ((await answer.json()) as { parts?: object });
    const missing = Object.entries(parts).flatMap(([part, state]) => (state === 'ok' ? [] : part));
    const isWell = answer?.status === 200 && missing.length === 0 && 'stream' in parts;
    return { isWell, shown: [String(answer?.status), ...missing].join(', ') };
  }

  /** The current behaviour of the process; a dash for operations that its role does not serve. */
  async function observe(terse: SpawnedTerse, row: StartRow): Promise<StartRow> {
    const call = callerOf(terse.url);
    const statusOf = async (isDone: string, asking: () => Promise<{ status: number }>): Promise<string> => {
      const { status } = await asking();
      return isDone === '–' && status === 404 ? '–' : String(status);
    };
    return {
      ...row,
      ready: (await readiness(terse)).shown,
      redirect: await statusOf(row.redirect, () => follow(terse.url, code)),
      create: await statusOf(row.create, () => create(terse)),
      statistics: await statusOf(row.statistics, () => call('GET', `/api/v1/links/${code}/stats`)),
      event: row.event === '–' ? '–' : (terse.events().find(event => event === row.event) ?? ''),
    };
  }

  async function startsWithout(missing: Engine, role: StartRole): Promise<void> {
    const row = startRows.find(each => each.missing === missing && each.role === role)!;
    const { terse, ways } = await startWithout([missing], role);
    await untilSeen(terse, row);
    expect((await fetch(`${terse.url}/health/live`)).status).toBe(200);
    await ways[missing].accept();
    const fromMs = performance.now();
    await untilSeen(terse, { missing, role, ...doneBy[role], ready: '200', event: '–' });
    await until('every part is known', async () => (await readiness(terse)).isWell);
    report(`${role} without ${missing}: whole ${seconds(performance.now() - fromMs)} after it came`);
  }

  /** Waits for this behaviour; fails with the last observed one. */
  async function untilSeen(terse: SpawnedTerse, row: StartRow): Promise<void> {
    let seen: StartRow | undefined;
    const isSeen = async (): Promise<boolean> => {
      expect(terse.isRunning()).toBe(true);
      seen = await observe(terse, row).catch(() => undefined);
      return Bun.deepEquals(seen, row);
    };
    await until('what is documented', isSeen, { everyMs: lookEveryMs }).catch(() => undefined);
    expect(seen).toEqual(row);
  }

  test.each(roles)(
    'as %s without any one of them says so, does what it can, and uses it when it comes',
    async role => {
      await Promise.all(used.map(missing => startsWithout(missing, role)));
    },
  );

  test.each(orders.map(order => [order.join(', '), order] as const))(
    'before all of them is served by them as they come: %s',
    async (_, order) => {
      const { terse, ways } = await startWithout(used, 'all');
      await until(
        'it lives',
        async () => (await fetch(`${terse.url}/health/live`).catch(() => undefined))?.ok ?? false,
      );
      for (const engine of order) {
        await ways[engine].accept();
        if (engine !== 'Postgres') continue;
        // The port changes owner once, from the process that reports what is missing to the one that serves.
        await until(
          'it redirects',
          async () => (await follow(terse.url, code).catch(() => undefined))?.status === 302,
        );
        expect((await create(terse)).status).toBe(201);
      }
      await until('it is whole', async () => (await readiness(terse)).isWell);
      await until('it has statistics', async () => {
        return (await callerOf(terse.url)('GET', `/api/v1/links/${code}/stats`)).status === 200;
      });
      expect(terse.isRunning()).toBe(true);
    },
  );
}

const settingOf: Readonly<Record<Engine, string>> = {
  Postgres: 'TERSE_LINKS',
  Redis: 'TERSE_CACHE',
  Kafka: 'TERSE_STREAM',
  ClickHouse: 'TERSE_STATS',
};

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap(item =>
    permutations(items.filter(other => other !== item)).map(rest => [item, ...rest]),
  );
}
