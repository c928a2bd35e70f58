/**
 * Puts servers under the same load in turns, and makes a table: results of the clients, costs, and the ratio of each
 * server, round by round, to the one that it is compared with. Above 1 is better.
 */
import type { LoadPlan, LoadRunner } from './load.ts';
import { type Measure, measure, measureOf, ratio } from './measure.ts';
import { interleaved } from './rounds.ts';
import type { Bench } from './scenario.ts';
import { type LoadedServer, loadServer, type ServerLoadResult } from './server-load.ts';
import type { Table } from './table.ts';

export interface Contender {
  readonly server: LoadedServer;
  readonly requests: readonly string[];
  readonly answers?: LoadPlan['answers'];
  /** The load, if it is not keep-alive connections. */
  readonly load?: LoadRunner;
  /** The name of the contender that it is compared with. */
  readonly against?: string;
}

export interface ContestOptions {
  readonly title: string;
  readonly connections: number;
  readonly contenders: Readonly<Record<string, Contender>>;
  /** The cores of the load, if they differ from those of other scenarios. */
  readonly loadCores?: readonly number[];
  readonly notes?: readonly string[];
}

const warmUpS = 1;

export const rateRatioColumn = 'rate to nginx';
export const cpuRatioColumn = 'nginx CPU to its';

export async function contest(bench: Bench, options: ContestOptions): Promise<Table> {
  const { connections, contenders, loadCores = bench.coresFor(1).load } = options;
  const turnsOf = (durationS: number) =>
    Object.fromEntries(
      Object.entries(contenders).map(
        ([name, { server, requests, answers = 'accepted', load = bench.load }]) => [
          name,
          () => loadServer(load, server, { connections, durationS, requests, answers, cores: loadCores }),
        ],
      ),
    );
  bench.note('warming up');
  await interleaved(1, turnsOf(warmUpS));
  bench.note(`${bench.options.rounds} rounds of ${Object.keys(contenders).length} turns`);
  const rounds = await interleaved(bench.options.rounds, turnsOf(bench.options.seconds));
  const against = Object.fromEntries(
    Object.entries(contenders).flatMap(([name, contender]) =>
      contender.against === undefined ? [] : [[name, contender.against]],
    ),
  );
  return contestTable({ ...options, against }, rounds);
}

export interface ContestTableOptions extends Pick<ContestOptions, 'title' | 'notes'> {
  /** For each contender that is compared, the name of the one it is compared with. */
  readonly against: Readonly<Record<string, string>>;
}

export function contestTable(
  { title, against, notes = [] }: ContestTableOptions,
  rounds: Readonly<Record<string, readonly ServerLoadResult[]>>,
): Table {
  const nothing = measure([]);
  return {
    title,
    columns: [
      'server',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'CPU µs',
      'resident MiB',
      rateRatioColumn,
      cpuRatioColumn,
    ],
    rows: Object.entries(rounds).map(([name, turns]) => {
      const yardstick = rounds[against[name] ?? ''];
      const compared = (figure: 'perSecond' | 'cpuUs'): [Measure, Measure] | undefined =>
        yardstick && [measureOf(turns, figure), measureOf(yardstick, figure)];
      const rates = compared('perSecond');
      const costs = compared('cpuUs');
      return [
        name,
        measureOf(turns, 'perSecond'),
        measureOf(turns, 'p50Ms', 2),
        measureOf(turns, 'p99Ms', 2),
        measureOf(turns, 'p999Ms', 2),
        measureOf(turns, 'cpuUs', 1),
        measureOf(turns, 'residentMb'),
        rates === undefined ? nothing : ratio(rates[0], rates[1]),
        costs === undefined ? nothing : ratio(costs[1], costs[0]),
      ];
    }),
    notes: [
      'CPU: per request, of all processes and threads of the server until it has nothing left to do.',
      `${rateRatioColumn}, ${cpuRatioColumn}: above 1 is better than nginx.`,
      ...notes,
    ],
  };
}
