/**
 * What recording costs: the same visits to the same links, once with clicks recorded, stored and counted, and once
 * without. The visits are as mixed as real ones: many agents, several referrers, people and machines.
 */
import { join } from 'node:path';
import { createClickedLinks, reconcileAt } from '../../test/kit/click-account.ts';
import type { TerseProcess } from '../../test/kit/terse-process.ts';
import { sampleVisits } from '../../test/kit/visit-kinds.ts';
import { measure, measureOf, ratio } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';
import { loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import type { Table } from '../kit/table.ts';
import { busiestSince, workerCpuMs } from '../kit/thread-usage.ts';

const visitors = 64;
const linkCount = 100;

interface ClickFigures extends ServerLoadResult {
  /** CPU time of the click thread per request; nothing where no clicks are recorded. */
  readonly threadUs: number;
}

export const clicks: Scenario = {
  name: 'clicks',
  summary: 'redirects with clicks recorded, and without',
  run: ({ options, load, note, inFolder, withTerse, coresFor }) =>
    inFolder(folder =>
      withTerse({ dataFolder: join(folder, 'on') }, recording =>
        withTerse({ dataFolder: join(folder, 'off'), env: { TERSE_CLICKS: 'off' } }, async silent => {
          const turnOf = async (terse: TerseProcess) => {
            const codes = await createClickedLinks(terse.url, linkCount);
            const requests = shuffled(
              sampleVisits({ codes }).map(({ request }) => request.toString('latin1')),
            );
            return async (): Promise<ClickFigures> => {
              const before = workerCpuMs(terse.pid);
              const cores = coresFor(1).load;
              const plan = { connections: visitors, durationS: options.seconds, requests, cores };
              const result = await loadServer(load, terse, plan);
              const threadMs = busiestSince(before, workerCpuMs(terse.pid));
              return { ...result, threadUs: (threadMs * 1_000) / result.requests };
            };
          };
          const contenders = {
            'clicks off': await turnOf(silent),
            'clicks on': await turnOf(recording),
          };
          note('warming up');
          await interleaved(1, contenders);
          note(`${options.rounds} rounds`);
          const rounds = await interleaved(options.rounds, contenders);
          const { totals } = await reconcileAt(recording.url);
          const account = `${totals.produced} clicks noted, ${totals.dropped} dropped.`;
          return { tables: [tableOf(rounds, account)] };
        }),
      ),
    ),
};

function tableOf(rounds: Readonly<Record<string, readonly ClickFigures[]>>, account: string): Table {
  const off = rounds['clicks off']!;
  return {
    title: `Redirects of ${linkCount} links, one core, ${visitors} visitors`,
    columns: [
      'server',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'CPU µs',
      'of it click thread µs',
      'requests/s to off',
      'CPU µs more than off',
    ],
    rows: Object.entries(rounds).map(([name, turns]) => [
      name,
      measureOf(turns, 'perSecond'),
      measureOf(turns, 'p50Ms', 2),
      measureOf(turns, 'p99Ms', 2),
      measureOf(turns, 'cpuUs', 1),
      turns === off ? '–' : measureOf(turns, 'threadUs', 1),
      ratio(measureOf(turns, 'perSecond'), measureOf(off, 'perSecond')),
      measure(
        turns.map(({ cpuUs }, round) => cpuUs - off[round]!.cpuUs),
        1,
      ),
    ]),
    notes: ['CPU: per request, of the whole server process until it has nothing left to do.', account],
  };
}

/** A client sends them in order, and neighbours would be visits to one link. */
function shuffled(requests: readonly string[]): string[] {
  const stride = 7_919;
  return requests.map((_, index) => requests[(index * stride) % requests.length]!);
}
