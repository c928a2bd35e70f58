/**
 * The whole path of a click, from a redirect through Kafka into ClickHouse, with every stage and the load on the same
 * two cores: how many a second it handles, what each stage costs, how soon a click shows, and how much space it takes
 * in the end.
 */
import { join } from 'node:path';
import type { ClickHouse } from '../../src/engines/clickhouse/clickhouse.ts';
import type { ClientReport } from '../kit/client-plan.ts';
import { filledStore, lendLinks } from '../kit/filled-store.ts';
import { probeFreshness } from '../kit/freshness-probe.ts';
import type { Histogram } from '../kit/histogram.ts';
import { formatCount, measure } from '../kit/measure.ts';
import { failuresOf } from '../kit/paced-load.ts';
import { type Pipeline, stages, withPipeline } from '../kit/pipeline.ts';
import { searchRate } from '../kit/rate-search.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import type { Table } from '../kit/table.ts';
import { mixedVisits, visitCount } from '../kit/visits.ts';

const countTables = ['clicks', 'minutes', 'quarters', 'days', 'dimensions', 'ledger'] as const;
const mergeMaxMs = 600_000;
const servingCores = 2;
const partitions = 4;
const visitors = 64;
const warmUpS = 1;
/** The length of a trial in turns of load: 20 s at full size. */
const trialTurns = 4;
const trialsMax = 4;
/** Trials are repeated, because a pause of the host fails a trial and would end the search far too low. */
const attemptsMax = 2;
const precision = 1.15;
/** The machine's capacity is unknown, so the first trial is a modest one that shows the cost of a click. */
const modestPerSecond = 2_000;
/** Larger batches make each click cheaper, so a second trial shows more. */
const scoutingShare = 0.7;
const firstShare = 0.9;
const beyondShare = 1.5;
/** The maximum time until a click is counted, also under load. */
const countedMaxS = 5;
const p99MaxMs = 50;
const givenUpS = 120;
const pollMs = 200;
const probesPerRound = 20;
const probeSpacingMs = 100;
const freshShare = 0.8;

interface Trial {
  readonly perSecond: number;
  readonly report: ClientReport;
  readonly clicks: number;
  readonly dropped: number;
  /** The time from the last visit until all were counted. */
  readonly countedAfterS: number;
  readonly cpuUs: Readonly<Record<(typeof stages)[number], number>>;
}

export const pipeline: Scenario = {
  name: 'pipeline',
  summary: 'clicks from redirects through Kafka into ClickHouse, all on two cores',
  isOnRequest: true,
  run: bench =>
    bench.inFolder(async folder => {
      const store = await filledStore(bench.cacheFolder, bench.options.warmLinks, bench.note);
      const requests = mixedVisits(store, visitCount({ seconds: 5 }));
      const options = {
        dataFolder: lendLinks(store, join(folder, 'serving')),
        countingFolder: join(folder, 'counting'),
        partitions,
        cores: bench.coresFor(servingCores),
      };
      return withPipeline(options, async whole => {
        const held = await highestHeld(bench, whole, requests);
        const perSecond = held.perSecond * freshShare;
        bench.note('how soon clicks show');
        const fresh = { 'nothing else': await probeFreshness(whole.url, probesOf(bench), probeSpacingMs) };
        const loaded = await besideLoad(bench, whole, requests, perSecond);
        const links = formatCount(store.links);
        return {
          tables: [
            rateTable(held, links),
            costTable(held),
            freshnessTable({ ...fresh, [`${formatCount(perSecond)} clicks/s`]: loaded }),
            await roomTable(whole),
          ],
        };
      });
    }),
};

const probesOf = ({ options }: Bench): number => options.rounds * probesPerRound;

async function highestHeld(bench: Bench, whole: Pipeline, requests: readonly string[]): Promise<Trial> {
  const modest = await tried(bench, whole, requests, modestPerSecond);
  const scouted = await tried(bench, whole, requests, promisedBy(modest) * scoutingShare);
  let best: Trial | undefined;
  await searchRate({
    from: promisedBy(scouted) * firstShare,
    above: promisedBy(scouted) * beyondShare,
    precision,
    trialsMax,
    async holds(perSecond) {
      for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
        const trial = await tried(bench, whole, requests, perSecond);
        const fault = faultOf(trial);
        const outcome = fault === undefined ? 'hold' : `do not hold: ${fault}`;
        bench.note(`${formatCount(perSecond)}/s ${outcome}`);
        if (fault === undefined) {
          best = trial;
          return true;
        }
      }
      return false;
    },
  });
  return best ?? scouted;
}

/** The rate of the cores at this cost, without the load; the tried rate if the system reports no cost. */
function promisedBy({ perSecond, cpuUs }: Trial): number {
  const promised = (servingCores * 1e6) / together(cpuUs);
  return Number.isNaN(promised) ? perSecond : promised;
}

const together = (cpuUs: Trial['cpuUs']): number => stages.reduce((sum, stage) => sum + cpuUs[stage], 0);

async function tried(
  { options, paced, coresFor }: Bench,
  whole: Pipeline,
  requests: readonly string[],
  perSecond: number,
): Promise<Trial> {
  const [recordedBefore, droppedBefore] = [await whole.recorded(), await whole.dropped()];
  const before = whole.cpuMs();
  const durationS = options.seconds * trialTurns;
  const plan = { url: whole.url, perSecond, durationS, warmUpS, connections: visitors, requests };
  const report = await paced(plan, coresFor(servingCores));
  const clicks = (await whole.recorded()) - recordedBefore;
  const dropped = (await whole.dropped()) - droppedBefore;
  const countedAfterS = await untilCounted(whole, recordedBefore + clicks - dropped - droppedBefore);
  const after = whole.cpuMs();
  const costs = stages.map(stage => [stage, ((after[stage] - before[stage]) * 1_000) / clicks] as const);
  const cpuUs = Object.fromEntries(costs) as Trial['cpuUs'];
  return { perSecond, report, clicks, dropped, countedAfterS, cpuUs };
}

