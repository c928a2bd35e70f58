/**
 * The installation of a chaos run: exclusive engines, and several Terse processes behind fixed addresses. Each process
 * reaches the store, Redis and the warehouse through separate network links, its clients reach it through another one,
 * and its wall clock can be set if libfaketime is available.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClickHouseEngine, startClickHouse } from '../kit/engines/clickhouse.ts';
import { startDynamo } from '../kit/engines/dynamodb.ts';
import { type Engine, engineFolder, removeEngineFolder } from '../kit/engines/engine-process.ts';
import { faketimeEnvironment, findFaketime } from '../kit/engines/faketime-programs.ts';
import { type KafkaEngine, startKafka } from '../kit/engines/kafka.ts';
import { startPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { tellWatchdog } from '../kit/engines/watchdog.ts';
import { type NetworkLink, startNetworkLink } from '../kit/network-link.ts';
import { EngineRoute, placeIn } from '../kit/outage-fleet.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';

/** `postgres-queued`: the same engines as `postgres`, with queued writes. */
export const engineSets = ['postgres', 'postgres-queued', 'dynamodb'] as const;
export type EngineSet = (typeof engineSets)[number];

/** Engines of an installation by role. */
export interface Engines {
  readonly store: Engine;
  readonly redis: Engine;
  readonly stream?: Engine;
  readonly stats?: Engine;
}

/** How long a killed link may work at an isolated process; short, so that runs reach its end. */
export const isolatedMs = 8_000;

interface Addresses {
  readonly TERSE_LINKS: string;
  readonly TERSE_CACHE: string;
  readonly TERSE_STREAM?: string;
  readonly TERSE_STATS?: string;
  readonly TERSE_WRITES?: string;
}

type Part = 'store' | 'redis' | 'stats';

/** One Terse process with the faults that can be injected. */
export class Member {
  readonly url: string;
  readonly #clients: EngineRoute;
  readonly #clientLink: NetworkLink;
  readonly #routes: ReadonlyMap<Part, EngineRoute>;
  readonly #start: () => Promise<TerseProcess>;
  readonly #folder: string;
  #terse: TerseProcess | undefined;

  private constructor(
    clientLink: NetworkLink,
    routes: ReadonlyMap<Part, EngineRoute>,
    start: () => Promise<TerseProcess>,
    folder: string,
  ) {
    this.url = `http://${clientLink.address}`;
    this.#clientLink = clientLink;
    this.#clients = new EngineRoute(clientLink);
    this.#routes = routes;
    this.#start = start;
    this.#folder = folder;
  }

  /** `folder` is its own, whether its data are there or in another. */
  static async start(folder: string, dataFolder: string, log: string, addresses: Addresses): Promise<Member> {
    const env: Record<string, string> = { ...addresses };
    const routes = new Map<Part, EngineRoute>();
    for (const [part, name] of [
      ['store', 'TERSE_LINKS'],
      ['redis', 'TERSE_CACHE'],
      ['stats', 'TERSE_STATS'],
    ] as const) {
      const address = env[name];
      if (address === undefined) continue;
      const link = await startNetworkLink(placeIn(address));
      env[name] = address.replace(placeIn(address), link.address);
      routes.set(part, new EngineRoute(link));
    }
    const faketime = findFaketime();
    let starts = 0;
    const start = (): Promise<TerseProcess> => {
      starts += 1;
      return startTerseProcess({
        dataFolder,
        env: {
          ...env,
          ...('thing' in faketime && faketimeEnvironment(faketime.thing, clockIn(folder))),
          TERSE_STALE_IF_ISOLATED_S: String(isolatedMs / 1_000),
          TERSE_LOG_LEVEL: 'warn',
        },
        stderr: Bun.file(`${log}-${starts}.log`),
      });
    };
    // Nothing listens at the other end yet: no client comes before the process is started.
    const member = new Member(await startNetworkLink('127.0.0.1:1'), routes, start, folder);
    member.setClock(0);
    await member.restart();
    return member;
  }

  async kill(): Promise<void> {
    await this.#terse?.kill();
    this.#forget();
  }

  /** Ends it as an operator does. */
  async shutDown(): Promise<void> {
    await this.#terse?.stop();
    this.#forget();
  }

