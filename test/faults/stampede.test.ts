/**
 * Ten thousand visitors of one cold link arrive together at a process that does not know it yet. The embedded store
 * answers too fast for many to wait for one read; resolver.test.ts holds a read back and covers that, too.
 */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { callerOf } from '../kit/client.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { rateOf, report } from '../kit/report.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const visitorCount = 10_000;
const ttlMs = 5_000;
/** An entry lives at least this long: the lifetime varies by a tenth, and a refresh may begin a little early. */
const lifetimeMinMs = ttlMs * 0.9 - 500;

test(
  'ten thousand concurrent requests for one cold code cost one read of the store',
  async () => {
    const dataFolder = temporaryFolder();
    const env = { TERSE_L1_TTL_MS: String(ttlMs) };
    const longUrl = 'https://example.com/stampede';
    try {
      const creator = await startTerseProcess({ dataFolder });
      const { body } = await callerOf(creator.url)('POST', '/api/v1/links', { body: { longUrl } });
      await creator.stop();

      const terse = await startTerseProcess({ dataFolder, env });
      try {
        expect(await metricOf(terse.url, 'terse_store_reads_total')).toBe(0);
        const startedMs = systemClock.monotonicMs();
        const visits = await Promise.all(
          Array.from({ length: visitorCount }, () => follow(terse.url, body.shortCode)),
        );
        const elapsedMs = systemClock.monotonicMs() - startedMs;
        const misdirected = visits.filter(({ status, location }) => status !== 302 || location !== longUrl);
        expect(misdirected.slice(0, 10)).toEqual([]);

        const reads = await metricOf(terse.url, 'terse_store_reads_total');
        // On a machine so slow that the entry ended meanwhile, each further lifetime may cost one more.
        expect(reads).toBeGreaterThanOrEqual(1);
        expect(reads).toBeLessThanOrEqual(1 + Math.floor(elapsedMs / lifetimeMinMs));
        report(`stampede: ${rateOf(visitorCount, elapsedMs)}, store reads: ${reads}`);
      } finally {
        await terse.stop();
      }
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  },
  heavyTestMaxMs,
);
