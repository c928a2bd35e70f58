/**
 * What being watched costs: the same Terse under the same load while nobody looks at its metrics, and while it is
 * scraped each second, which is fifteen times as often as is usual.
 */
import { join } from 'node:path';
import { type Measure, measureOf, ratio } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { type LoadedServer, loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import { createLinks, visitCount, zipfVisits } from '../kit/visits.ts';

const visitors = 64;
const linkCount = 10_000;
const periodMs = 1_000;
const warmUpS = 1;

interface Turn extends ServerLoadResult {
  readonly scrapeMs: number;
  readonly scrapeKb: number;
}

export const scrape: Scenario = {
  name: 'scrape',
  summary: 'redirects while metrics are scraped each second, and while they are not',
  run: bench =>
    bench.inFolder(folder =>
      bench.withTerse({ dataFolder: join(folder, 'terse') }, async terse => {
        const links = await createLinks(terse.url, linkCount);
        const requests = zipfVisits(links, visitCount(bench.options));
        const turns = (durationS: number) => ({
          unwatched: () => loadTurn(bench, terse, requests, durationS, false),
          scraped: () => loadTurn(bench, terse, requests, durationS, true),
        });
        bench.note('warming up');
        await interleaved(1, turns(warmUpS));
        const { unwatched, scraped } = await interleaved(bench.options.rounds, turns(bench.options.seconds));
        return { tables: [tableOf(unwatched, scraped)] };
      }),
    ),
};

async function loadTurn(
  bench: Bench,
  server: LoadedServer,
  requests: readonly string[],
  durationS: number,
  isScraped: boolean,
): Promise<Turn> {
  const scrapes: { ms: number; bytes: number }[] = [];
  const timer = isScraped ? setInterval(() => void look().catch(() => undefined), periodMs) : undefined;
  async function look(): Promise<void> {
    const startedMs = performance.now();
    const text = await (await fetch(`${server.url}/metrics`)).text();
    scrapes.push({ ms: performance.now() - startedMs, bytes: text.length });
  }
  try {
    const cores = bench.coresFor(1).load;
    const plan = { connections: visitors, durationS, requests, answers: 'accepted', cores } as const;
    const result = await loadServer(bench.load, server, plan);
    const mean = (pick: (one: { ms: number; bytes: number }) => number): number =>
      scrapes.length === 0 ? Number.NaN : scrapes.reduce((sum, one) => sum + pick(one), 0) / scrapes.length;
    return { ...result, scrapeMs: mean(({ ms }) => ms), scrapeKb: mean(({ bytes }) => bytes) / 1_024 };
  } finally {
    clearInterval(timer);
  }
}

function tableOf(unwatched: readonly Turn[], scraped: readonly Turn[]) {
  const figures = (turns: readonly Turn[]): Measure[] => [
    measureOf(turns, 'perSecond'),
    measureOf(turns, 'p50Ms', 2),
    measureOf(turns, 'p99Ms', 2),
    measureOf(turns, 'cpuUs', 1),
    measureOf(turns, 'scrapeMs', 1),
    measureOf(turns, 'scrapeKb', 1),
  ];
  const against = (figure: 'perSecond' | 'cpuUs', turns: readonly Turn[]): Measure =>
    figure === 'perSecond'
      ? ratio(measureOf(turns, figure), measureOf(unwatched, figure))
      : ratio(measureOf(unwatched, figure), measureOf(turns, figure));
  const row = (name: string, turns: readonly Turn[]) => [
    name,
    ...figures(turns),
    against('perSecond', turns),
    against('cpuUs', turns),
  ];
  return {
    title: `Redirects of ${linkCount} links, ${visitors} visitors, one core`,
    columns: [
      'metrics',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'CPU µs',
      'scrape ms',
      'scrape KiB',
      'rate to unwatched',
      'unwatched CPU to its',
    ],
    rows: [row('unwatched', unwatched), row('scraped each second', scraped)],
    notes: [
      'CPU: per redirect, of all threads of the server, scrapes included.',
      'Ratios: 1 says that scraping costs nothing; below 1, so much of the rate or of the CPU is lost to it.',
    ],
  };
}
