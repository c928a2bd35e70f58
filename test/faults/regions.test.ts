/**
 * Two regions on one machine. Region A has the primary of Postgres, region B a streaming replica of it; each has a
 * Redis of its own, and all traffic between them takes 40 ms each way. Links made in A are followed in B, links killed
 * in A are dead in B, and when A is lost, B continues: with redirects at once, with everything once its replica is
 * promoted. No code is issued twice, not even one that A issued in its last moments and that never reached B.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { Client } from 'pg';
import { shareOf } from '../../src/codes/id-share.ts';
import { forgottenIdsMax } from '../../src/links/stores/postgres/ranges.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { expectSafe, expectSafeStatus } from '../kit/expect-safe.ts';
import { follow } from '../kit/follow.ts';
import { type NetworkLink, startNetworkLink } from '../kit/network-link.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(heavyTestMaxMs);

const delayMs = 40;
const samples = scaled(3, 50);
/** A replica that is still known to be fresh answers anyway; at full size it has to do so for longer than that. */
const cutMs = scaled(0, 10_000);
/** So many codes of a process's first lease that two processes with the same lease would issue the same ones. */
const linksAtOnce = 6_000;

describeWithEngine(
  'postgres',
  'two regions',
  () => {
    describeWithEngine('redis', 'each with a Redis', body, { own: true });
  },
  { own: true },
);

