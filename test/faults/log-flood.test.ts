/**
 * The log while the store is down and thousands of visitors follow links that only the store has: a few lines that say
 * what happens and how often.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inParallel } from '../../src/base/in-parallel.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { type PostgresEngine, startPostgres } from '../kit/engines/postgres.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { scrapeAt } from '../kit/scraped.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const visitCount = scaled(2_000, 20_000);
const atOnce = 100;
/** The maximum of lines of each kind per minute. */
const linesPerMinute = 20;

interface Line {
  readonly level: string;
  readonly event: string;
  readonly repeated?: number;
  readonly failure?: { readonly stack?: string };
  readonly example?: { readonly path?: string };
}

describeWithEngine(
  'postgres',
  'a store that is down',
  () => {
    let postgres: PostgresEngine;
    const folder = temporaryFolder();
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(async () => {
      await postgres?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test(
      'costs the log a few lines, whose counts add up to the redirects that failed',
      async () => {
        const file = join(folder, 'stderr');
        const terse = await startTerseProcess({
          env: { TERSE_LINKS: postgres.url, TERSE_LOG_LEVEL: 'warn', TERSE_CLICKS: 'off' },
          stderr: Bun.file(file),
        });
        const call = callerOf(terse.url);
        const startedMs = performance.now();
        const failed = new Map<string, number>();
        postgres.pause();
        try {
          await inParallel(visitCount, atOnce, async index => {
            const { status, body } = await call('GET', `/unknown-${index}`, { key: undefined });
            const code = String(status === 503 ? body.code : status);
            failed.set(code, (failed.get(code) ?? 0) + 1);
          });
        } finally {
          postgres.resume();
        }
        const suppressed = (await scrapeAt(terse.url)).total('terse_log_suppressed_total');
        expect(await terse.stop()).toBe(0);
        const minutes = Math.ceil((performance.now() - startedMs) / 60_000);

        const lines = readFileSync(file, 'utf8')
          .split('\n')
          .filter(line => line.startsWith('{'))
          .map((line): Line => JSON.parse(line));
        const byEvent = Map.groupBy(lines, ({ event }) => event);
        const requests = byEvent.get('request failed') ?? [];
        const logged = requests.reduce((sum, { repeated = 1 }) => sum + repeated, 0);
        report(`${logged} redirects failed, ${lines.length} lines: ${JSON.stringify([...failed])}`);
        for (const [event, ofEvent] of byEvent)
          expect([event, ofEvent.length <= linesPerMinute * minutes]).toEqual([event, true]);
        expect(failed.get('store_unavailable') ?? 0).toBeGreaterThan(visitCount / 2);
        expect(logged).toBe(failed.get('store_unavailable')!);
        expect(suppressed).toBeGreaterThanOrEqual(logged - requests.length);
        const summaries = requests.filter(({ repeated }) => repeated !== undefined);
        for (const { example, failure } of summaries) {
          expect(example?.path).toStartWith('/unknown-');
          expect(failure).not.toHaveProperty('stack');
        }
      },
      heavyTestMaxMs,
    );
  },
  { own: true },
);
