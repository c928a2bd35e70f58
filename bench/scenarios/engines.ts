/**
 * Terse on different engines: the cost of a redirect from memory, from the shared cache, and from the store; and the
 * cost of a create. Embedded storage is the baseline, because it is the default. An unavailable engine is left out, and
 * the table says why.
 */
import { join } from 'node:path';
import { inParallel } from '../../src/base/in-parallel.ts';
import { startDynamo } from '../../test/kit/engines/dynamodb.ts';
import { findDynamo } from '../../test/kit/engines/dynamodb-programs.ts';
import type { Engine } from '../../test/kit/engines/engine-process.ts';
import type { Found } from '../../test/kit/engines/found.ts';
import { startPostgres } from '../../test/kit/engines/postgres.ts';
import { findPostgres } from '../../test/kit/engines/postgres-programs.ts';
import { startRedis } from '../../test/kit/engines/redis.ts';
import { findRedis } from '../../test/kit/engines/redis-programs.ts';
import { longUrlAt } from '../kit/filled-store.ts';
import { asAdmin, postRequest } from '../kit/load.ts';
import { formatCount, measure, measureOf, ratio } from '../kit/measure.ts';
import { usageOf } from '../kit/process-usage.ts';
import type { Bench, Scenario } from '../kit/scenario.ts';
import { type LoadedServer, loadServer, type ServerLoadResult } from '../kit/server-load.ts';
import type { Table } from '../kit/table.ts';
import { createLinks, type Links, visitOf } from '../kit/visits.ts';

const clients = 64;
/** DynamoDB Local is one small process, and answers creates of more clients too late. */
const creatorsOfSmall = 8;
const creates = 20_000;
/** The number of links for redirects from memory. */
const hotLinks = 1_000;
/** More than a turn requests when all links should be cold, where the store is a separate engine. */
const linksPerSecond = 20_000;
const linksPerSecondOfSmall = 5_000;
const askingAtOnce = 4;
const warmUpS = 1;
/** For redirects that are not answered from memory. */
const forgetful = { TERSE_L1_ENTRIES: '16' };

/** An engine as it runs for a stack. */
interface Running {
  readonly settings: Readonly<Record<string, string>>;
  readonly engines: readonly Engine[];
  /** Empties the shared cache; undefined if there is none. */
  readonly flush: (() => Promise<void>) | undefined;
}

interface Stack {
  readonly name: string;
  readonly needs: readonly (() => Found<unknown>)[];
  /** Whether its store can do much less than the others. */
  readonly isSmall?: boolean;
  start(): Promise<Running>;
}

interface EngineFigures extends ServerLoadResult {
  /** CPU time of the engines per request. */
  readonly enginesCpuUs: number;
  readonly clients: number;
}

interface StackFigures {
  readonly name: string;
  /** The rounds of each kind of request. */
  readonly kinds: ReadonlyMap<string, readonly EngineFigures[]>;
}

const embedded = 'embedded';

const stacks: readonly Stack[] = [
  { name: embedded, needs: [], start: async () => ({ settings: {}, engines: [], flush: undefined }) },
  {
    name: 'Postgres + Redis',
    needs: [findPostgres, findRedis],
    start: () =>
      withRedis(async () => {
        const postgres = await startPostgres();
        return { engine: postgres, url: await postgres.freshDatabase() };
      }),
  },
  {
    name: 'DynamoDB Local + Redis',
    needs: [findDynamo, findRedis],
    isSmall: true,
    start: () =>
      withRedis(async () => {
        const dynamo = await startDynamo();
        return { engine: dynamo, url: await dynamo.freshTableUrl() };
      }),
  },
];

