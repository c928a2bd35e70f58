/**
 * What an operator sees after a known amount of work, done by two workers on one port: every metric exists, has the
 * value that the work gives it, and is the same whichever worker answers.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { metricTable } from '../../src/telemetry/metric-table.ts';
import { type Call, callerOf } from '../kit/client.ts';
import { labelsOf } from '../kit/observed.ts';
import { accountOn } from '../kit/planned-account.ts';
import { parseScrape, type Scraped, scrapeAt } from '../kit/scraped.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { clientOfEach } from '../kit/worker-processes.ts';

setDefaultTimeout(60_000);

const followed = 200;
const unknown = 30;
const gone = 5;
const generated = 12;
const bulk = 40;
const refused = 7;

const folder = temporaryFolder();
let terse: TerseProcess;
let call: Call;
let scraped: Scraped;

beforeAll(async () => {
  const list = join(folder, 'feed.txt');
  writeFileSync(list, 'evil.example\n');
  terse = await startTerseProcess({
    dataFolder: join(folder, 'data'),
    env: { TERSE_WORKERS: '2', TERSE_BLOCKLISTS: list },
  });
  call = callerOf(terse.url);
  await doTheWork();
  await until('every click to be counted', async () => {
    scraped = await scrapeAt(terse.url);
    return scraped.total('terse_clicks_counted_total') === followed;
  });
});
afterAll(() => terse.stop());

/** Each visit has its own connection, so that both workers get some. */
async function visit(path: string, times: number, status: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const answer = await fetch(terse.url + path, { redirect: 'manual', headers: { Connection: 'close' } });
    expect(answer.status).toBe(status);
  }
}

async function doTheWork(): Promise<void> {
  const { key } = await accountOn(call, 'pro');
  const create = async (body: object, as?: string | undefined): Promise<string> => {
    const made = await call('POST', '/api/v1/links', {
      key: as,
      body: { longUrl: 'https://example.com/', ...body },
    });
    expect(made.status).toBe(201);
    return made.body.shortCode;
  };
  const codes: string[] = [];
  for (let n = 0; n < generated; n += 1) codes.push(await create({}, key));
  await create({ customAlias: 'chosen' }, key);
  await create({});
  const links = Array.from({ length: bulk }, (_, n) => ({ longUrl: `https://example.com/${n}` }));
  expect((await call('POST', '/api/v1/links/bulk', { body: { links } })).status).toBe(200);
  // Requested again, so not created again.
  const again = { key, body: { longUrl: 'https://example.com/', findExisting: true } };
  expect((await call('POST', '/api/v1/links', again)).status).toBe(200);
  for (let n = 0; n < refused; n += 1) {
    const bad = await call('POST', '/api/v1/links', { key, body: { longUrl: 'https://evil.example/' } });
    expect(bad.status).toBe(403);
  }
  await visit('/chosen', followed, 302);
  await visit('/no-such-link', unknown, 404);
  await call('DELETE', `/api/v1/links/${codes[0]}`);
  await visit(`/${codes[0]}`, gone, 410);
}

