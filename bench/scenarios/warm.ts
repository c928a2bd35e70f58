/** Redirects from memory: one viral link, and many warm ones, beside the least that the runtime can do. */
import { callerOf } from '../../test/kit/client.ts';
import { startBareServer } from '../kit/bare-server.ts';
import { getRequest } from '../kit/load.ts';
import { formatCount, measureOf, ratio } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';
import { loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import type { Table } from '../kit/table.ts';

const visitors = 64;
const warmLinks = 10_000;

export const warm: Scenario = {
  name: 'warm',
  summary: `one viral link and ${formatCount(warmLinks)} warm ones, beside a bare constant 302`,
  run: ({ options, load, note, inFolder, withTerse }) =>
    inFolder(dataFolder =>
      withTerse({ dataFolder }, async terse => {
        const bare = await startBareServer();
        try {
          const visits = (await createLinks(terse.url)).map(visitOf);
          const viral = visits.slice(0, 1);
          const plan = { connections: visitors, durationS: options.seconds };
          const contenders = {
            'bare Bun.serve': () => loadServer(load, bare, { ...plan, requests: viral }),
            'Terse, one link': () => loadServer(load, terse, { ...plan, requests: viral }),
            [`Terse, ${formatCount(warmLinks)} links`]: () =>
              loadServer(load, terse, { ...plan, requests: visits }),
          };
          note('warming up');
          await interleaved(1, contenders);
          note(`${options.rounds} rounds`);
          return [tableOf(await interleaved(options.rounds, contenders))];
        } finally {
          await bare.stop();
        }
      }),
    ),
};

function tableOf(rounds: Readonly<Record<string, readonly ServerLoadResult[]>>): Table {
  const [bare] = Object.values(rounds);
  return {
    title: `Redirects from memory, ${visitors} visitors`,
    columns: [
      'server',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'CPU µs',
      'requests/s to bare',
      'CPU to bare',
    ],
    rows: Object.entries(rounds).map(([name, turns]) => [
      name,
      measureOf(turns, 'perSecond'),
      measureOf(turns, 'p50Ms', 2),
      measureOf(turns, 'p99Ms', 2),
      measureOf(turns, 'p999Ms', 2),
      measureOf(turns, 'cpuUs', 1),
      ratio(measureOf(turns, 'perSecond'), measureOf(bare!, 'perSecond')),
      ratio(measureOf(turns, 'cpuUs'), measureOf(bare!, 'cpuUs')),
    ]),
    notes: ['CPU: of the whole server process, per request.'],
  };
}

async function createLinks(url: string): Promise<string[]> {
  const links = Array.from({ length: warmLinks }, (_, item) => ({
    longUrl: `https://www.example.com/articles/2026/${item}/a-title-in-words`,
  }));
  const { body } = await callerOf(url)('POST', '/api/v1/links/bulk', { body: { links } });
  return body.results.map((result: { link: { shortCode: string } }) => result.link.shortCode);
}

const visitOf = (code: string): string =>
  getRequest(`/${code}`, { 'User-Agent': 'Mozilla/5.0', Accept: '*/*' });
