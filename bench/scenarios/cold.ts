/**
 * A store far larger than the cache: every redirect reads the database. Measured with the file in the page cache and
 * after it was dropped from there, together with typical calls of owners with so many links.
 */
import { join } from 'node:path';
import { seededRandom } from '../../src/base/random.ts';
import { cursorOf } from '../../src/links/stores/rows.ts';
import { contestTable } from '../kit/contest.ts';
import { databaseBytes, dropFromMemory } from '../kit/disk.ts';
import {
  commonTag,
  commonWord,
  type FilledStore,
  filledStore,
  lendLinks,
  longUrlAt,
  rareTag,
  rareWord,
} from '../kit/filled-store.ts';
import { asAdmin, getRequest, postRequest } from '../kit/load.ts';
import { formatCount, measure, measureOf } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { type LoadedServer, loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import type { Table } from '../kit/table.ts';
import { type Links, targetsOf, uniformVisits, visitCount } from '../kit/visits.ts';

/** Far fewer than there are links, even in a scaled-down store. */
const env = { TERSE_L1_ENTRIES: '1000' };
/** nginx takes this many into its map; with ten times as many it would take minutes to start. */
const mapMax = 1_000_000;
const [notInMemory, inMemory] = ['Terse, file not in memory', 'Terse, file in memory'];
const visitors = 64;
const owners = 2;
const variedCalls = 2_000;
const megabyte = 1024 * 1024;

export const cold: Scenario = {
  name: 'cold',
  summary: 'random links of a large store, none of them in memory',
  async run(bench) {
    const store = await filledStore(bench.cacheFolder, bench.options.links, bench.note);
    return {
      tables: [sizeTable(store), await redirectTable(bench, store), await ownerTable(bench, store)],
    };
  },
};

function sizeTable({ dataFolder, links, filledInS }: FilledStore): Table {
  const bytes = databaseBytes(dataFolder);
  return {
    title: `The store: ${formatCount(links)} links`,
    columns: ['what', 'figure', 'unit'],
    rows: [
      ['on disk', measure(bytes / megabyte), 'MiB'],
      ['per link, indexes included', measure(bytes / links), 'bytes'],
      ['of that the URL itself', measure(averageUrlBytes(links)), 'bytes'],
      ...(filledInS === undefined ? [] : [['written at', measure(links / filledInS), 'links/s']]),
    ],
  };
}

function redirectTable(bench: Bench, store: FilledStore): Promise<Table> {
  const { options, load, note } = bench;
  const mapped = Math.min(store.links, mapMax);
  const nginxName = `nginx, ${formatCount(mapped)} links in its map`;
  const database = join(store.dataFolder, 'terse.db');
  const turn = (server: LoadedServer, links: Links, round: number): Promise<ServerLoadResult> =>
    loadServer(load, server, {
      connections: visitors,
      durationS: options.seconds,
      requests: uniformVisits(links, visitCount(options), round),
      cores: bench.coresFor(1).load,
    });
  const freshTerse = (round: number): Promise<ServerLoadResult> =>
    bench.inFolder(folder =>
      bench.withTerse({ dataFolder: lendLinks(store, join(folder, 'terse')), env }, terse =>
        turn(terse, store, round),
      ),
    );
  return bench.inFolder(folder =>
    bench.withNginx({ folder, targets: targetsOf(store, mapped) }, async nginx => {
      note(`${options.rounds} rounds, each with a Terse that knows no link yet`);
      const rounds = await interleaved(options.rounds, {
        [nginxName]: async round =>
          nginx === undefined ? [] : [await turn(nginx, { ...store, links: mapped }, round)],
        [notInMemory]: async round => ((await dropFromMemory(database)) ? [await freshTerse(round)] : []),
        [inMemory]: async round => {
          // Reads the whole file into the page cache.
          await Bun.spawn(['cat', database], { stdout: 'ignore' }).exited;
          return [await freshTerse(round)];
        },
      });
      const turns = Object.entries(rounds).map(([name, results]) => [name, results.flat()] as const);
      const inFile = Math.max(...turns.flatMap(([, results]) => results.map(({ mappedMb }) => mappedMb)));
      return contestTable(
        {
          title: `Redirects of random links, ${formatCount(store.links)} of them, one core, ${visitors} visitors`,
          against: { [notInMemory]: nginxName, [inMemory]: nginxName },
          notes: [
            `Terse keeps ${env.TERSE_L1_ENTRIES} of ${formatCount(store.links)} links in memory and reads the others.`,
            `Up to ${formatCount(inFile)} MiB of the resident memory are pages of the file, which the kernel takes back when it needs them.`,
          ],
        },
        Object.fromEntries(turns.filter(([, results]) => results.length > 0)),
      );
    }),
  );
}

async function ownerTable(bench: Bench, { dataFolder, links }: FilledStore): Promise<Table> {
  const list = (query: string): string => getRequest(`/api/v1/links?${query}`, asAdmin);
  const random = seededRandom(links + 1);
  const anywhere = (): number => Math.floor(random.float() * links);
  const varied = (make: () => string): string[] => Array.from({ length: variedCalls }, make);
  const calls: Record<string, string[]> = {
    'create with findExisting': varied(() =>
      postRequest('/api/v1/links', { longUrl: longUrlAt(anywhere()), findExisting: true }, asAdmin),
    ),
    'list page: first': [list('limit=50')],
    'list page: deep, any cursor': varied(() => list(`limit=50&cursor=${cursorOf(anywhere() + 1)}`)),
    'list page: oldest first': [list('limit=50&sort=createdAt')],
    [`list page: tag of every ${commonTag.every}th link, deep`]: varied(() =>
      list(`limit=50&tag=${commonTag.name}&cursor=${cursorOf(anywhere() + 1)}`),
    ),
    [`list page: tag of every ${formatCount(rareTag.every)}th link`]: [list(`limit=50&tag=${rareTag.name}`)],
    [`search: in every ${commonWord.every}nd link`]: [list(`limit=50&search=${commonWord.name}`)],
    [`search: in every ${formatCount(rareWord.every)}th link`]: [
      list(`limit=50&search=${encodeURIComponent(rareWord.name)}`),
    ],
    'search: in no link': [list('limit=50&search=nowhere-to-be-found')],
  };
  // Links that are created here stay in the store, so creates use findExisting.
  const silent = { ...env, TERSE_CLICKS: 'off' };
  return bench.withTerse({ dataFolder, env: silent }, async ({ url }) => {
    const cores = bench.coresFor(1).load;
    const contenders = Object.entries(calls).map(
      ([name, requests]) =>
        [name, () => bench.load({ url, connections: owners, durationS: 1, requests, cores })] as const,
    );
    bench.note('what owners do');
    const rounds = await interleaved(Math.min(bench.options.rounds, 2), Object.fromEntries(contenders));
    return {
      title: `Owners of many links, ${owners} at a time`,
      columns: ['call', 'requests/s', 'p50 ms', 'p99 ms'],
      rows: Object.entries(rounds).map(([name, results]) => [
        name,
        measureOf(results, 'perSecond'),
        measureOf(results, 'p50Ms', 2),
        measureOf(results, 'p99Ms', 2),
      ]),
      notes: ['A search looks through a bounded number of links per call and hands out a cursor to go on.'],
    };
  });
}

function averageUrlBytes(links: number): number {
  const samples = Array.from(
    { length: 1_000 },
    (_, sample) => longUrlAt(Math.floor((sample * links) / 1_000)).length,
  );
  return samples.reduce((sum, length) => sum + length, 0) / samples.length;
}
