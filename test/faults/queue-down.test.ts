/**
 * Queued writes while one of their engines is down: without Kafka new links are rejected and nothing else suffers;
 * without the store they are still created and followed, and stored when it is back.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Answer, type Call, callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type KafkaEngine, startKafka } from '../kit/engines/kafka.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { until } from '../kit/until.ts';

const own = { own: true };
describeWithEngine(
  'kafka',
  'queued writes',
  () => {
    describeWithEngine(
      'postgres',
      'into Postgres',
      () => {
        describeWithEngine('redis', 'found through Redis', body, own);
      },
      own,
    );
  },
  own,
);

function body(): void {
  let kafka: KafkaEngine;
  let postgres: PostgresEngine;
  let redis: RedisEngine;
  let terse: TerseHere;
  let call: Call;

  beforeAll(async () => {
    [kafka, postgres, redis] = await Promise.all([startKafka(), startPostgres(), startRedis()]);
    terse = await startTerseHere({
      env: {
        TERSE_LINKS: postgres.url,
        TERSE_STREAM: kafka.freshTopicUrl({ partitions: 2 }),
        TERSE_CACHE: redis.url,
        TERSE_WRITES: 'queued',
        TERSE_CLICKS: 'off',
      },
    });
    call = callerOf(terse.url);
    await until('the first create to succeed', async () => (await create('first')).status === 201);
  }, heavyTestMaxMs);
  afterAll(async () => {
    kafka?.resume();
    postgres?.resume();
    await terse?.stop();
    await Promise.all([kafka, postgres, redis].map(engine => engine?.stop()));
  });

  const create = (name: string, more = {}): Promise<Answer> =>
    call('POST', '/api/v1/links', { body: { longUrl: `https://example.com/${name}`, ...more } });
  /** A write that the store executed although it timed out counts as a duplicate when it is repeated. */
  const drained = async () =>
    (await metricOf(terse.url, 'terse_links_drained_total')) +
    (await metricOf(terse.url, 'terse_links_drained_duplicate_total'));
  const leadsTo = async (code: string, name: string): Promise<void> =>
    expect(await follow(terse.url, code)).toEqual({ status: 302, location: `https://example.com/${name}` });

  test(
    'a queue that does not answer is a 503 for new links and nothing to anyone else',
    async () => {
      const { body: before } = await create('before');
      kafka.pause();
      const refused = await create('refused');
      expectProblem(refused, 503, 'store_unavailable');
      expect(refused.headers.get('retry-after')).toBe('1');
      // Later requests no longer wait.
      expectProblem(await create('refused at once'), 503, 'store_unavailable');
      expect((await create('alias', { customAlias: 'an-alias' })).status).toBe(201);
      await leadsTo('an-alias', 'alias');
      await leadsTo(before.shortCode, 'before');
      kafka.resume();
      await until('a create to succeed again', async () => (await create('after')).status === 201);
      const { body: listed } = await call('GET', '/api/v1/links?search=refused%20at%20once');
      expect(listed.links).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test(
    'the queue waits for a store that is down, while links are made and followed',
    async () => {
      await until(
        'the queue to be empty',
        async () => (await metricOf(terse.url, 'terse_links_queue_length')) === 0,
      );
      postgres.pause();
      const earlier = await drained();
      const made: { code: string; name: string }[] = [];
      // Anonymous, because the admin's key is in the store, too.
      for (let n = 0; n < 5; n += 1) {
        const name = `meanwhile-${n}`;
        const { status, body: answer } = await call('POST', '/api/v1/links', {
          key: undefined,
          body: { longUrl: `https://example.com/${name}` },
        });
        expect(status).toBe(201);
        made.push({ code: answer.shortCode, name });
        await leadsTo(answer.shortCode, name);
      }
      await until(
        'a failed drain',
        async () => (await metricOf(terse.url, 'terse_links_drain_failures_total')) > 0,
      );
      expect(await drained()).toBe(earlier);
      postgres.resume();
      await until('the links to be drained', async () => (await drained()) >= earlier + made.length);
      for (const { code, name } of made) await leadsTo(code, name);
    },
    heavyTestMaxMs,
  );
}
