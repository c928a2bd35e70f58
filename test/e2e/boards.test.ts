/**
 * The board as it is used: a real Prometheus scrapes a Terse that runs on servers, and every query is run. The series
 * that a query selects must exist, or its panel would be empty forever without an explanation.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { type PrometheusEngine, startPrometheus } from '../kit/engines/prometheus.ts';
import { sharedRedis } from '../kit/engines/redis.ts';
import { follow } from '../kit/follow.ts';
import { boardQueries } from '../kit/observed.ts';
import { namedIn } from '../kit/promql.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(120_000);

describeWithEngine(
  'prometheus',
  'deploy/grafana/terse.json',
  () => {
    describeWithEngine('kafka', 'with Kafka', () => {
      describeWithEngine('postgres', 'and Postgres', () => {
        describeWithEngine('redis', 'and Redis', body);
      });
    });
  },
  { own: true },
);

function body(): void {
  const folder = temporaryFolder();
  let terse: TerseProcess;
  let prometheus: PrometheusEngine;

  beforeAll(async () => {
    const list = join(folder, 'feed.txt');
    writeFileSync(list, 'evil.example\n');
    terse = await startTerseProcess({
      dataFolder: join(folder, 'data'),
      env: {
        TERSE_LINKS: await (await sharedPostgres()).freshDatabase(),
        TERSE_CACHE: (await sharedRedis()).url,
        TERSE_STREAM: (await sharedKafka()).freshTopicUrl({ partitions: 2 }),
        TERSE_WRITES: 'queued',
        TERSE_WORKERS: '2',
        TERSE_BLOCKLISTS: list,
        TERSE_LOG_LEVEL: 'info',
      },
      stderr: Bun.file(join(folder, 'stderr')),
    });
    await useTerse();
    prometheus = await startPrometheus({ target: new URL(terse.url).host });
    // A rate needs two scrapes.
    await until('the second scrape', async () => {
      const [scrapes] = await prometheus.query('count_over_time(terse_build_info[5m])');
      return Number(scrapes?.value[1] ?? 0) >= 2;
    });
  });
  afterAll(async () => {
    await prometheus?.stop();
    await terse?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Uses everything that the board shows. */
  async function useTerse(): Promise<void> {
    const call = callerOf(terse.url);
    const create = (longUrl: string) => call('POST', '/api/v1/links', { body: { longUrl } });
    let code = '';
    // The first answers after a start may be 503, until the topic is created.
    await until('a link', async () => {
      const { status, body: link } = await create('https://example.com/');
      code = link.shortCode;
      return status === 201;
    });
    expect((await create('https://evil.example/')).status).toBe(403);
    for (let n = 0; n < 20; n += 1) expect((await follow(terse.url, code)).status).toBe(302);
    await until('the clicks to be counted', async () => {
      const text = await (await fetch(`${terse.url}/metrics`)).text();
      return /^terse_clicks_counted_total 20$/m.test(text) && /^terse_engine_up\{part="stats"/m.test(text);
    });
  }

  test.each(boardQueries().map(({ panel, query }) => [panel, query] as const))(
    '%s shows something: %s',
    async (_panel, query) => {
      // Drift is unknown until an hour is settled: the metric is declared and has no value yet.
      if (/terse_clicks_(?:hour_)?drift_ratio/.test(query)) {
        const text = await (await fetch(`${terse.url}/metrics`)).text();
        for (const name of query.match(/terse_\w+/g) ?? []) expect(text).toContain(`# TYPE ${name} gauge`);
        return;
      }
      for (const { text } of namedIn(query).selectors)
        expect([text, (await prometheus.query(text)).length > 0]).toEqual([text, true]);
      expect((await prometheus.query(query)).length).toBeGreaterThan(0);
    },
  );
}
