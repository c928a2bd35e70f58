/**
 * Durable creates. Each answer waits for its link to be on disk, and a disk makes only so many writes durable per
 * second: what matters is how many creates share one. In memory, where durability costs nothing, the same load shows
 * the limit of the CPU.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../../test/kit/engines/postgres.ts';
import { findPostgres } from '../../test/kit/engines/postgres-programs.ts';
import type { TerseProcess } from '../../test/kit/terse-process.ts';
import { contestTable } from '../kit/contest.ts';
import { commitsOf, fsyncsPerSecond, rowsPerSecond } from '../kit/disk.ts';
import { longUrlAt } from '../kit/filled-store.ts';
import { asAdmin, postRequest } from '../kit/load.ts';
import { formatCount, type Measure, measure, measureOf, ratio } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Bench, BenchTerseOptions, Scenario } from '../kit/scenario.ts';
import { type LoadedServer, loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import type { Table } from '../kit/table.ts';

const clients = 64;
const bodies = 50_000;
const bulkItems = 10_000;
const bulkCalls = 3;
const probeMs = 500;
const warmUpS = 2;
const nginxName = 'nginx, a constant 201 and nothing stored';
const memoryFolder = '/dev/shm';

const onDisk = 'on disk';
const inMemory = 'in memory';
const onPostgres = 'on Postgres';

interface Place extends BenchTerseOptions {
  readonly name: string;
}

interface CreateFigures extends ServerLoadResult {
  /** NaN if the store is a server. */
  readonly commitsPerSecond: number;
}

/** The limits of the folder of an embedded store. */
interface FolderFigures {
  readonly fsyncs: number;
  readonly oneByOne: number;
  readonly inBatches: number;
}

interface PlaceFigures {
  readonly name: string;
  readonly folder: readonly FolderFigures[];
  readonly creates: readonly CreateFigures[];
  readonly bulk: readonly number[];
}

export const create: Scenario = {
  name: 'create',
  summary: `durable creates by ${clients} clients on disk, in memory and on Postgres, and in bulk`,
  run: bench =>
    bench.inFolder(folder =>
      withPlaces(bench, folder, places =>
        bench.withNginx({ folder: join(folder, 'nginx'), targets: [] }, async nginx => {
          const requests = Array.from({ length: bodies }, (_, turn) =>
            postRequest('/api/v1/links', { longUrl: longUrlAt(turn) }, asAdmin),
          );
          const figures: PlaceFigures[] = [];
          const constants: ServerLoadResult[] = [];
          const postTo = (server: LoadedServer, durationS: number): Promise<ServerLoadResult> =>
            loadServer(bench.load, server, {
              connections: clients,
              durationS,
              requests,
              cores: bench.coresFor(1).load,
            });
          // One server at a time: others would take its caches and its disk.
          for (const place of places) {
            bench.note(place.name);
            figures.push(await bench.withTerse(place, terse => measurePlace(bench, place, terse, postTo)));
          }
          for (let round = 0; nginx !== undefined && round < bench.options.rounds; round += 1)
            constants.push(await postTo(nginx, bench.options.seconds));
          return { tables: [besideNginx(figures, constants), besideTheDisk(figures)] };
        }),
      ),
    ),
};

async function withPlaces<Result>(
  { note }: Bench,
  folder: string,
  work: (places: readonly Place[]) => Promise<Result>,
): Promise<Result> {
  const places: Place[] = [{ name: onDisk, dataFolder: join(folder, 'terse') }];
  const ends: (() => unknown)[] = [];
  try {
    if (existsSync(memoryFolder)) {
      const dataFolder = mkdtempSync(join(memoryFolder, 'terse-bench-'));
      ends.push(() => rmSync(dataFolder, { recursive: true, force: true }));
      places.push({ name: inMemory, dataFolder });
    } else note(`${inMemory} is left out: there is no ${memoryFolder}`);
    const found = findPostgres();
    if ('reason' in found) note(`${onPostgres} is left out: ${found.reason}`);
    else {
      const postgres = await startPostgres();
      ends.push(() => postgres.stop());
      const env = { TERSE_LINKS: await postgres.freshDatabase() };
      places.push({ name: onPostgres, dataFolder: join(folder, 'beside-postgres'), env });
    }
    return await work(places);
  } finally {
    for (const end of ends) await end();
  }
}