function body(): void {
  let postgres: PostgresEngine;
  let redisA: RedisEngine;
  let redisB: RedisEngine;
  /** The database address of B: first the primary in A, in the end its own. */
  let toPrimary: NetworkLink;
  let replication: NetworkLink;
  let inA: TerseProcess;
  let inB: TerseProcess;
  const started: TerseProcess[] = [];
  /** Every issued code, whether its link is lost or not. */
  const given: string[] = [];

  const start = async (env: Record<string, string>): Promise<TerseProcess> => {
    const terse = await startTerseProcess({ env: { ...env, TERSE_LOG_LEVEL: 'silent' } });
    started.push(terse);
    return terse;
  };
  const startInA = () => start({ TERSE_REGION: '1/2', TERSE_LINKS: postgres.url, TERSE_CACHE: redisA.url });
  const startInB = () => {
    const links = new URL(postgres.url);
    links.host = toPrimary.address;
    links.searchParams.set('replica', postgres.replica!.address);
    return start({ TERSE_REGION: '2/2', TERSE_LINKS: links.href, TERSE_CACHE: redisB.url });
  };
  const create = async ({ url }: TerseProcess, more: object = {}): Promise<string> => {
    const body = { longUrl: 'https://example.com/there', ...more };
    const { status, body: made } = await callerOf(url)('POST', '/api/v1/links', { body });
    expect(status).toBe(201);
    given.push(made.shortCode);
    return made.shortCode;
  };
  const createMany = async (terse: TerseProcess, count: number): Promise<string[]> => {
    const links = Array.from({ length: count }, (_, n) => ({ longUrl: `https://example.com/${n}` }));
    const { body } = await callerOf(terse.url)('POST', '/api/v1/links/bulk', { body: { links } });
    const codes = (body.results as { link: { shortCode: string } }[]).map(({ link }) => link.shortCode);
    given.push(...codes);
    return codes;
  };
  const statusIn = async ({ url }: TerseProcess, code: string): Promise<number> =>
    (await follow(url, code)).status;
  const asked = async <Row>(url: string, text: string): Promise<Row[]> => {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows as Row[];
    } finally {
      await client.end().catch(() => undefined);
    }
  };

  beforeAll(async () => {
    postgres = await startPostgres({
      replica: true,
      async replicaThrough(address) {
        replication = await startNetworkLink(address, { delayMs });
        return replication.address;
      },
    });
    toPrimary = await startNetworkLink(postgres.address, { delayMs });
    [redisA, redisB] = await Promise.all([startRedis(), startRedis()]);
    inA = await startInA();
    inB = await startInB();
  });
  afterAll(async () => {
    for (const terse of started) await terse.kill();
    await toPrimary?.stop();
    await replication?.stop();
    await Promise.all([redisA?.stop(), redisB?.stop(), postgres?.stop()]);
  });

  test('what is made in A is followed in B by the first who comes, and the other way round', async () => {
    const took: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) {
      const code = await create(inA);
      const fromMs = performance.now();
      expect(await statusIn(inB, code)).toBe(302);
      took.push(performance.now() - fromMs);
      expect(await statusIn(inA, await create(inB))).toBe(302);
    }
    report(
      `made in A, followed in B: the first visit took ${spread(took)} with ${2 * delayMs} ms between them`,
    );
  });

  test('each region gives codes of its own share', async () => {
    const rows = await asked<{ first: string }>(postgres.url, 'SELECT first FROM ranges ORDER BY first');
    const second = shareOf({ number: 2, count: 2 }, 62 ** 7);
    expectSafe(rows.map(({ first }) => Number(first))).toEqual([0, second.first]);
  });

  test('what is killed in A is dead in B within seconds, and stays dead', async () => {
    const took: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) {
      const code = await create(inA);
      expect(await statusIn(inB, code)).toBe(302);
      await callerOf(inA.url)('PATCH', `/api/v1/links/${code}`, { body: { status: 'disabled' } });
      const fromMs = performance.now();
      await until(`${code} is dead in B`, async () => (await statusIn(inB, code)) === 410);
      took.push(performance.now() - fromMs);
      for (let visit = 0; visit < 5; visit += 1) expectSafeStatus(await statusIn(inB, code)).toBe(410);
    }
    report(`killed in A, dead in B: ${spread(took)}`);
  });

  test('while nothing passes between them both redirect, and only the region of the primary writes', async () => {
    const [warm, cold, unknown] = [await create(inA), await create(inA), 'neverMade'];
    expect(await statusIn(inB, warm)).toBe(302);
    await until('the replica has all of it', () => isFollowing());
    toPrimary.cut();
    replication.cut();
    await Bun.sleep(cutMs);
    const fromMs = performance.now();
    await until('B follows a link that it has never seen', async () => (await statusIn(inB, cold)) === 302);
    const tookMs = performance.now() - fromMs;
    report(
      `cut off for ${seconds(cutMs)}, B follows a link it has never seen within ${tookMs.toFixed(0)} ms`,
    );
    expect(await statusIn(inB, warm)).toBe(302);
    expect(await statusIn(inB, unknown)).toBe(503);
    const created = await callerOf(inB.url)('POST', '/api/v1/links', {
      body: { longUrl: 'https://a.example' },
    });
    expect(created).toMatchObject({ status: 503, body: { code: 'store_unavailable' } });
    const ready = await callerOf(inB.url)('GET', '/health/ready');
    expect(ready.body).toMatchObject({ status: 'ok', parts: { links: 'unavailable', replica: 'ok' } });
    await create(inA);

    toPrimary.mend();
    replication.mend();
    await until('B writes again', async () => {
      const { status, body: made } = await callerOf(inB.url)('POST', '/api/v1/links', {
        body: { longUrl: 'https://example.com/' },
      });
      if (status === 201) given.push(made.shortCode);
      return status === 201;
    });
  });

  test('A is lost with changes that never reached B: B serves, and issues none of those codes again', async () => {
    const kept = await create(inA);
    expect(await statusIn(inB, kept)).toBe(302);
    // It leases ahead now, so that it is not the first to lease from the promoted replica.
    await create(inB);
    await until('the replica has it', () => isFollowing());
    replication.cut();
    // As if A had continued alone up to the ids at which a promoted replica without regions would begin.
    await asked(postgres.url, `UPDATE ranges SET mark = mark + ${forgottenIdsMax} WHERE first = 0`);
    // Both lease again from the primary, and the replica does not learn of it.
    const [lastInA, lastInB] = await Promise.all([startInA(), startInB()]);
    const lost = [...(await createMany(lastInA, linksAtOnce)), ...(await createMany(lastInB, linksAtOnce))];
    const lostAtMs = performance.now();
    for (const terse of [inA, lastInA, lastInB]) await terse.kill();
    await Promise.all([postgres.kill(), redisA.kill()]);

    expect(await statusIn(inB, kept)).toBe(302);
    report(`A lost: B redirects ${seconds(performance.now() - lostAtMs)} later`);
    await asked(postgres.replica!.url, 'SELECT pg_promote()');
    toPrimary.leadTo(postgres.replica!.address);
    await until('B writes', async () => {
      const { status, body: made } = await callerOf(inB.url)('POST', '/api/v1/links', {
        body: { longUrl: 'https://example.com/' },
      });
      if (status === 201) given.push(made.shortCode);
      return status === 201;
    });
    report(`A lost: B writes ${seconds(performance.now() - lostAtMs)} later, without a restart`);

    const restarted = await startInB();
    const made = await createMany(restarted, linksAtOnce);
    expectSafe(new Set(given).size).toBe(given.length);
    for (const code of lost.slice(0, 5)) expectSafeStatus(await statusIn(restarted, code)).toBe(404);
    for (const code of [kept, made[0]!, made.at(-1)!]) {
      expect(await statusIn(inB, code)).toBe(302);
      expect(await statusIn(restarted, code)).toBe(302);
    }
    await callerOf(restarted.url)('PATCH', `/api/v1/links/${kept}`, { body: { status: 'disabled' } });
    await until('a kill reaches every process of B', async () => (await statusIn(inB, kept)) === 410);
    report(`${given.length} codes given by both regions, before and after, each once`);
  });

  /** Whether the replica has replayed what the primary has written. */
  async function isFollowing(): Promise<boolean> {
    const position = `(%() - '0/0'::pg_lsn)::text AS position`;
    const at = async (url: string, name: string): Promise<number> => {
      const [row] = await asked<{ position: string }>(url, `SELECT ${position.replace('%', name)}`);
      return Number(row!.position);
    };
    const written = await at(postgres.url, 'pg_current_wal_lsn');
    return (await at(postgres.replica!.url, 'pg_last_wal_replay_lsn')) >= written;
  }
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function spread(took: readonly number[]): string {
  const sorted = took.toSorted((one, other) => one - other);
  const middle = sorted[Math.floor(sorted.length / 2)]!;
  return `${middle.toFixed(0)} ms in the middle, ${sorted.at(-1)!.toFixed(0)} ms at most`;
}
