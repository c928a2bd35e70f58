/**
 * More than a server can do: two and three times as many visitors, who come whether or not others are served and
 * leave when it takes too long. What counts is that as many are served as ever, that the others are told so
 * quickly, and that it is over when they stop coming.
 */
import { join } from 'node:path';
import { longUrlAt } from '../kit/filled-store.ts';
import { asAdmin, postRequest } from '../kit/load.ts';
import { formatCount, measureOf, median } from '../kit/measure.ts';
import type { Plot, Point } from '../kit/plot.ts';
import { recoveryMs, startProbing } from '../kit/probes.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { sustainablePerSecond } from '../kit/sustainable.ts';
import type { Table } from '../kit/table.ts';
import { createLinks, visitOf } from '../kit/visits.ts';

const multiples = [1, 2, 3];
/** For each multiple; who finds none of them free waits for one. */
const connectionsMax = 1_000;
const connectionsOfPeak = 64;
const patienceMs = 2_000;
const quickMs = 25;
const recoveryMaxMs = 20_000;
const creates = 20_000;
const roundsMax = 2;

interface Overloaded {
  readonly offeredPerSecond: number;
  readonly servedPerSecond: number;
  readonly ofPeakPercent: number;
  readonly refusedPerSecond: number;
  readonly refusedPercent: number;
  readonly refusedP50Ms: number;
  readonly refusedP99Ms: number;
  readonly servedP50Ms: number;
  readonly servedP99Ms: number;
  readonly gaveUpPercent: number;
  readonly broken: number;
  readonly recoveredMs: number;
}

export const overload: Scenario = {
  name: 'overload',
  summary: `${multiples.join(', ')} times the load that is sustainable`,
  run: bench =>
    bench.inFolder(folder =>
      bench.withTerse({ dataFolder: join(folder, 'terse') }, async terse => {
        const links = await createLinks(terse.url, 1);
        const probeUrl = `${terse.url}/${links.codeAt(0)}`;
        const kinds = {
          redirects: [visitOf(links.codeAt(0))],
          creates: Array.from({ length: creates }, (_, turn) =>
            postRequest('/api/v1/links', { longUrl: longUrlAt(turn) }, asAdmin),
          ),
        };
        const findings: { kind: string; rounds: Record<string, readonly Overloaded[]> }[] = [];
        for (const [kind, requests] of Object.entries(kinds)) {
          const loadCores = bench.coresFor(1).load;
          const plan = { server: terse, requests, connections: connectionsOfPeak, loadCores };
          const peak = await sustainablePerSecond(bench, plan);
          bench.note(`${kind}: ${formatCount(peak)}/s are sustainable`);
          const turns = multiples.map(multiple => [
            `${multiple}×`,
            () => overloaded(bench, { url: terse.url, probeUrl, requests, peak, multiple }),
          ]);
          findings.push({
            kind,
            rounds: await interleaved(Math.min(bench.options.rounds, roundsMax), Object.fromEntries(turns)),
          });
        }
        return { tables: [tableOf(findings)], plots: [plotOf(findings)] };
      }),
    ),
};

async function overloaded(
  { paced, options, coresFor }: Bench,
  load: { url: string; probeUrl: string; requests: readonly string[]; peak: number; multiple: number },
): Promise<Overloaded> {
  const perSecond = load.peak * load.multiple;
  const probing = startProbing(load.probeUrl);
  try {
    const report = await paced(
      {
        url: load.url,
        requests: load.requests,
        perSecond,
        durationS: options.seconds,
        connections: connectionsOfPeak,
        connectionsMax: connectionsMax * load.multiple,
        patienceMs,
      },
      coresFor(1),
    );
    const recovered = (): number | undefined => recoveryMs(probing.probes, report.endedAtMs, quickMs);
    for (const untilMs = performance.now() + recoveryMaxMs; performance.now() < untilMs; ) {
      if (recovered() !== undefined) break;
      await Bun.sleep(quickMs);
    }
    const { served, refused, gaveUp, broken, servedPerSecond } = report;
    const all = served.count + refused.count + gaveUp + broken;
    return {
      offeredPerSecond: perSecond,
      servedPerSecond,
      ofPeakPercent: (servedPerSecond / load.peak) * 100,
      refusedPerSecond: (refused.count / served.count) * servedPerSecond,
      refusedPercent: (refused.count / all) * 100,
      refusedP50Ms: refused.count === 0 ? Number.NaN : refused.p50Ms,
      refusedP99Ms: refused.count === 0 ? Number.NaN : refused.p99Ms,
      servedP50Ms: served.p50Ms,
      servedP99Ms: served.p99Ms,
      gaveUpPercent: (gaveUp / all) * 100,
      broken,
      recoveredMs: recovered() ?? Number.NaN,
    };
  } finally {
    await probing.stop();
  }
}

type OverloadFindings = readonly {
  readonly kind: string;
  readonly rounds: Readonly<Record<string, readonly Overloaded[]>>;
}[];

function tableOf(findings: OverloadFindings): Table {
  return {
    title: `More than the sustainable load, one core, up to ${formatCount(connectionsMax)} connections for each ×`,
    columns: [
      'what',
      'load',
      'offered/s',
      'served/s',
      'of the peak %',
      'served p50 ms',
      'served p99 ms',
      '503 %',
      '503 p50 ms',
      '503 p99 ms',
      'gave up %',
      'broken',
      'recovered after ms',
    ],
    rows: findings.flatMap(({ kind, rounds }) =>
      Object.entries(rounds).map(([load, turns]) => [
        kind,
        load,
        measureOf(turns, 'offeredPerSecond'),
        measureOf(turns, 'servedPerSecond'),
        measureOf(turns, 'ofPeakPercent'),
        measureOf(turns, 'servedP50Ms', 1),
        measureOf(turns, 'servedP99Ms', 1),
        measureOf(turns, 'refusedPercent', 1),
        measureOf(turns, 'refusedP50Ms', 1),
        measureOf(turns, 'refusedP99Ms', 1),
        measureOf(turns, 'gaveUpPercent', 1),
        measureOf(turns, 'broken'),
        measureOf(turns, 'recoveredMs'),
      ]),
    ),
    notes: [
      `Visitors leave after ${patienceMs / 1_000} s. The peak is the rate that ${connectionsOfPeak} connections get in a closed loop.`,
      `Recovered: from the end of the load until visitors with new connections wait less than ${quickMs} ms.`,
    ],
  };
}

function plotOf(findings: OverloadFindings): Plot {
  return {
    kind: 'lines',
    name: 'overload',
    title: 'More than the sustainable load',
    along: 'times the sustainable load',
    panels: findings.map(({ kind, rounds }) => {
      const line = (name: string, figure: keyof Overloaded) => ({
        name,
        points: Object.values(rounds).map(
          (turns, index): Point => [multiples[index]!, median(turns.map(turn => turn[figure]))],
        ),
      });
      return {
        unit: `${kind}/s`,
        lines: [
          line('offered', 'offeredPerSecond'),
          line('told to come back', 'refusedPerSecond'),
          line('served', 'servedPerSecond'),
        ],
      };
    }),
  };
}
