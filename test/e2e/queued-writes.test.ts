/** Queued writes as callers and visitors see them, with real Kafka, Redis and Postgres. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type Call, callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { askRedis } from '../kit/engines/redis-question.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { until } from '../kit/until.ts';

describeWithEngine('kafka', 'queued writes', () => {
  describeWithEngine('postgres', 'into Postgres', () => {
    describeWithEngine('redis', 'found through Redis', body, { own: true });
  });
});

function body(): void {
  let redis: RedisEngine;
  let env: Record<string, string>;
  const running: TerseHere[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    env = {
      TERSE_LINKS: await (await sharedPostgres()).freshDatabase(),
      TERSE_STREAM: (await sharedKafka()).freshTopicUrl({ partitions: 2 }),
      TERSE_CACHE: redis.url,
      TERSE_WRITES: 'queued',
      TERSE_CLICKS: 'off',
    };
  });
  afterEach(async () => {
    for (const terse of running.splice(0)) await terse.stop();
    await redis.stop();
  });

  const start = async (more: Record<string, string> = {}): Promise<TerseHere> => {
    const terse = await startTerseHere({ env: { ...env, ...more } });
    running.push(terse);
    return terse;
  };
  /** The first answers after a start may be 503, until the topic is created. */
  const untilReady = async (call: Call): Promise<void> => {
    await until(
      'a queued create to succeed',
      async () => (await create(call, { longUrl: 'https://example.com/first' })).status === 201,
    );
  };
  /** Retries while Redis does not answer in time, because links then go into the store. */
  const queueMany = async (url: string, call: Call): Promise<Awaited<ReturnType<Call>>['body']> => {
    const links = Array.from({ length: 200 }, (_, n) => ({ longUrl: `https://example.com/${n}` }));
    const queued = (): Promise<number> => metricOf(url, 'terse_links_queued_total');
    let answer: Awaited<ReturnType<Call>> | undefined;
    await until('200 links to be queued', async () => {
      const before = await queued();
      answer = await call('POST', '/api/v1/links/bulk', { body: { links } });
      return (await queued()) - before === links.length;
    });
    return answer!.body;
  };
  const create = (call: Call, body: unknown, headers = {}) =>
    call('POST', '/api/v1/links', { body, headers });

  test('a new link works at once in every process, is edited and deleted at once, and is listed after the drain', async () => {
    const [api, redirect] = [await start({ TERSE_ROLES: 'api' }), await start({ TERSE_ROLES: 'redirect' })];
    const call = callerOf(api.url);
    await untilReady(call);
    const made: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      const { status, body } = await create(call, { longUrl: `https://example.com/${n}`, title: `No. ${n}` });
      expect(status).toBe(201);
      made.push(body.shortCode);
      expect(await follow(redirect.url, body.shortCode)).toMatchObject({
        status: 302,
        location: `https://example.com/${n}`,
      });
    }
    const [first, second, third] = made as [string, string, string];
    expect((await call('GET', `/api/v1/links/${first}`)).body).toMatchObject({ title: 'No. 0' });
    expect((await call('GET', '/api/v1/links')).body.links).toEqual([]);
    expect(await metricOf(api.url, 'terse_links_queued_total')).toBeGreaterThanOrEqual(20);

    const edit = { body: { longUrl: 'https://example.com/edited' } };
    expect((await call('PATCH', `/api/v1/links/${second}`, edit)).status).toBe(200);
    expect(await follow(redirect.url, second)).toMatchObject({ location: 'https://example.com/edited' });
    expect((await call('DELETE', `/api/v1/links/${third}`)).status).toBe(204);
    expect(await follow(redirect.url, third)).toMatchObject({ status: 410 });

    const worker = await start({ TERSE_ROLES: 'worker' });
    await until(
      'the links to be drained',
      async () => (await metricOf(worker.url, 'terse_links_drained_total')) >= 18,
    );
    await until(
      'the queue to be empty',
      async () => (await metricOf(worker.url, 'terse_links_queue_length')) === 0,
    );
    const { body } = await call('GET', '/api/v1/links?limit=100');
    const listed = body.links.map(({ shortCode }: { shortCode: string }) => shortCode);
    expect(listed).toEqual(expect.arrayContaining(made.filter(code => code !== third)));
    expect(listed).not.toContain(third);
    for (const [n, code] of made.entries()) {
      if (n < 1 || n > 2) expect(await follow(redirect.url, code)).toMatchObject({ status: 302 });
    }
    expect(await follow(redirect.url, second)).toMatchObject({ location: 'https://example.com/edited' });
    expect(await follow(redirect.url, third)).toMatchObject({ status: 410 });
    expect(await metricOf(worker.url, 'terse_links_dead_lettered_total')).toBe(0);
  });

  test('requests that need the store’s answer get it: aliases, idempotency keys, findExisting', async () => {
    const api = await start({ TERSE_ROLES: 'api' });
    const call = callerOf(api.url);
    await untilReady(call);
    const queued = await metricOf(api.url, 'terse_links_queued_total');
    const longUrl = 'https://example.com/same';
    expect((await create(call, { longUrl, customAlias: 'mine' })).status).toBe(201);
    expect((await create(call, { longUrl, customAlias: 'mine' })).status).toBe(200);
    const elsewhere = { longUrl: `${longUrl}/2`, customAlias: 'mine' };
    expectProblem(await create(call, elsewhere), 409, 'alias_taken');
    const keyed = { 'Idempotency-Key': 'once' };
    const first = await create(call, { longUrl, title: 'keyed' }, keyed);
    const again = await create(call, { longUrl, title: 'keyed' }, keyed);
    expect([first.status, again.body.shortCode]).toEqual([201, first.body.shortCode]);
    const found = await create(call, { longUrl, findExisting: true });
    expect(found.status).toBe(200);
    expect(await metricOf(api.url, 'terse_links_queued_total')).toBe(queued);
    const { body } = await call('GET', '/api/v1/links');
    expect(body.links.length).toBe(2);
  });

  test('a bulk call is queued as a whole, and rejected as a whole when too many wait', async () => {
    const api = await start({ TERSE_ROLES: 'api,redirect', TERSE_QUEUE_MAX: '50' });
    const call = callerOf(api.url);
    await untilReady(call);
    const bulk = (count: number) =>
      call('POST', '/api/v1/links/bulk', {
        body: { links: Array.from({ length: count }, (_, n) => ({ longUrl: `https://example.com/${n}` })) },
      });
    const { body } = await bulk(30);
    for (const { link } of body.results) {
      expect(await follow(api.url, link.shortCode)).toMatchObject({ status: 302 });
    }
    const refused = await bulk(30);
    expectProblem(refused, 503, 'overloaded');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await create(call, { longUrl: 'https://example.com/', customAlias: 'still-open' })).status).toBe(
      201,
    );
    const worker = await start({ TERSE_ROLES: 'worker' });
    await until(
      '30 links to be drained',
      async () => (await metricOf(worker.url, 'terse_links_drained_total')) >= 30,
    );
    await until('the queue to have room again', async () => (await bulk(30)).status < 300);
  });

  test('without Redis links go into the store, and a link that may be pending is not reported as missing', async () => {
    const api = await start({ TERSE_ROLES: 'api,redirect' });
    const call = callerOf(api.url);
    await untilReady(call);
    const { link: pending } = (await queueMany(api.url, call)).results[0];
    await redis.kill();
    await until(
      'Redis to be noticed as down',
      async () => (await metricOf(api.url, 'terse_redis_servers_down')) === 1,
    );
    const direct = await create(call, { longUrl: 'https://example.com/direct' });
    expect(direct.status).toBe(201);
    expect(await follow(api.url, direct.body.shortCode)).toMatchObject({ status: 302 });
    expect((await call('GET', `/api/v1/links/${pending.shortCode}`)).status).toBe(503);
    await redis.restart();
    await until(
      'the pending link to be found again',
      async () => (await call('GET', `/api/v1/links/${pending.shortCode}`)).status === 200,
    );
  });

  test('pending links are written again to a Redis that lost its memory', async () => {
    const api = await start({ TERSE_ROLES: 'api,redirect' });
    const call = callerOf(api.url);
    await untilReady(call);
    const body = await queueMany(api.url, call);
    const worker = await start({ TERSE_ROLES: 'worker', TERSE_DRAIN_PER_S: '1' });
    // Once at the start, and once more because of the loss.
    await until(
      'pending links to be restored',
      async () => (await metricOf(worker.url, 'terse_pending_links_restored_total')) >= 150,
    );
    await redis.flush();
    await redis.kill();
    await redis.restart();
    await until(
      'pending links to be restored again',
      async () => (await metricOf(worker.url, 'terse_pending_links_restored_total')) >= 300,
    );
    const { shortCode } = body.results.at(-1).link;
    await until('the link to redirect again', async () => (await follow(api.url, shortCode)).status === 302);
  });

  test('pending links that Redis lost while no worker ran are written again when one starts, long before they are stored', async () => {
    const api = await start({ TERSE_ROLES: 'api,redirect' });
    const call = callerOf(api.url);
    await untilReady(call);
    const body = await queueMany(api.url, call);
    const { shortCode } = body.results.at(-1).link;
    // Waits for its pending record and for the cache's, which is written a moment later and must not come after the loss.
    await until('the records of the link in Redis', async () =>
      (await askRedis(redis.url, `KEYS *${shortCode}`)).startsWith('*2'),
    );
    await redis.flush();
    const redirect = await start({ TERSE_ROLES: 'redirect' });
    expect(await follow(redirect.url, shortCode)).toMatchObject({ status: 404 });
    const worker = await start({ TERSE_ROLES: 'worker', TERSE_DRAIN_PER_S: '1' });
    await until(
      'the link to redirect again',
      async () => (await follow(redirect.url, shortCode)).status === 302,
    );
    expect(await metricOf(worker.url, 'terse_links_queue_length')).toBeGreaterThan(100);
  });
}
