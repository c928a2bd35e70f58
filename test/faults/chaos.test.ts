/**
 * A short chaos run on each set of engines: what `npm run chaos` does for half an hour, with two faults. The seed decides
 * which, and the history in `.cache/chaos` can be judged again with `npm run chaos -- --check=FILE`.
 */
import { expect, test } from 'bun:test';
import { recoveryMaxMs } from '../chaos/checker.ts';
import type { EngineSet } from '../chaos/installation.ts';
import { type ChaosOptions, runChaos, summaryOf, usualOptions } from '../chaos/run.ts';
import { timedRules } from '../chaos/violation.ts';
import { describeWithEngine, type EngineName } from '../kit/engines/describe-with-engine.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { seedNote, testSeed } from '../kit/seed.ts';

const forMs = scaled(60_000, 600_000);
const faultsFew = 2;
const faultsMax = scaled(faultsFew, 1_000);
/** The first is long enough to see that everything works again. */
const restsMs = scaled<ChaosOptions['restsMs']>(
  [
    [recoveryMaxMs + 1_500, recoveryMaxMs + 2_000],
    [3_000, 4_000],
  ],
  usualOptions.restsMs,
);

/** Each set has a seed of its own, or two of them would see the same faults; the last one sees a process killed. */
function survives(set: EngineSet, seed: number): void {
  test(
    `no promise is broken on ${set} while engines, processes, connections and clocks fail`,
    async () => {
      const options = { ...usualOptions, set, seed, forMs, faultsMax, restsMs };
      const verdict = await runChaos({ ...options, onLine: report });
      report(summaryOf(verdict, options).split('\n')[0]!);
      expectSafe(
        verdict.violations.filter(({ rule }) => !timedRules.has(rule)),
        seedNote,
      ).toEqual([]);
      expect(verdict.violations, seedNote).toEqual([]);
      expect(verdict.faults.length).toBeGreaterThanOrEqual(faultsFew);
      expect(verdict.faults[0]!.isRecoveryChecked).toBe(true);
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

const withKafka = ['postgres', 'redis', 'kafka', 'clickhouse'] as const;
withEngines(withKafka, () => survives('postgres', testSeed));
withEngines(withKafka, () => survives('postgres-queued', testSeed + 9));
withEngines(['dynamodb', 'redis'], () => survives('dynamodb', testSeed + 6));