async function withRedis(startStore: () => Promise<{ engine: Engine; url: string }>): Promise<Running> {
  const redis = await startRedis();
  try {
    const { engine, url } = await startStore();
    return {
      settings: { TERSE_LINKS: url, TERSE_CACHE: redis.url },
      engines: [engine, redis],
      flush: () => redis.flush(),
    };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

export const engines: Scenario = {
  name: 'engines',
  summary: 'redirects and creates on Postgres, DynamoDB and Redis beside embedded storage',
  isOnRequest: true,
  async run(bench) {
    const results: StackFigures[] = [];
    const leftOut: string[] = [];
    for (const stack of stacks) {
      const { name, needs } = stack;
      const missing = needs.flatMap(find => reasonOf(find()));
      if (missing.length > 0) {
        leftOut.push(`${name} is left out: ${missing.join('; ')}.`);
        continue;
      }
      bench.note(name);
      const running = await stack.start();
      const kinds = new Map<string, readonly EngineFigures[]>();
      results.push({ name, kinds });
      try {
        await bench.inFolder(folder =>
          measureAll(bench, folder, { ...running, isSmall: stack.isSmall ?? false }, kinds),
        );
      } catch (error) {
        // Earlier measurements are still valid.
        const reason = error instanceof Error ? error.message : String(error);
        leftOut.push(`${name} came as far as this: ${reason}.`);
      } finally {
        for (const engine of running.engines) await engine.stop();
      }
    }
    return { tables: [tableOf(results, leftOut)] };
  },
};

const reasonOf = (found: Found<unknown>): string[] => ('reason' in found ? [found.reason] : []);

/** Puts the figures of each kind of request into `kinds` as soon as they are there. */
async function measureAll(
  bench: Bench,
  folder: string,
  running: Running & { readonly isSmall: boolean },
  kinds: Map<string, readonly EngineFigures[]>,
): Promise<void> {
  const { settings, flush, isSmall } = running;
  const terse = {
    dataFolder: join(folder, 'terse'),
    // The table shows that an engine was too slow, and the log would repeat it for every request.
    stderr: Bun.file(join(folder, 'terse.log')),
  };
  const measureKind = async (kind: string, turn: Turn): Promise<void> => {
    bench.note(kind);
    kinds.set(kind, await turnsOf(bench, running, turn));
  };
  const links = await bench.withTerse({ ...terse, env: settings }, async server => {
    const count = bench.options.seconds * (isSmall ? linksPerSecondOfSmall : linksPerSecond);
    bench.note(`${formatCount(count)} links are made`);
    const made = await createLinks(server.url, count);
    const requests = Array.from({ length: creates }, (_, index) =>
      postRequest('/api/v1/links', { longUrl: longUrlAt(index) }, asAdmin),
    );
    const connections = isSmall ? creatorsOfSmall : clients;
    await measureKind('create', { server, requests, connections, isWarmedUp: true });
    await askOnce(server, made);
    await measureKind('redirect, known here', {
      server,
      requests: visitsTo(made, hotLinks),
      connections: clients,
      isWarmedUp: true,
    });
    return made;
  });
  await bench.withTerse({ ...terse, env: { ...settings, ...forgetful } }, async server => {
    await measureKind('redirect, from the store', {
      server,
      requests: visitsTo(links, links.links),
      connections: clients,
      // Not to cache the links, but because a fresh process JIT-compiles its code for as long as a round.
      isWarmedUp: true,
      before: flush,
    });
    if (flush === undefined) return;
    // Links that every round has read from the store are in the shared cache after the last one.
    const visited = Math.min(...kinds.get('redirect, from the store')!.map(({ requests }) => requests));
    await measureKind('redirect, from the shared cache', {
      server,
      requests: visitsTo(links, visited),
      connections: clients,
      isWarmedUp: true,
    });
  });
}

/** Loads the hot links into memory, slowly, because the store may be slow. */
async function askOnce({ url }: LoadedServer, { codeAt }: Links): Promise<void> {
  await inParallel(hotLinks, askingAtOnce, async index => {
    const response = await fetch(`${url}/${codeAt(index)}`, { redirect: 'manual' });
    await response.arrayBuffer();
  });
}

/** Evenly spread, so that a small memory does not help. */
function visitsTo(links: Links, count: number): string[] {
  return Array.from({ length: Math.min(count, links.links) }, (_, index) => visitOf(links.codeAt(index)));
}

interface Turn {
  readonly server: LoadedServer;
  readonly requests: readonly string[];
  readonly connections: number;
  /** Whether the same load runs before the first round. */
  readonly isWarmedUp: boolean;
  /** Done before each round. */
  readonly before?: (() => Promise<void>) | undefined;
}

async function turnsOf(
  { options, load, coresFor }: Bench,
  { engines: all }: Running,
  { server, requests, connections, isWarmedUp, before }: Turn,
): Promise<EngineFigures[]> {
  const cpuMsOf = ({ pid }: Engine): number =>
    (pid === undefined ? undefined : usageOf(pid))?.cpuMs ?? Number.NaN;
  const enginesCpuMs = (): number => all.reduce((sum, engine) => sum + cpuMsOf(engine), 0);
  const plan = { connections, requests, cores: coresFor(1).load };
  if (isWarmedUp) {
    // Ignores failures of an engine that is warming up itself.
    await loadServer(load, server, { ...plan, durationS: warmUpS }).catch(() => {});
  }
  const figures: EngineFigures[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    await before?.();
    const beforeMs = enginesCpuMs();
    const result = await loadServer(load, server, { ...plan, durationS: options.seconds });
    const enginesCpuUs = ((enginesCpuMs() - beforeMs) * 1_000) / result.requests;
    figures.push({ ...result, enginesCpuUs, clients: connections });
  }
  return figures;
}

function tableOf(results: readonly StackFigures[], leftOut: readonly string[]): Table {
  const besideOf = (kind: string): readonly EngineFigures[] | undefined =>
    results.find(({ name }) => name === embedded)?.kinds.get(kind);
  return {
    title: 'Redirects and creates by engine, Terse on one core',
    columns: [
      'engines',
      'what',
      'clients',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'CPU µs of Terse',
      'CPU µs of the engines',
      'rate to embedded',
    ],
    rows: results.flatMap(({ name, kinds }) =>
      [...kinds].map(([kind, turns]) => {
        const beside = name === embedded ? undefined : besideOf(kind);
        return [
          name,
          kind,
          measureOf(turns, 'clients'),
          measureOf(turns, 'perSecond'),
          measureOf(turns, 'p50Ms', 2),
          measureOf(turns, 'p99Ms', 2),
          measureOf(turns, 'cpuUs', 1),
          measureOf(turns, 'enginesCpuUs', 1),
          beside === undefined
            ? measure([])
            : ratio(measureOf(turns, 'perSecond'), measureOf(beside, 'perSecond')),
        ];
      }),
    ),
    notes: [
      'The engines share the cores with Terse and the load, so rates say less than CPU does.',
      'Clicks are recorded. Postgres and Redis write to disk; DynamoDB Local keeps all in memory, and its cost is not that of DynamoDB.',
      ...leftOut,
    ],
  };
}