async function measurePlace(
  { options }: Bench,
  { name, dataFolder }: Place,
  terse: TerseProcess,
  postTo: (server: LoadedServer, durationS: number) => Promise<ServerLoadResult>,
): Promise<PlaceFigures> {
  const isEmbedded = name !== onPostgres;
  const commits = (): number => (isEmbedded ? commitsOf(dataFolder) : Number.NaN);
  const createFor = async (durationS: number): Promise<CreateFigures> => {
    const commitsBefore = commits();
    const result = await postTo(terse, durationS);
    return {
      ...result,
      commitsPerSecond: ((commits() - commitsBefore) * result.perSecond) / result.requests,
    };
  };
  await createFor(warmUpS);
  const bulk = bulkBody();
  const rounds = await interleaved(options.rounds, {
    folder: async () =>
      isEmbedded
        ? [
            {
              fsyncs: fsyncsPerSecond(dataFolder, probeMs),
              oneByOne: rowsPerSecond(dataFolder, probeMs, 1),
              inBatches: rowsPerSecond(dataFolder, probeMs, clients),
            },
          ]
        : [],
    creates: () => createFor(options.seconds),
    bulk: () => bulkPerSecond(terse.url, bulk),
  });
  return { name, folder: rounds.folder.flat(), creates: rounds.creates, bulk: rounds.bulk };
}

function besideNginx(places: readonly PlaceFigures[], constants: readonly ServerLoadResult[]): Table {
  const terse = places.map(({ name, creates }) => [`Terse ${name}`, creates] as const);
  return contestTable(
    {
      title: `Creates, one core, ${clients} clients`,
      against: Object.fromEntries(terse.map(([name]) => [name, nginxName])),
      notes: ['On Postgres: without the CPU of Postgres itself.'],
    },
    { [nginxName]: constants, ...Object.fromEntries(terse) },
  );
}

function besideTheDisk(places: readonly PlaceFigures[]): Table {
  const row = (what: string, figure: (place: PlaceFigures) => Measure, unit: string) => [
    what,
    ...places.map(figure),
    unit,
  ];
  const creates = (place: PlaceFigures): Measure => measureOf(place.creates, 'perSecond');
  const commits = (place: PlaceFigures): Measure => measureOf(place.creates, 'commitsPerSecond');
  const inBatches = (place: PlaceFigures): Measure => measureOf(place.folder, 'inBatches');
  return {
    title: 'Durable creates beside what they are written to',
    columns: ['what', ...places.map(({ name }) => name), 'unit'],
    rows: [
      row('append 4 KiB and fsync, one by one', ({ folder }) => measureOf(folder, 'fsyncs'), 'fsyncs/s'),
      row('SQLite: one row per transaction', ({ folder }) => measureOf(folder, 'oneByOne'), 'rows/s'),
      row(`SQLite: ${clients} rows per transaction`, inBatches, 'rows/s'),
      row(`Terse: creates by ${clients} clients`, creates, 'creates/s'),
      row('  transactions they shared', commits, 'commits/s'),
      row(
        '  creates in one transaction',
        place => ratio(creates(place), commits(place), 1),
        'creates/commit',
      ),
      row('  beside SQLite in batches', place => ratio(creates(place), inBatches(place), 2), 'times'),
      row(
        `Terse: bulk calls of ${formatCount(bulkItems)}, one by one`,
        ({ bulk }) => measure(bulk),
        'links/s',
      ),
    ],
    notes: ['The rows of SQLite have no index; a link has three.'],
  };
}

/** Until the last byte of the answer; reading it is the client's own work. */
async function bulkPerSecond(url: string, body: string): Promise<number> {
  const headers = { ...asAdmin, 'Content-Type': 'application/json' };
  let elapsedS = 0;
  for (let call = 0; call < bulkCalls; call += 1) {
    const startedNs = Bun.nanoseconds();
    const answer = await fetch(`${url}/api/v1/links/bulk`, { method: 'POST', headers, body });
    const text = await answer.text();
    elapsedS += (Bun.nanoseconds() - startedNs) / 1e9;
    const created = text.split('"status":201').length - 1;
    if (created !== bulkItems) throw new Error(`a bulk call made ${created} of ${bulkItems} links`);
  }
  return (bulkCalls * bulkItems) / elapsedS;
}

function bulkBody(): string {
  return JSON.stringify({
    links: Array.from({ length: bulkItems }, (_, item) => ({ longUrl: longUrlAt(item) })),
  });
}
