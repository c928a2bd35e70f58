/**
 * Terse as one file. Everything that an executable could lack is used once: each of its threads, its embedded files, the
 * country database, the dashboard, and a second process that it starts from itself.
 */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { buildExecutable, executablePath } from '../../scripts/build-executable.ts';
import { settledAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { countedAt } from '../kit/kafka-account.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { adminKey, startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { browser } from '../kit/visitors.ts';
import { scrape } from '../kit/worker-processes.ts';

const isWanted = process.env.TERSE_TEST_EXE === '1';
const germanAddress = '91.12.34.56';
const megabyte = 1024 * 1024;

let dataFolder: string;
let terse: TerseProcess | undefined;

beforeEach(() => {
  dataFolder = temporaryFolder();
});

afterEach(async () => {
  await terse?.stop();
  rmSync(dataFolder, { recursive: true, force: true });
});

describe.skipIf(!isWanted)('the executable (built and tested with TERSE_TEST_EXE=1)', () => {
  beforeAll(async () => {
    const bytes = await buildExecutable();
    report(`the executable has ${(bytes / megabyte).toFixed(1)} MB`);
  });

  test.each([1, 2])(
    'serves, redirects, counts and shows everything with %d workers',
    async workers => {
      // Long enough to be read by a thread of its own.
      const blocklist = `${dataFolder}/blocklist`;
      const blocked = Array.from({ length: 20_000 }, (_, index) => `bad-${index}.example`);
      await Bun.write(blocklist, blocked.join('\n'));
      terse = await startTerseProcess({
        dataFolder,
        wrap: () => [executablePath, 'serve'],
        env: {
          TERSE_WORKERS: String(workers),
          TERSE_TRUSTED_PROXIES: '127.0.0.1/32',
          TERSE_BLOCKLISTS: blocklist,
          TERSE_LIMITS: undefined,
        },
      });
      const { url } = terse;
      const call = callerOf(url);
      const create = (longUrl: string) => call('POST', '/api/v1/links', { body: { longUrl } });
      const { status, body } = await create('https://example.com/there');
      expect(status).toBe(201);
      expect((await create('https://bad-19999.example/')).status).toBe(403);

      const visit = await call('GET', `/${body.shortCode}`, {
        key: undefined,
        headers: { ...browser, 'X-Forwarded-For': germanAddress },
      });
      expect([visit.status, visit.headers.get('location')]).toEqual([302, 'https://example.com/there']);
      await settledAt(url, dataFolder);
      const { body: stats } = await call('GET', `/api/v1/links/${body.shortCode}/stats`);
      expect(stats).toMatchObject({ totalClicks: 1, topCountries: [{ value: 'DE', clicks: 1 }] });

      const qr = await fetch(`${url}/api/v1/links/${body.shortCode}/qr?format=png`, {
        headers: { Authorization: `Bearer ${adminKey}` },
      });
      expect(Buffer.from(await qr.arrayBuffer()).toString('latin1', 1, 4)).toBe('PNG');
      const style = await call('GET', '/assets/terse.css');
      expect(style.body).toBe(await Bun.file(`${import.meta.dir}/../../src/web/assets/terse.css`).text());
      const page = await call('GET', '/dashboard');
      const script = /\/assets\/dashboard\.\w+\.js/.exec(page.body)?.[0];
      expect((await call('GET', script!)).body.length).toBeGreaterThan(10_000);
      if (workers > 1) expect((await scrape(url)).get('terse_workers_reporting')).toBe(workers);
      expect(await terse.stop()).toBe(0);
    },
    heavyTestMaxMs,
  );

  describeWithEngine('kafka', 'with Kafka', () => {
    test(
      'writes clicks there and counts them',
      async () => {
        terse = await startTerseProcess({
          dataFolder,
          wrap: () => [executablePath, 'serve'],
          env: { TERSE_STREAM: (await sharedKafka()).freshTopicUrl() },
        });
        const call = callerOf(terse.url);
        const { body } = await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
        expect((await call('GET', `/${body.shortCode}`, { key: undefined, headers: browser })).status).toBe(
          302,
        );
        expect((await countedAt(terse.url, 1)).totals).toMatchObject({ recorded: 1, missing: 0 });
        expect(await terse.stop()).toBe(0);
      },
      heavyTestMaxMs,
    );
  });
});
