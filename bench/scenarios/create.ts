/**
 * Durable creates. Each answer waits for its link to be on disk, and a disk makes so many writes durable per
 * second and no more: what counts is how many creates share one of them.
 */
import { callerOf } from '../../test/kit/client.ts';
import { commitsOf, fsyncsPerSecond, singleCommitsPerSecond } from '../kit/disk.ts';
import { asAdmin, postRequest } from '../kit/load.ts';
import { formatCount, measure, measureOf, ratio } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';
import { loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import type { Table } from '../kit/table.ts';

const clients = 64;
const bodies = 50_000;
const bulkItems = 10_000;
const probeMs = 1_000;
const warmUpS = 1;

interface CreateFigures extends ServerLoadResult {
  readonly commitsPerSecond: number;
}

export const create: Scenario = {
  name: 'create',
  summary: `durable creates by ${clients} clients, beside the disk they are written to`,
  run: ({ options, load, inFolder, withTerse, note }) =>
    inFolder(dataFolder =>
      withTerse({ dataFolder }, async terse => {
        const requests = Array.from({ length: bodies }, (_, turn) =>
          postRequest('/api/v1/links', { longUrl: longUrlOf(turn) }, asAdmin),
        );
        const createFor = async (durationS: number): Promise<CreateFigures> => {
          const commitsBefore = commitsOf(dataFolder);
          const result = await loadServer(load, terse, { connections: clients, durationS, requests });
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
          creates: () => createFor(options.seconds),
          bulk: () => bulkPerSecond(terse.url, bulk),
        });
        return [tableOf(figures)];
      }),
    ),
};

function tableOf(figures: {
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
    title: 'Durable creates',
    columns: ['what', 'figure', 'unit'],
    rows: [
      ['the disk: append 4 KiB and fsync, one by one', fsyncs, 'fsyncs/s'],
      ['SQLite: one row per transaction, one by one', singleCommits, 'commits/s'],
      [`Terse: creates by ${clients} clients`, creates, 'creates/s'],
      ['  transactions they shared', commits, 'commits/s'],
      ['  creates in one transaction', ratio(creates, commits, 1), 'creates/commit'],
      ['  beside the disk', ratio(creates, fsyncs, 1), 'creates per fsync of the disk'],
      ['  beside SQLite one by one', ratio(creates, singleCommits, 1), 'times'],
      ['  latency p50', measureOf(figures.creates, 'p50Ms', 2), 'ms'],
      ['  latency p99', measureOf(figures.creates, 'p99Ms', 2), 'ms'],
      ['  CPU of the server, all threads', measureOf(figures.creates, 'cpuUs'), 'µs/create'],
      [`Terse: bulk calls of ${formatCount(bulkItems)}, one by one`, measure(figures.bulk), 'links/s'],
    ],
    notes: ['The load client shares the cores with the server.'],
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
    links: Array.from({ length: bulkItems }, (_, item) => ({ longUrl: longUrlOf(item) })),
  });
}

/** About as long as the URLs that people shorten. */
function longUrlOf(turn: number): string {
  return `https://www.example.com/articles/2026/${turn}/a-title-in-words?utm_source=newsletter&utm_id=${turn}`;
}
