/** The gauges of engines while these go down and come back. Alerts see it, visitors do not. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { follow } from '../kit/follow.ts';
import { scrapeAt } from '../kit/scraped.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(120_000);

/** Nothing listens there: Kafka is down from the start. */
const nowhere = 'kafka://127.0.0.1:9/clicks';

describeWithEngine(
  'postgres',
  'the health of engines',
  () => {
    describeWithEngine('redis', 'with Redis', body, { own: true });
  },
  { own: true },
);

function body(): void {
  let postgres: PostgresEngine;
  let redis: RedisEngine;
  let terse: TerseHere;
  let code: string;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    terse = await startTerseHere({
      env: { TERSE_LINKS: await postgres.freshDatabase(), TERSE_CACHE: redis.url, TERSE_STREAM: nowhere },
    });
    const { status, body: link } = await callerOf(terse.url)('POST', '/api/v1/links', {
      body: { longUrl: 'https://example.com/' },
    });
    expect(status).toBe(201);
    code = link.shortCode;
    expect((await follow(terse.url, code)).status).toBe(302);
  });
  afterAll(async () => {
    postgres.resume();
    await terse.stop();
    await Promise.all([postgres.stop(), redis.stop()]);
  });

  const untilShown = (part: string, value: number): Promise<void> =>
    until(`${part} to be shown as ${value}`, async () => {
      return (await scrapeAt(terse.url)).total('terse_engine_up', { part }) === value;
    });

  test('a stream that never was up is shown as down, and links are followed', async () => {
    await untilShown('stream', 0);
    await untilShown('links', 1);
    expect((await follow(terse.url, code)).status).toBe(302);
  });

  test('Redis that is killed is shown as down until it is back, and links are followed', async () => {
    await untilShown('cache', 1);
    await redis.kill();
    await untilShown('cache', 0);
    expect((await follow(terse.url, code)).status).toBe(302);
    await redis.restart();
    await untilShown('cache', 1);
  });

  test('a store that hangs is shown as down until it answers again', async () => {
    postgres.pause();
    await untilShown('links', 0);
    postgres.resume();
    await untilShown('links', 1);
    expect((await follow(terse.url, code)).status).toBe(302);
  });
}
