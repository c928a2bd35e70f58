/**
 * A short chaos run on each set of engines: what `npm run chaos` does for half an hour, with a few faults. The seed decides
 * which, and the history in `.cache/chaos` can be judged again with `npm run chaos -- --check=FILE`.
 */
import { expect, test } from 'bun:test';
import type { EngineSet } from '../chaos/installation.ts';
import { runChaos, summaryOf, usualOptions } from '../chaos/run.ts';
import { timedRules } from '../chaos/violation.ts';
import { describeWithEngine, type EngineName } from '../kit/engines/describe-with-engine.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { seedNote, testSeed } from '../kit/seed.ts';

const forMs = scaled(60_000, 600_000);
const restMs = scaled<readonly [number, number]>([3_000, 4_000], usualOptions.restMs);

function survives(set: EngineSet, faultsFew: number): void {
  const faultsMax = scaled(faultsFew, 1_000);
  test(
    'no promise is broken while engines, processes, connections and clocks fail',
    async () => {
      const options = { ...usualOptions, set, seed: testSeed, forMs, faultsMax, restMs };
      const verdict = await runChaos({ ...options, onLine: report });
      report(summaryOf(verdict, options).split('\n')[0]!);
      expectSafe(
        verdict.violations.filter(({ rule }) => !timedRules.has(rule)),
        seedNote,
      ).toEqual([]);
      expect(verdict.violations, seedNote).toEqual([]);
      expect(verdict.faults.length).toBeGreaterThanOrEqual(faultsFew);
      expect(verdict.links).toBeGreaterThan(50);
    },
    heavyTestMaxMs,
  );
}

function withEngines(engines: readonly EngineName[], body: () => void): void {
  const nested = engines.reduceRight(
    (inner, engine) => () => describeWithEngine(engine, `chaos with ${engine}`, inner, { own: true }),
    body,
  );
  nested();
}

withEngines(['postgres', 'redis', 'kafka', 'clickhouse'], () => survives('postgres', 3));
withEngines(['dynamodb', 'redis'], () => survives('dynamodb', 2));
