/** One chaos run: an installation, its clients, faults from the seed, the reads at the end, and the verdict. */
import { join } from 'node:path';
import { sleep, stayAlive, systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { cacheFolder } from '../kit/engines/unpacked-package.ts';
import { percentilesOf } from '../kit/hot-visitors.ts';
import { check, type FaultRow, recoveryMaxMs, type Verdict } from './checker.ts';
import { clickLossMs } from './click-rules.ts';
import { injectFaults, type PlanOptions, plan } from './fault-injector.ts';
import { Recorder, readHistory } from './history.ts';
import { type EngineSet, isolatedMs, startInstallation } from './installation.ts';
import { bounds } from './reachability.ts';
import { Workload } from './workload.ts';

export interface ChaosOptions {
  readonly set: EngineSet;
  readonly seed: number;
  readonly processes: number;
  /** How long faults are injected. */
  readonly forMs: number;
  readonly faultsMax?: number;
  readonly restsMs: PlanOptions['restsMs'];
  readonly onLine: (line: string) => void;
}

/** Before the first fault, and after the last one has ended. */
const calmMs = 5_000;
/** More than fit into a day. */
const plannedMax = 5_000;

export const usualOptions = { processes: 3, restsMs: [[16_500, 22_000]] } as const;

export async function runChaos(options: ChaosOptions): Promise<Verdict> {
  const { set, seed, processes, forMs, faultsMax = plannedMax, restsMs, onLine } = options;
  const folder = join(cacheFolder, 'chaos', `${set}-${seed}`);
  const letGo = stayAlive();
  const installation = await startInstallation(set, processes, folder);
  const recorder = new Recorder(join(folder, 'history.ndjson'));
  try {
    if (installation.noClocks !== undefined) onLine(`clocks are not set: ${installation.noClocks}`);
    recorder.add({
      type: 'run',
      seed,
      engines: set,
      processes,
      wallMs: Date.now() - recorder.nowMs,
      isolatedMs,
    });
    const urls = installation.members.map(({ url }) => url);
    const workload = new Workload(urls, recorder, seededRandom(seed));
    await workload.start();
    await sleep(systemClock, calmMs);
    const hasClocks = installation.noClocks === undefined;
    const faults = plan({ seed, set, processes, hasClocks, count: faultsMax, restsMs });
    await injectFaults(faults, installation, set, recorder, forMs, onLine);
    await sleep(systemClock, calmMs);
    await workload.stop();
    onLine('reading all links and their clicks');
    await workload.readAtEnd();
  } finally {
    recorder.close();
    await installation.stop();
    letGo();
  }
  onLine(`history: ${recorder.path}`);
  return check(readHistory(recorder.path));
}

/** The verdict as Markdown, without anything that depends on the day. */
export function summaryOf(
  verdict: Verdict,
  { set, seed, processes }: Pick<ChaosOptions, 'set' | 'seed' | 'processes'>,
): string {
  const { violations, operations, stalenessMs, clicks, links, revokedUsedMs } = verdict;
  const rows = [...Map.groupBy(verdict.faults, ({ name }) => name)].sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const sum = (some: readonly FaultRow[], value: (row: FaultRow) => number): number =>
    some.reduce((total, row) => total + value(row), 0);
  const faultRows = rows.map(([name, some]) => {
    const recoveryS = Math.max(...some.map(({ recoveryMs }) => recoveryMs)) / 1_000;
    return `| ${name} | ${some.length} | ${sum(some, row => row.operations)} | ${sum(some, row => row.failed)} | ${sum(some, row => row.delayed)} | ${recoveryS.toFixed(1)} | ${sum(some, row => row.failedLater)} |`;
  });
  const kindRows = [...operations].map(
    ([kind, { all, failed, unknown }]) => `| ${kind} | ${all} | ${failed} | ${unknown} |`,
  );
  const obeyed = (some: readonly number[]): string => {
    const at = percentilesOf(some);
    return `${some.length} changes, p50 ${at(0.5).toFixed(0)} ms, p99 ${at(0.99).toFixed(0)} ms, max ${at(1).toFixed(0)} ms`;
  };
  const total = [...operations.values()].reduce((all, each) => all + each.all, 0);
  return [
    `${set}, seed ${seed}, ${processes} processes: ${verdict.faults.length} faults, ${total} operations, ${links} links, **${violations.length} violations**.`,
    '',
    '| Fault | Times | Operations | Failed | Client late | Recovery (s, longest) | Failed later |',
    '|---|---|---|---|---|---|---|',
    ...faultRows,
    '',
    '| Operation | All | Failed | Outcome unknown |',
    '|---|---|---|---|',
    ...kindRows,
    '',
    `- Last redirect to an old destination after an acknowledged change, without a fault: ${obeyed(stalenessMs.calm)}.`,
    `- The same during and after faults: ${obeyed(stalenessMs.faulty)} (bound ${(bounds.freshMs + bounds.slackMs) / 1_000} s; ${isolatedMs / 1_000} s more for a process that reaches neither engine).`,
    `- Last accepted use of a revoked key: ${revokedUsedMs.toFixed(0)} ms after the revocation.`,
    `- Clicks: ${clicks.sent} redirects, ${clicks.unknown} visits without an answer, ${clicks.counted} counted, ${clicks.lost} reported as lost; ${clicks.atRisk} visits were at most ${clickLossMs / 1_000} s before their process was killed.`,
    `- Bound on recovery: ${recoveryMaxMs / 1_000} s.`,
    '',
  ].join('\n');
}
