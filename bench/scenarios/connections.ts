/**
 * Room: what connections cost that do nothing, and readers who do not read. Memory must grow by what is known
 * beforehand, others must be served meanwhile, and when the crowd has left all must be as before.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withCrowd } from '../kit/crowd.ts';
import { Histogram } from '../kit/histogram.ts';
import { getRequest } from '../kit/load.ts';
import { formatCount, measure } from '../kit/measure.ts';
import { startProbing } from '../kit/probes.ts';
import { usageOf } from '../kit/process-usage.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { type LoadedServer, untilIdle } from '../kit/server-load.ts';
import type { Cell, Table } from '../kit/table.ts';
import { createLinks, targetsOf, visitOf } from '../kit/visits.ts';

const idleConnections = 10_000;
const slowReaders = 500;
/** The description of the API is the largest answer that anybody can ask for. */
const largePath = '/api/v1/openapi.json';
const largeAnswersEach = 20;
const holdMs = 4_000;
const settleMs = 3_000;
/** Files that a process needs for itself, beside its connections. */
const filesForItself = 200;
const openFilesUsual = 1_024;

export const connections: Scenario = {
  name: 'connections',
  summary: `${formatCount(idleConnections)} idle connections, and readers who do not read`,
  run: bench =>
    bench.inFolder(folder =>
      bench.withTerse({ dataFolder: join(folder, 'terse') }, async terse => {
        const links = await createLinks(terse.url, 1);
        const idleCount = Math.min(idleConnections, openFilesMax() - filesForItself);
        if (idleCount < idleConnections)
          bench.note(`this system lets a process open no more than ${idleCount}`);
        const idle = { connections: idleCount, request: visitOf(links.codeAt(0)), isReading: true };
        const slow = {
          connections: slowReaders,
          request: getRequest(largePath).repeat(largeAnswersEach),
          isReading: false,
        };
        const path = `/${links.codeAt(0)}`;
        return bench.withNginx({ folder: join(folder, 'nginx'), targets: targetsOf(links) }, async nginx => {
          const rows: Cell[][] = [];
          const crowded = async (what: string, server: LoadedServer, crowd: typeof idle): Promise<void> => {
            bench.note(what);
            rows.push([what, ...(await crowdedCells(bench, folder, server, path, crowd))]);
          };
          const idleName = `${formatCount(idleCount)} idle connections`;
          if (nginx !== undefined) await crowded(`nginx, ${idleName}`, nginx, idle);
          await crowded(`Terse, ${idleName}`, terse, idle);
          await crowded(`Terse, ${slowReaders} who do not read`, terse, slow);
          return { tables: [tableOf(rows)] };
        });
      }),
    ),
};

async function crowdedCells(
  { coresFor }: Bench,
  folder: string,
  server: LoadedServer,
  path: string,
  crowd: { readonly connections: number; readonly request: string; readonly isReading: boolean },
): Promise<Cell[]> {
  const memoryMb = (): number => usageOf(server.pid)?.residentMb ?? Number.NaN;
  const beforeMb = memoryMb();
  const plan = { ...crowd, url: server.url };
  const waits = new Histogram();
  const { result, ending } = await withCrowd({ plan, folder, cores: coresFor(1).load }, async opening => {
    const enteredMs = performance.now();
    // What they asked for is work as any other; what is looked for is what they cost when it is done.
    await untilIdle(server.pid);
    const busyMs = performance.now() - enteredMs;
    const probing = startProbing(server.url + path);
    let highestMb = 0;
    for (const untilMs = performance.now() + holdMs; performance.now() < untilMs; await Bun.sleep(100)) {
      highestMb = Math.max(highestMb, memoryMb());
    }
    await probing.stop();
    for (const { latencyMs } of probing.probes) waits.record(latencyMs * 1_000);
    const unserved = probing.probes.filter(({ isServed }) => !isServed).length;
    return { ...opening, highestMb, unserved, busyMs };
  });
  await Bun.sleep(settleMs);
  return [
    measure(result.opened),
    measure(ending.stayed),
    measure(result.busyMs),
    measure(beforeMb),
    measure(result.highestMb),
    measure(((result.highestMb - beforeMb) * 1_024) / Math.max(1, result.opened), 1),
    measure(memoryMb()),
    measure(waits.quantileUs(0.5) / 1_000, 1),
    measure(waits.maxUs / 1_000, 1),
    measure(result.unserved),
  ];
}

function tableOf(rows: readonly Cell[][]): Table {
  return {
    title: 'Connections that take up room, one core',
    columns: [
      'server and crowd',
      'let in',
      'open at the end',
      'busy with them ms',
      'MiB before',
      'MiB with it',
      'KiB each',
      'MiB after',
      'others p50 ms',
      'others max ms',
      'others not served',
    ],
    rows,
    notes: [
      `Idle: answered once, then silent. Those who do not read ask ${largeAnswersEach} times each for ${largePath}.`,
      'Busy: from the last one being let in until all that they asked for is done, or waits for them to read.',
      'Others: visitors with new connections after that. MiB: resident memory of the server.',
    ],
  };
}

/** Where the system does not say, what most of them allow at least. */
function openFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1] ?? openFilesUsual);
  } catch {
    return openFilesUsual;
  }
}
