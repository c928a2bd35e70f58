/**
 * The whole path of a click, with a separate process per stage whose CPU time can be read: one that redirects and
 * answers, Kafka, one that counts, ClickHouse. They share the given cores, like stages on one machine.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import {
  type ClickHouseWarehouse,
  createClickHouseWarehouse,
} from '../../src/clicks/warehouses/clickhouse/warehouse.ts';
import type { ClickHouse } from '../../src/engines/clickhouse/clickhouse.ts';
import { startClickHouse } from '../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../test/kit/engines/clickhouse-client.ts';
import type { Engine } from '../../test/kit/engines/engine-process.ts';
import { type KafkaEngine, startKafka } from '../../test/kit/engines/kafka.ts';
import { metricOf } from '../../test/kit/follow.ts';
import { startTerseProcess, type TerseProcess } from '../../test/kit/terse-process.ts';
import { boundTo, type Cores } from './cores.ts';
import { usageOf } from './process-usage.ts';
import { workerCpuMs } from './thread-usage.ts';

export const stages = ['redirect', 'enriching', 'Kafka', 'counting', 'ClickHouse'] as const;
export type Stage = (typeof stages)[number];

export interface Pipeline {
  /** The address of the process that redirects and answers. */
  readonly url: string;
  readonly clickHouse: ClickHouse;
  /** Clicks that were recorded, dropped since the start, and counted. */
  recorded(): Promise<number>;
  dropped(): Promise<number>;
  counted(): Promise<number>;
  /** The CPU time of each stage so far. */
  cpuMs(): Readonly<Record<Stage, number>>;
  /** The size of the messages in Kafka. */
  kafkaBytes(): number;
}

export interface PipelineOptions {
  /** The data folder of the process that redirects, with its links. */
  readonly dataFolder: string;
  readonly countingFolder: string;
  readonly partitions: number;
  readonly cores: Cores;
}

const clickDays = 3_650;
const dropReasons = ['buffer-full', 'memory-full', 'spill-full'] as const;

/** Runs `work` with all of it and ends it afterwards. */
export async function withPipeline<Result>(
  { dataFolder, countingFolder, partitions, cores }: PipelineOptions,
  work: (pipeline: Pipeline) => Promise<Result>,
): Promise<Result> {
  const ends: (() => Promise<unknown>)[] = [];
  const ending = <Stoppable extends { stop(): Promise<unknown> }>(started: Stoppable): Stoppable => {
    ends.unshift(() => started.stop());
    return started;
  };
  const start = async (folder: string, env: Readonly<Record<string, string>>): Promise<TerseProcess> =>
    ending(
      await startTerseProcess({ dataFolder: folder, env, wrap: command => boundTo(cores.server, command) }),
    );
  try {
    const kafka = ending(await startKafka());
    const engine = ending(await startClickHouse());
    for (const { pid } of [kafka, engine]) bind(pid!, cores);
    const streamUrl = kafka.freshTopicUrl({ partitions });
    const statsUrl = engine.freshDatabaseUrl();
    const env = { TERSE_STREAM: streamUrl, TERSE_STATS: statsUrl, TERSE_TRUSTED_PROXIES: '127.0.0.1' };
    const serving = await start(dataFolder, { ...env, TERSE_ROLES: 'redirect,api' });
    const counting = await start(countingFolder, { ...env, TERSE_ROLES: 'worker' });
    const clickHouse = patientClickHouse(statsUrl);
    const warehouse = createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays });
    return await work({
      url: serving.url,
      clickHouse,
      recorded: () => metricOf(serving.url, 'terse_clicks_recorded_total'),
      dropped: () => droppedAt(serving.url),
      counted: () => countedIn(warehouse),
      cpuMs: () => cpuOf(serving, counting, kafka, engine),
      kafkaBytes: () => bytesIn(kafka, new URL(streamUrl).pathname.slice(1)),
    });
  } finally {
    for (const end of ends) await end();
  }
}

/** Binds an engine, which was started unbound, to the cores of the server; later threads inherit that. */
function bind(pid: number, { server, areShared }: Cores): void {
  if (areShared || server.length === 0) return;
  Bun.spawnSync(['taskset', '--all-tasks', '--cpu-list', '--pid', server.join(','), String(pid)]);
}

async function droppedAt(url: string): Promise<number> {
  const counts = dropReasons.map(reason => metricOf(url, `terse_clicks_dropped_total{reason="${reason}"}`));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

async function countedIn(warehouse: ClickHouseWarehouse): Promise<number> {
  const ledger = await warehouse.ledger(0, Number.MAX_SAFE_INTEGER);
  return ledger.reduce((sum, { counted }) => sum + counted, 0);
}

/** NaN where the system does not report it. */
function cpuOf(
  serving: TerseProcess,
  counting: TerseProcess,
  kafka: Engine,
  clickHouse: Engine,
): Record<Stage, number> {
  const of = (pid: number): number => usageOf(pid)?.cpuMs ?? Number.NaN;
  const threadsMs = [...workerCpuMs(serving.pid).values()].reduce((sum, cpuMs) => sum + cpuMs, 0);
  return {
    redirect: of(serving.pid) - threadsMs,
    enriching: threadsMs,
    Kafka: of(kafka.pid!),
    counting: of(counting.pid),
    ClickHouse: of(clickHouse.pid!),
  };
}

/** Counts messages only: indexes are preallocated. */
function bytesIn({ folder }: KafkaEngine, topic: string): number {
  return readdirSync(folder)
    .filter(name => name.startsWith(`${topic}-`) && /-\d+$/.test(name))
    .flatMap(name => readdirSync(join(folder, name)).map(file => join(folder, name, file)))
    .filter(path => path.endsWith('.log'))
    .reduce((sum, path) => sum + statSync(path).size, 0);
}
