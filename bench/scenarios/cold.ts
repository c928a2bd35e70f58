/**
 * A store far larger than the cache: every redirect reads the database. Measured with the file in the kernel's
 * memory and again after the kernel was made to forget it, and beside it what owners do with so many links.
 */
import { join } from 'node:path';
import { seededRandom } from '../../src/base/random.ts';
import { cursorOf } from '../../src/links/stores/row-cursor.ts';
import { databaseBytes, dropFromMemory } from '../kit/disk.ts';
import {
  commonTag,
  commonWord,
  type FilledStore,
  filledStore,
  longUrlAt,
  rareTag,
  rareWord,
} from '../kit/filled-store.ts';
import { asAdmin, getRequest, postRequest } from '../kit/load.ts';
import { formatCount, measure, measureOf } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import type { Table } from '../kit/table.ts';

/** Clicks would be kept in the folder that is kept between runs; what they cost is for another scenario. */
const env = { TERSE_L1_ENTRIES: '1000', TERSE_CLICKS: 'off' };
const visitors = 64;
const owners = 2;
const visits = 200_000;
const variedCalls = 2_000;
const megabyte = 1024 * 1024;

export const cold: Scenario = {
  name: 'cold',
  summary: 'random links of a large store, none of them cached',
  async run(bench) {
    const store = await filledStore(bench.cacheFolder, bench.options.links, bench.note);
    return [sizeTable(store), await redirectTable(bench, store), await ownerTable(bench, store)];
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

async function redirectTable(bench: Bench, store: FilledStore): Promise<Table> {
  const { dataFolder, codeAt, links } = store;
  const random = seededRandom(links);
  const visit = (note: string): Promise<ServerLoadResult> => {
    bench.note(note);
    const requests = Array.from({ length: visits }, () =>
      getRequest(`/${codeAt(Math.floor(random.float() * links))}`),
    );
    const plan = { connections: visitors, durationS: bench.options.seconds, requests };
    return bench.withTerse({ dataFolder, env }, terse => loadServer(bench.load, terse, plan));
  };
  const rounds = await interleaved(bench.options.rounds, {
    'not in memory': async () => {
      const dropped = await dropFromMemory(join(dataFolder, 'terse.db'));
      return dropped ? [await visit('file dropped from memory')] : [];
    },
    'in memory': async () => {
      // Reading it once brings all of it in.
      await Bun.spawn(['cat', join(dataFolder, 'terse.db')], { stdout: 'ignore' }).exited;
      return [await visit('file in memory')];
    },
  });
  return {
    title: `Redirects of random links, ${visitors} visitors`,
    columns: [
      'database file',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'CPU µs',
      'own MiB',
      'mapped MiB',
    ],
    rows: Object.entries(rounds).map(([name, visits]) => [
      name,
      measureOf(visits.flat(), 'perSecond'),
      measureOf(visits.flat(), 'p50Ms', 2),
      measureOf(visits.flat(), 'p99Ms', 2),
      measureOf(visits.flat(), 'p999Ms', 2),
      measureOf(visits.flat(), 'cpuUs'),
      measureOf(visits.flat(), 'anonymousMb'),
      measureOf(visits.flat(), 'mappedMb'),
    ]),
    notes: [
      `The process keeps ${env.TERSE_L1_ENTRIES} of ${formatCount(links)} links in memory.`,
      'Mapped: pages of the file that the kernel shares with the process and takes back when it needs them.',
    ],
  };
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
  return bench.withTerse({ dataFolder, env }, async ({ url }) => {
    const contenders = Object.entries(calls).map(
      ([name, requests]) =>
        [name, () => bench.load({ url, connections: owners, durationS: 1, requests })] as const,
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
