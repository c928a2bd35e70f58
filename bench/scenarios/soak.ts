/**
 * Four fifths of the sustainable rate, for a long time: memory, latency and the counting of clicks must stay constant.
 * Figures are written during the run, and an interrupted soak reports the figures so far.
 */
import { join } from 'node:path';
import { reconcileAt } from '../../test/kit/click-account.ts';
import type { ClientReport } from '../kit/client-plan.ts';
import { filledStore, lendLinks, readOnce } from '../kit/filled-store.ts';
import { formatCount, measure, median } from '../kit/measure.ts';
import { failuresOf } from '../kit/paced-load.ts';
import { usageOf, writtenBy } from '../kit/process-usage.ts';
import type { Bench, Findings, Scenario } from '../kit/scenario.ts';
import type { LoadedServer } from '../kit/server-load.ts';
import { type SoakSample, startSoakLog } from '../kit/soak-log.ts';
import { rateNote, sustainableMeaning, sustainableRate } from '../kit/sustainable.ts';
import type { Cell, Table } from '../kit/table.ts';
import { workerCpuMs } from '../kit/thread-usage.ts';
import { visitCount, zipfVisits } from '../kit/visits.ts';

const visitors = 64;
const loadShare = 0.8;
const momentS = 10;

export const soak: Scenario = {
  name: 'soak',
  summary: `${loadShare * 100}% of the sustainable rate for a long time`,
  isOnRequest: true,
  run: bench =>
    bench.inFolder(async folder => {
      const { options, note } = bench;
      const store = await filledStore(bench.cacheFolder, options.warmLinks, note);
      await readOnce(store);
      const requests = zipfVisits(store, visitCount({ seconds: 10 }));
      const traffic = `Zipf over ${formatCount(store.links)} links`;
      return bench.withTerse({ dataFolder: lendLinks(store, join(folder, 'terse')) }, async terse => {
        const server = { name: traffic, server: terse, requests, connections: visitors };
        const rate = options.perSecond === undefined ? await sustainableRate(bench, server) : undefined;
        const perSecond = rate === undefined ? options.perSecond! : rate.perSecond * loadShare;
        note(`${formatCount(perSecond)} redirects/s for ${options.minutes} minutes`);
        const earlier = (await reconcileAt(terse.url)).totals.produced;
        const before = spentBy(terse.pid);
        const { samples, outcome } = await soaked(bench, terse, { requests, perSecond });
        const { tables } = findingsOf({
          samples,
          perSecond,
          notes: rate === undefined ? [outcome] : [outcome, rateNote(traffic, rate), sustainableMeaning],
        });
        const clicks = (await reconcileAt(terse.url)).totals.produced - earlier;
        return { tables: [...tables, costTable(before, spentBy(terse.pid), clicks)] };
      });
    }),
};

interface Spent {
  readonly cpuMs: number;
  /** CPU time of the threads that run a `Worker`: mostly the processing of clicks. */
  readonly workersMs: number;
  readonly writtenBytes: number;
}

function spentBy(pid: number): Spent {
  return {
    cpuMs: usageOf(pid)?.cpuMs ?? Number.NaN,
    workersMs: [...workerCpuMs(pid).values()].reduce((sum, cpuMs) => sum + cpuMs, 0),
    writtenBytes: writtenBy(pid),
  };
}

function costTable(before: Spent, after: Spent, clicks: number): Table {
  const each = (figure: keyof Spent, factor: number): Cell =>
    measure(((after[figure] - before[figure]) * factor) / clicks, 2);
  return {
    title: 'What a redirect and its click cost',
    columns: ['what', 'each'],
    rows: [
      ['CPU of the whole process, µs', each('cpuMs', 1_000)],
      ['CPU of the threads behind the answer, µs', each('workersMs', 1_000)],
      ['written to files, bytes', each('writtenBytes', 1)],
    ],
    notes: [`${formatCount(clicks)} clicks, merges of their counts included.`],
  };
}

async function soaked(
  { cacheFolder, options, note, paced, coresFor, interrupted }: Bench,
  terse: LoadedServer,
  { requests, perSecond }: { readonly requests: readonly string[]; readonly perSecond: number },
): Promise<{ readonly samples: readonly SoakSample[]; readonly outcome: string }> {
  const log = startSoakLog({ folder: cacheFolder, server: terse, perSecond, note });
  // No busy-waiting: shared hardware throttles a core that is always busy.
  const plan = { url: terse.url, perSecond, durationS: options.minutes * 60, momentS, isSpinning: false };
  try {
    const report = await paced(
      { ...plan, requests, connections: visitors, onMoment: log.onMoment, signal: interrupted },
      coresFor(1),
    );
    const samples = await log.close();
    return { samples, outcome: await outcomeOf(terse, report) };
  } catch (error) {
    const samples = await log.close();
    if (samples.length === 0) throw error;
    const minutes = (samples.at(-1)!.atS / 60).toFixed(1);
    return { samples, outcome: `Interrupted after ${minutes} of ${options.minutes} minutes.` };
  }
}

async function outcomeOf({ url }: LoadedServer, report: ClientReport): Promise<string> {
  const { totals } = await reconcileAt(url);
  const visits = `${formatCount(report.served.count)} served, ${failuresOf(report)} not`;
  const lag = `the client was late by ${report.lagP99Ms.toFixed(2)} ms at p99`;
  return `${visits}; ${formatCount(totals.produced)} clicks noted, ${totals.dropped} dropped; ${lag}.`;
}

/** In the order of the table, with the digits shown. */
const figures = {
  'resident memory, MiB': ['residentMb', 1],
  'of it its own, MiB': ['anonymousMb', 1],
  'of it pages of files, MiB': ['mappedMb', 1],
  'p50, ms': ['p50Ms', 2],
  'p99, ms': ['p99Ms', 2],
  [`longest of ${momentS} seconds, ms`]: ['maxMs', 1],
  'taken by others on the hardware, %': ['stolenPercent', 2],
  'clicks not yet counted, seconds of traffic': ['behindS', 2],
  'clicks dropped so far': ['dropped', 0],
  [`not served in ${momentS} seconds`]: ['failed', 0],
} as const satisfies Record<string, readonly [keyof SoakSample, number]>;

function findingsOf(soak: {
  readonly samples: readonly SoakSample[];
  readonly perSecond: number;
  readonly notes: readonly string[];
}): Findings {
  const { samples, perSecond, notes } = soak;
  const minutes = Number((samples.at(-1)!.atS / 60).toFixed(1));
  const table: Table = {
    title: `${minutes} minutes at ${formatCount(perSecond)} redirects/s, one core`,
    columns: ['what', 'first fifth', 'last fifth', 'change %'],
    rows: Object.entries(figures).map(([what, [figure, digits]]) => [
      what,
      ...driftCells(
        samples.map(sample => sample[figure]),
        digits,
      ),
    ]),
    notes,
  };
  return { tables: [table] };
}

/** Compares the medians of the first and the last fifth: fluctuations in between do not matter. */
function driftCells(values: readonly number[], digits: number): Cell[] {
  const fifth = Math.max(1, Math.floor(values.length / 5));
  const [first, last] = [median(values.slice(0, fifth)), median(values.slice(-fifth))];
  return [measure(first, digits), measure(last, digits), measure((last / first - 1) * 100, 1)];
}
