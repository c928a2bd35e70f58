/**
 * Durable creates. Each answer waits for its link to be on disk, and a disk makes so many writes durable per
 * second and no more: what counts is how many creates share one of them.
 */
import { callerOf } from '../../test/kit/client.ts';
import { commitsOf, fsyncsPerSecond, singleCommitsPerSecond } from '../kit/disk.ts';
import { asAdmin, postRequest } from '../kit/load.ts';
import { measure, ratio } from '../kit/measure.ts';
import { usageOf } from '../kit/process-usage.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { Table } from '../kit/table.ts';

const clients = 64;
const bodies = 50_000;
const bulkItems = 10_000;
const probeMs = 1_000;
const warmUpS = 1;

interface CreateFigures {
  readonly perSecond: number;
  readonly commitsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
}

export const create: Scenario = {
  name: 'create',
  summary: `durable creates by ${clients} clients, beside the disk they are written to`,
  run: ({ options, load, inFolder, withTerse, note }) =>
    inFolder(dataFolder =>
      withTerse({ dataFolder }, async ({ url, pid }) => {
        const requests = Array.from({ length: bodies }, (_, turn) =>
          postRequest('/api/v1/links', { longUrl: longUrlOf(turn) }, asAdmin),
        );
        const createFor = async (durationS: number): Promise<CreateFigures> => {
          const [commitsBefore, cpuBefore] = [commitsOf(dataFolder), usageOf(pid)?.cpuMs];
          const result = await load({ url, connections: clients, durationS, requests });
          const commits = commitsOf(dataFolder) - commitsBefore;
          const cpuMs = (usageOf(pid)?.cpuMs ?? Number.NaN) - (cpuBefore ?? Number.NaN);
          return {
            ...result,
            commitsPerSecond: (commits * result.perSecond) / result.requests,
            cpuUs: (cpuMs * 1_000) / result.requests,
          };
        };
        note('warming up');
        await createFor(warmUpS);
        note(`${options.rounds} rounds`);
        const bulk = bulkBody();
        const figures = await interleaved(options.rounds, {
          fsyncs: () => fsyncsPerSecond(dataFolder, probeMs),
          singleCommits: () => singleCommitsPerSecond(dataFolder, probeMs),
          creates: () => createFor(options.seconds),
          bulk: () => bulkPerSecond(url, bulk),
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
  const of = (name: keyof CreateFigures): number[] => figures.creates.map(round => round[name]);
  const rate = of('perSecond');
  return {
    title: 'Durable creates',
    columns: ['what', 'figure', 'unit'],
    rows: [
      ['the disk: append 4 KiB and fsync, one by one', measure(figures.fsyncs), 'fsyncs/s'],
      ['SQLite: one row per transaction, one by one', measure(figures.singleCommits), 'commits/s'],
      [`Terse: creates by ${clients} clients`, measure(rate), 'creates/s'],
      ['  transactions they shared', measure(of('commitsPerSecond')), 'commits/s'],
      ['  creates in one transaction', ratio(rate, of('commitsPerSecond'), 1), 'creates/commit'],
      ['  beside the disk', ratio(rate, figures.fsyncs, 1), 'creates per fsync of the disk'],
      ['  beside SQLite one by one', ratio(rate, figures.singleCommits, 1), 'times'],
      ['  latency p50', measure(of('p50Ms'), 2), 'ms'],
      ['  latency p99', measure(of('p99Ms'), 2), 'ms'],
      ['  CPU of the server, all threads', measure(of('cpuUs')), 'µs/create'],
      [`Terse: bulk calls of ${bulkItems.toLocaleString('en-US')}, one by one`, measure(figures.bulk), 'links/s'],
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
  return JSON.stringify({ links: Array.from({ length: bulkItems }, (_, item) => ({ longUrl: longUrlOf(item) })) });
}

/** About as long as the URLs that people shorten. */
function longUrlOf(turn: number): string {
  return `https://www.example.com/articles/2026/${turn}/a-title-in-words?utm_source=newsletter&utm_id=${turn}`;
}
