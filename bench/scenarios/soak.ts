/** Four fifths of what is sustainable, for a long time: memory and latency must not care how long it has been. */
import { join } from 'node:path';
import { reconcileAt } from '../../test/kit/click-account.ts';
import { filledStore, lendLinks } from '../kit/filled-store.ts';
import { formatCount, measure, median } from '../kit/measure.ts';
import { failuresOf } from '../kit/paced-load.ts';
import type { Point } from '../kit/plot.ts';
import { usageOf } from '../kit/process-usage.ts';
import type { Scenario } from '../kit/scenario.ts';
import { sustainablePerSecond } from '../kit/sustainable.ts';
import type { Cell } from '../kit/table.ts';
import { visitCount, zipfVisits } from '../kit/visits.ts';

const visitors = 64;
const loadShare = 0.8;
const momentsPerMinute = 6;

interface MemorySample {
  readonly atS: number;
  readonly residentMb: number;
  readonly anonymousMb: number;
}

export const soak: Scenario = {
  name: 'soak',
  summary: `${loadShare * 100}% of the sustainable rate for a long time`,
  isOnRequest: true,
  run: bench =>
    bench.inFolder(async folder => {
      const { options, note } = bench;
      const store = await filledStore(bench.cacheFolder, options.warmLinks, note);
      const requests = zipfVisits(store, visitCount({ seconds: 10 }));
      const cores = bench.coresFor(1);
      return bench.withTerse({ dataFolder: lendLinks(store, join(folder, 'terse')) }, async terse => {
        const plan = { server: terse, requests, connections: visitors, loadCores: cores.load };
        const perSecond = loadShare * (await sustainablePerSecond(bench, plan));
        const durationS = options.minutes * 60;
        const momentS = 60 / momentsPerMinute;
        note(`${formatCount(perSecond)} redirects/s for ${options.minutes} minutes`);
        const memory = startSampling(terse.pid, momentS);
        const load = { url: terse.url, perSecond, durationS, momentS, connections: visitors, requests };
        const report = await bench.paced(load, cores);
        const samples = memory.stop();
        const { totals } = await reconcileAt(terse.url);
        const figures = {
          'resident memory, MiB': samples.map(({ residentMb }) => residentMb),
          'of it its own, MiB': samples.map(({ anonymousMb }) => anonymousMb),
          'p50, ms': report.moments.map(({ p50Ms }) => p50Ms),
          'p99, ms': report.moments.map(({ p99Ms }) => p99Ms),
          'longest of ten seconds, ms': report.moments.map(({ maxMs }) => maxMs),
        };
        const latencyLine = (name: string, figure: 'p50Ms' | 'p99Ms') => ({
          name,
          points: report.moments.map((moment): Point => [moment.atS / 60, moment[figure]]),
        });
        const memoryLine = (name: string, figure: 'residentMb' | 'anonymousMb') => ({
          name,
          points: samples.map((sample): Point => [sample.atS / 60, sample[figure]]),
        });
        return {
          tables: [
            {
              title: `${options.minutes} minutes at ${formatCount(perSecond)} redirects/s, one core`,
              columns: ['what', 'first fifth', 'last fifth', 'change %'],
              rows: Object.entries(figures).map(([what, values]) => [what, ...driftCells(values)]),
              notes: [
                `${formatCount(report.served.count)} served, ${failuresOf(report)} not.`,
                `${formatCount(totals.produced)} clicks noted, ${totals.dropped} dropped.`,
                `Zipf over ${formatCount(store.links)} links.`,
              ],
            },
          ],
          plots: [
            {
              kind: 'lines' as const,
              name: 'soak',
              title: `${options.minutes} minutes at ${loadShare * 100}% of the sustainable rate`,
              along: 'minutes',
              panels: [
                {
                  unit: 'MiB',
                  lines: [memoryLine('resident', 'residentMb'), memoryLine('its own', 'anonymousMb')],
                },
                { unit: 'ms', lines: [latencyLine('p50', 'p50Ms'), latencyLine('p99', 'p99Ms')] },
              ],
            },
          ],
        };
      });
    }),
};

/** The middle of the first fifth beside the middle of the last: what comes and goes between does not matter. */
function driftCells(values: readonly number[]): Cell[] {
  const fifth = Math.max(1, Math.floor(values.length / 5));
  const [first, last] = [median(values.slice(0, fifth)), median(values.slice(-fifth))];
  return [measure(first, 2), measure(last, 2), measure((last / first - 1) * 100, 1)];
}

function startSampling(pid: number, everyS: number) {
  const samples: MemorySample[] = [];
  const startedMs = performance.now();
  const sample = (): void => {
    const usage = usageOf(pid);
    if (usage === undefined) return;
    const { residentMb, anonymousMb } = usage;
    samples.push({ atS: (performance.now() - startedMs) / 1_000, residentMb, anonymousMb });
  };
  const timer = setInterval(sample, everyS * 1_000);
  return {
    stop(): readonly MemorySample[] {
      clearInterval(timer);
      sample();
      return samples;
    },
  };
}