  async restart(): Promise<void> {
    this.#terse = await this.#start();
    tellWatchdog({ folder: this.#folder, pid: this.#terse.pid });
    this.#clientLink.leadTo(placeIn(this.#terse.url));
  }

  pause(): void {
    if (this.#terse !== undefined) process.kill(this.#terse.pid, 'SIGSTOP');
  }

  resume(): void {
    if (this.#terse !== undefined) process.kill(this.#terse.pid, 'SIGCONT');
  }

  /** Sets its wall clock to this much later than ours. */
  setClock(skewMs: number): void {
    const seconds = Math.round(skewMs / 1_000);
    writeFileSync(clockIn(this.#folder), `${seconds < 0 ? '' : '+'}${seconds}`);
  }

  routeTo(part: Part | 'clients'): EngineRoute {
    return part === 'clients' ? this.#clients : this.#routes.get(part)!;
  }

  async stop(): Promise<void> {
    this.resume();
    await this.shutDown();
    await Promise.all([this.#clientLink.stop(), ...[...this.#routes.values()].map(route => route.stop())]);
  }

  #forget(): void {
    this.#terse = undefined;
    tellWatchdog({ folder: this.#folder });
  }
}

const clockIn = (folder: string): string => join(folder, 'clock');

export interface Installation {
  readonly engines: Engines;
  readonly members: readonly Member[];
  /** Why clocks cannot be set, if they cannot. */
  readonly noClocks: string | undefined;
  stop(): Promise<void>;
}

/** Logs of the processes go into `folder`. */
export async function startInstallation(
  set: EngineSet,
  count: number,
  folder: string,
): Promise<Installation> {
  mkdirSync(folder, { recursive: true });
  const { engines, addresses } =
    set === 'dynamodb' ? await startDynamoSet() : await startPostgresSet(set === 'postgres-queued');
  const folders = Array.from({ length: count }, () => engineFolder('terse'));
  const members: Member[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(members.map(member => member.stop()));
    await Promise.all(Object.values(engines).map((engine: Engine) => engine.stop()));
    for (const each of folders) removeEngineFolder(each);
  };
  try {
    // One after the other: the first migrates the store.
    for (const [index, own] of folders.entries()) {
      // With Kafka each process is on a separate machine; without it all are on one machine.
      const dataFolder = join(set === 'dynamodb' ? folders[0]! : own, 'data');
      members.push(await Member.start(own, dataFolder, join(folder, `terse-${index}`), addresses));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const faketime = findFaketime();
  return { engines, members, noClocks: 'reason' in faketime ? faketime.reason : undefined, stop };
}

interface Started {
  readonly engines: Engines;
  readonly addresses: Addresses;
}

/** Without persistence, so that a killed Redis comes back empty. */
const forgetful = { settings: { appendonly: 'no' } };

async function startPostgresSet(isQueued: boolean): Promise<Started> {
  const [postgres, redis, kafka, clickHouse] = await startAll([
    startPostgres,
    // With persistence, because a queued link that Redis has lost may be unknown for a while, as documented.
    () => startRedis(isQueued ? {} : forgetful),
    startKafka,
    startClickHouse,
  ] as const);
  return {
    engines: { store: postgres, redis, stream: kafka, stats: clickHouse },
    addresses: {
      TERSE_LINKS: await postgres.freshDatabase(),
      TERSE_CACHE: (redis as RedisEngine).url,
      TERSE_STREAM: (kafka as KafkaEngine).freshTopicUrl(),
      TERSE_STATS: (clickHouse as ClickHouseEngine).freshDatabaseUrl(),
      TERSE_WRITES: isQueued ? 'queued' : 'direct',
    },
  };
}

async function startDynamoSet(): Promise<Started> {
  const [dynamo, redis] = await startAll([() => startDynamo(), () => startRedis(forgetful)] as const);
  return {
    engines: { store: dynamo, redis },
    addresses: { TERSE_LINKS: dynamo.freshTableUrl(), TERSE_CACHE: redis.url },
  };
}

/** In order; those that were started are stopped when a later one does not start. */
async function startAll<const Starts extends readonly (() => Promise<Engine>)[]>(
  starts: Starts,
): Promise<{ -readonly [Index in keyof Starts]: Awaited<ReturnType<Starts[Index]>> }> {
  const started: Engine[] = [];
  try {
    for (const start of starts) started.push(await start());
  } catch (error) {
    await Promise.all(started.map(engine => engine.stop()));
    throw error;
  }
  return started as { -readonly [Index in keyof Starts]: Awaited<ReturnType<Starts[Index]>> };
}