async function untilCounted(whole: Pipeline, clicks: number): Promise<number> {
  for (const startedMs = performance.now(); ; await Bun.sleep(pollMs)) {
    const isCounted = (await whole.counted()) >= clicks;
    const seconds = (performance.now() - startedMs) / 1_000;
    if (isCounted) return seconds;
    if (seconds > givenUpS) throw new Error(`clicks were not counted within ${givenUpS} s`);
  }
}

const heldMeaning = `nobody refused, p99 below ${p99MaxMs} ms, no click dropped, all counted within ${countedMaxS} s`;

/** Why a rate is not sustained, in words; undefined when it is. */
function faultOf({ report, dropped, countedAfterS }: Trial): string | undefined {
  if (failuresOf(report) > 0) return `${formatCount(failuresOf(report))} were not served`;
  if (dropped > 0) return `${formatCount(dropped)} clicks were dropped`;
  if (report.served.p99Ms > p99MaxMs) return `a p99 of ${report.served.p99Ms.toFixed(1)} ms`;
  return countedAfterS > countedMaxS ? `counted ${countedAfterS.toFixed(1)} s later` : undefined;
}

async function besideLoad(
  bench: Bench,
  whole: Pipeline,
  requests: readonly string[],
  perSecond: number,
): Promise<Histogram> {
  const done = new AbortController();
  const plan = { url: whole.url, perSecond, durationS: 3_600, connections: visitors, requests };
  const load = bench.paced({ ...plan, signal: done.signal }, bench.coresFor(servingCores));
  try {
    return await probeFreshness(whole.url, probesOf(bench), probeSpacingMs);
  } finally {
    done.abort();
    // The abort ends it, which it reports as a failure.
    await load.catch(() => undefined);
  }
}

function rateTable(held: Trial, links: string): Table {
  const { report, countedAfterS, clicks } = held;
  const fault = faultOf(held);
  return {
    title: `Clicks through Kafka into ClickHouse, Zipf over ${links} links, all on ${servingCores} cores`,
    columns: ['clicks/s', 'clicks in all', 'redirect p50 ms', 'redirect p99 ms', 'last one counted after s'],
    rows: [
      [
        measure(held.perSecond),
        measure(clicks),
        measure(report.served.p50Ms, 2),
        measure(report.served.p99Ms, 2),
        measure(countedAfterS, 1),
      ],
    ],
    notes: [
      fault === undefined
        ? `The highest rate that was held, each tried twice at most: ${heldMeaning}.`
        : `Not held either: ${fault}.`,
      'The load is made on the same cores.',
    ],
  };
}

function costTable({ cpuUs }: Trial): Table {
  return {
    title: 'What a click costs on its way',
    columns: ['stage', 'CPU µs'],
    rows: [
      ...stages.map(stage => [stage, measure(cpuUs[stage], 1)]),
      ['together', measure(together(cpuUs), 1)],
    ],
    notes: [
      'Redirect: the thread that answers. Enriching: the other threads of that process, sending to Kafka included.',
      'Until the last click was counted; ClickHouse with the merging done meanwhile, behind the HTTP front of the tests unless a server is on PATH.',
    ],
  };
}

function freshnessTable(histograms: Readonly<Record<string, Histogram>>): Table {
  return {
    title: 'From the answer to a click until the statistics have it',
    columns: ['beside', 'p50 ms', 'p99 ms', 'max ms'],
    rows: Object.entries(histograms).map(([beside, histogram]) => [
      beside,
      measure(histogram.quantileUs(0.5) / 1_000),
      measure(histogram.quantileUs(0.99) / 1_000),
      measure(histogram.maxUs / 1_000),
    ]),
  };
}

async function roomTable(whole: Pipeline): Promise<Table> {
  const clicks = await whole.recorded();
  await untilCounted(whole, clicks - (await whole.dropped()));
  await mergeAll(whole.clickHouse);
  const bytes = await bytesIn(whole.clickHouse);
  return {
    title: 'Bytes of a click on disk',
    columns: ['where', 'bytes'],
    rows: [
      ['Kafka, one replica', measure(whole.kafkaBytes() / clicks, 1)],
      ...countTables.map(table => [`ClickHouse, ${table}`, measure((bytes.get(table) ?? 0) / clicks, 1)]),
    ],
    notes: [`${formatCount(clicks)} clicks; ClickHouse merged. Few clicks share little.`],
  };
}

async function mergeAll(clickHouse: ClickHouse): Promise<void> {
  for (const table of countTables)
    await clickHouse.run(`OPTIMIZE TABLE ${table}_0 FINAL`, { deadlineMs: mergeMaxMs });
}

async function bytesIn(clickHouse: ClickHouse): Promise<Map<string, number>> {
  const rows = await clickHouse.rows<{ name: string; bytes: number }>(`
    SELECT replaceRegexpOne(table, '_0$', '') AS name, sum(bytes_on_disk) AS bytes FROM system.parts
    WHERE active AND database = currentDatabase() GROUP BY name`);
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}
