/** Redirects from memory: one viral link, and many warm ones, beside the least that the runtime can do. */
import { join } from 'node:path';
import { callerOf } from '../../test/kit/client.ts';
import { startBareServer } from '../kit/bare-server.ts';
import { getRequest } from '../kit/load.ts';
import { formatCount, measureOf, ratio } from '../kit/measure.ts';
import { findNginx, type Nginx, startNginx } from '../kit/nginx.ts';
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
  run: ({ options, load, note, inFolder, withTerse, cacheFolder }) =>
    inFolder(folder =>
      withTerse({ dataFolder: join(folder, 'clicks') }, terse =>
        withTerse(
          { dataFolder: join(folder, 'no-clicks'), env: { TERSE_CLICKS: 'off' } },
          async uncounted => {
            const bare = await startBareServer();
            let nginx: Nginx | undefined;
            try {
              const turns = (server: Server, requests: readonly string[]) => () =>
                loadServer(load, server, { connections: visitors, durationS: options.seconds, requests });
              const codes = await createLinks(terse.url);
              const counted = codes.map(visitOf);
              nginx = await startNginxBeside(cacheFolder, join(folder, 'nginx'), codes, note);
              const others = (await createLinks(uncounted.url)).map(visitOf);
              const contenders = {
                ...(nginx !== undefined && {
                  'nginx with access log, one link': turns(nginx, counted.slice(0, 1)),
                }),
                ...(nginx !== undefined && {
                  [`nginx with access log, ${formatCount(warmLinks)} links`]: turns(nginx, counted),
                }),
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
              await nginx?.stop();
            }
          },
        ),
      ),
    ),
};

function tableOf(rounds: Readonly<Record<string, readonly ServerLoadResult[]>>): Table {
  const bare = rounds['bare Bun.serve'];
  const yardstick = (name: string) =>
    rounds[
      `nginx with access log, ${name.endsWith('one link') || name === 'bare Bun.serve' ? 'one link' : `${formatCount(warmLinks)} links`}`
    ];
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
      'nginx CPU to it',
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
      yardstick(name) === undefined
        ? '–'
        : ratio(measureOf(yardstick(name)!, 'cpuUs'), measureOf(turns, 'cpuUs')),
    ]),
    notes: [
      'CPU: of the whole server process, per request; where clicks are counted, their threads included.',
    ],
  };
}

async function startNginxBeside(
  cacheFolder: string,
  folder: string,
  codes: readonly string[],
  note: (text: string) => void,
): Promise<Nginx | undefined> {
  const program = await findNginx(cacheFolder);
  if (program === undefined) note('nginx cannot be had here');
  else return startNginx(program, folder, new Map(codes.map((code, item) => [code, longUrlOf(item)])));
}

const longUrlOf = (item: number): string => `https://www.example.com/articles/2026/${item}/a-title-in-words`;

async function createLinks(url: string): Promise<string[]> {
  const links = Array.from({ length: warmLinks }, (_, item) => ({
    longUrl: longUrlOf(item),
  }));
  const { body } = await callerOf(url)('POST', '/api/v1/links/bulk', { body: { links } });
  return body.results.map((result: { link: { shortCode: string } }) => result.link.shortCode);
}

const visitOf = (code: string): string => getRequest(`/${code}`, { 'User-Agent': browser, Accept: '*/*' });

const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0';
