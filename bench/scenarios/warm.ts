/** Redirects from memory: one viral link, and many warm ones, beside the least that the runtime can do. */
import { join } from 'node:path';
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

interface Server {
  readonly url: string;
  readonly pid: number;
}

export const warm: Scenario = {
  name: 'warm',
  summary: `one viral link and ${formatCount(warmLinks)} warm ones, beside a bare constant 302`,
  run: ({ options, load, note, inFolder, withTerse }) =>
    inFolder(folder =>
      withTerse({ dataFolder: join(folder, 'clicks') }, terse =>
        withTerse(
          { dataFolder: join(folder, 'no-clicks'), env: { TERSE_CLICKS: 'off' } },
          async uncounted => {
            const bare = await startBareServer();
            try {
              const turns = (server: Server, requests: readonly string[]) => () =>
                loadServer(load, server, { connections: visitors, durationS: options.seconds, requests });
              const counted = (await createLinks(terse.url)).map(visitOf);
              const others = (await createLinks(uncounted.url)).map(visitOf);
              const contenders = {
                'bare Bun.serve': turns(bare, counted.slice(0, 1)),
                'Terse without clicks, one link': turns(uncounted, others.slice(0, 1)),
                [`Terse without clicks, ${formatCount(warmLinks)} links`]: turns(uncounted, others),
                'Terse, one link': turns(terse, counted.slice(0, 1)),
                [`Terse, ${formatCount(warmLinks)} links`]: turns(terse, counted),
              };
              note('warming up');
              await interleaved(1, contenders);
              note(`${options.rounds} rounds`);
              return [tableOf(await interleaved(options.rounds, contenders))];
            } finally {
              await bare.stop();
            }
          },
        ),
      ),
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
    notes: [
      'CPU: of the whole server process, per request; where clicks are counted, their threads included.',
    ],
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
