/**
 * Durable creates. Each answer waits for its link to be on disk, and a disk makes so many writes durable per
 * second and no more: what counts is how many creates share one of them.
 */
import { join } from 'node:path';
import { callerOf } from '../../test/kit/client.ts';
import { contestTable } from '../kit/contest.ts';
import { commitsOf, fsyncsPerSecond, singleCommitsPerSecond } from '../kit/disk.ts';
import { longUrlAt } from '../kit/filled-store.ts';
import { asAdmin, postRequest } from '../kit/load.ts';
import { formatCount, measure, measureOf, ratio } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';
import { type LoadedServer, loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import type { Table } from '../kit/table.ts';

const clients = 64;
const bodies = 50_000;
const bulkItems = 10_000;
const probeMs = 1_000;
const warmUpS = 1;
const nginxName = 'nginx, a constant 201 and nothing stored';

interface CreateFigures extends ServerLoadResult {
  readonly commitsPerSecond: number;
}

export const create: Scenario = {
  name: 'create',
  summary: `durable creates by ${clients} clients, beside the disk they are written to`,
  run: ({ options, load, inFolder, withTerse, withNginx, coresFor, note }) =>
    inFolder(folder => {
      const dataFolder = join(folder, 'terse');
      return withNginx({ folder: join(folder, 'nginx'), targets: [] }, nginx =>
        withTerse({ dataFolder }, async terse => {
          const requests = Array.from({ length: bodies }, (_, turn) =>
            postRequest('/api/v1/links', { longUrl: longUrlAt(turn) }, asAdmin),
          );
          const postTo = (server: LoadedServer, durationS: number): Promise<ServerLoadResult> =>
            loadServer(load, server, { connections: clients, durationS, requests, cores: coresFor(1).load });
          const createFor = async (durationS: number): Promise<CreateFigures> => {
            const commitsBefore = commitsOf(dataFolder);
            const result = await postTo(terse, durationS);
            const commits = commitsOf(dataFolder) - commitsBefore;
            return { ...result, commitsPerSecond: (commits * result.perSecond) / result.requests };
          };
          note('warming up');
          await createFor(warmUpS);
          note(`${options.rounds} rounds`);
          const bulk = bulkBody();
          const figures = await interleaved(options.rounds, {
            fsyncs: () => fsyncsPerSecond(dataFolder, probeMs),
            singleCommits: () => singleCommitsPerSecond(dataFolder, probeMs),
            constant: async () => (nginx === undefined ? [] : [await postTo(nginx, options.seconds)]),
            creates: () => createFor(options.seconds),
            bulk: () => bulkPerSecond(terse.url, bulk),
          });
          const beside = contestTable(
            { title: `Creates, one core, ${clients} clients`, against: { Terse: nginxName } },
            { [nginxName]: figures.constant.flat(), Terse: figures.creates },
          );
          return { tables: [beside, diskTable(figures)] };
        }),
      );
    }),
};

function diskTable(figures: {
  readonly fsyncs: readonly number[];
  readonly singleCommits: readonly number[];
  readonly creates: readonly CreateFigures[];
  readonly bulk: readonly number[];
}): Table {
  const fsyncs = measure(figures.fsyncs);
  const singleCommits = measure(figures.singleCommits);
  const creates = measureOf(figures.creates, 'perSecond');
  const commits = measureOf(figures.creates, 'commitsPerSecond');
  return {
    title: 'Durable creates beside the disk',
    columns: ['what', 'figure', 'unit'],
    rows: [
      ['the disk: append 4 KiB and fsync, one by one', fsyncs, 'fsyncs/s'],
      ['SQLite: one row per transaction, one by one', singleCommits, 'commits/s'],
      [`Terse: creates by ${clients} clients`, creates, 'creates/s'],
      ['  transactions they shared', commits, 'commits/s'],
      ['  creates in one transaction', ratio(creates, commits, 1), 'creates/commit'],
      ['  beside the disk', ratio(creates, fsyncs, 1), 'creates per fsync of the disk'],
      ['  beside SQLite one by one', ratio(creates, singleCommits, 1), 'times'],
      [`Terse: bulk calls of ${formatCount(bulkItems)}, one by one`, measure(figures.bulk), 'links/s'],
    ],
  };
}

async function bulkPerSecond(url: string, body: string): Promise<number> {
  const startedNs = Bun.nanoseconds();
  const answer = await callerOf(url)('POST', '/api/v1/links/bulk', { body });
  const elapsedS = (Bun.nanoseconds() - startedNs) / 1e9;
  const created = answer.body.results?.filter(({ status }: { status: number }) => status === 201).length;
  if (created !== bulkItems) throw new Error(`a bulk call made ${created} of ${bulkItems} links`);
  return bulkItems / elapsedS;
}

function bulkBody(): string {
  return JSON.stringify({
    links: Array.from({ length: bulkItems }, (_, item) => ({ longUrl: longUrlAt(item) })),
  });
}