describe('after a known amount of work', () => {
  test('redirects are counted by status', () => {
    expect(scraped.total('url_redirects_total', { status: '302' })).toBe(followed);
    expect(scraped.total('url_redirects_total', { status: '404' })).toBe(unknown);
    expect(scraped.total('url_redirects_total', { status: '410' })).toBe(gone);
  });

  test('each redirect is in the latency histogram once, below a second, and buckets never fall', () => {
    const all = followed + unknown + gone;
    expect(scraped.types.get('redirect_latency_seconds')).toBe('histogram');
    expect(scraped.total('redirect_latency_seconds_count')).toBe(all);
    const buckets = scraped.lines
      .filter(({ name }) => name === 'redirect_latency_seconds_bucket')
      .map(({ labels, value }) => ({ bound: Number(labels.le!.replace('Inf', 'Infinity')), value }));
    expect(buckets.map(({ bound }) => bound)).toEqual(
      buckets.map(({ bound }) => bound).toSorted((a, b) => a - b),
    );
    expect(buckets.map(({ value }) => value)).toEqual(
      buckets.map(({ value }) => value).toSorted((a, b) => a - b),
    );
    expect(buckets.at(-1)).toEqual({ bound: Number.POSITIVE_INFINITY, value: all });
    const sum = scraped.total('redirect_latency_seconds_sum')!;
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThan(all);
  });

  test('only created links are counted, by plan and kind', () => {
    const made = (plan: string, kind: string) => scraped.total('url_shortens_total', { plan, kind });
    expect(made('pro', 'generated')).toBe(generated);
    expect(made('pro', 'custom')).toBe(1);
    expect(made('anonymous', 'generated')).toBe(1);
    expect(made('unlimited', 'generated')).toBe(bulk);
    expect(scraped.total('url_shortens_total')).toBe(generated + 2 + bulk);
  });

  test('rejected destinations are counted by reason', () => {
    expect(scraped.types.get('malicious_url_attempts_total')).toBe('counter');
    expect(scraped.total('malicious_url_attempts_total')).toBe(refused);
    for (const { name, labels } of scraped.lines)
      if (name === 'malicious_url_attempts_total') expect(labels.type).toMatch(/./);
  });

  test('lookups, the share of hits, and the available codes have plausible values', () => {
    const ratio = scraped.total('cache_hit_ratio')!;
    expect(ratio).toBeGreaterThan(0.5);
    expect(ratio).toBeLessThanOrEqual(1);
    expect(scraped.total('terse_cache_lookups_total', { result: 'hit' })!).toBeGreaterThan(followed / 2);
    expect(scraped.total('kgs_available_keys')!).toBeGreaterThan(1_000);
  });

  test('every engine in use is up, and the pool of the store is known', () => {
    const engines = scraped.lines.filter(({ name }) => name === 'terse_engine_up');
    expect(engines.map(({ labels, value }) => [labels.part, labels.engine, value])).toEqual([
      ['links', 'sqlite', 1],
      ['stream', 'embedded', 1],
      ['stats', 'sqlite', 1],
    ]);
    expect(scraped.total('terse_store_pool_size')!).toBeGreaterThan(0);
    expect(scraped.total('terse_store_pool_in_use')!).toBeLessThan(scraped.total('terse_store_pool_size')!);
  });

  test('recorded clicks are stored and counted, none is dropped and none is missing', () => {
    expect(scraped.total('terse_clicks_recorded_total')).toBe(followed);
    expect(scraped.total('terse_clicks_stored_total')).toBe(followed);
    expect(scraped.total('terse_clicks_dropped_total')).toBe(0);
    // Without a value until an hour with clicks is settled.
    expect(scraped.types.get('terse_clicks_drift_ratio')).toBe('gauge');
    expect(scraped.total('terse_clicks_drift_ratio') ?? 0).toBe(0);
  });

  test('the processes report what they are and what they use', () => {
    expect(scraped.total('terse_workers_reporting')).toBe(2);
    expect(scraped.total('terse_build_info')).toBe(1);
    expect(scraped.total('process_cpu_seconds_total')!).toBeGreaterThan(0);
    expect(scraped.total('process_resident_memory_bytes')!).toBeGreaterThan(1_000_000);
    expect(scraped.total('process_start_time_seconds')! * 1_000).toBeLessThan(Date.now());
    expect(scraped.total('terse_event_loop_delay_seconds_count')!).toBeGreaterThan(0);
  });

  test('both workers show the same', async () => {
    const counted = ['url_redirects_total', 'url_shortens_total', 'redirect_latency_seconds_count'];
    const clients = await clientOfEach(terse);
    expect(clients).toHaveLength(2);
    for (const client of clients) {
      const seen = parseScrape((await client.get('/metrics')).body);
      expect(counted.map(name => seen.total(name))).toEqual(counted.map(name => scraped.total(name)));
      client.abandon();
    }
  });

  test('nothing is shown that the table does not describe, with its labels', () => {
    const table: Readonly<Record<string, { readonly help: string; readonly type: string }>> = metricTable;
    for (const [name, type] of scraped.types) {
      expect([name, type, scraped.helps.get(name)]).toEqual([name, table[name]?.type, table[name]?.help]);
    }
    for (const { name, labels } of scraped.lines) {
      expect([name, Object.keys(labels).toSorted()]).toEqual([name, [...(labelsOf(name) ?? [])].toSorted()]);
    }
  });

  test('the status route has the same values, with the parts of a histogram under their own names', async () => {
    const { body } = await call('GET', '/api/v1/status');
    const names: string[] = body.metrics.map(({ name }: { name: string }) => name);
    for (const suffix of ['bucket', 'sum', 'count'])
      expect(names).toContain(`redirect_latency_seconds_${suffix}`);
  });
});
