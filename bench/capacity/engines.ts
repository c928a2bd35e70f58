/** The engines that Terse runs on. */
import type { Assumptions } from './assumptions.ts';
import { type Context, cpu, disk, gb, many, single } from './demands.ts';
import type { Demand, Part } from './parts.ts';
import type { StoredSizes } from './stored-sizes.ts';

export function redisServers(context: Context, { sharedCache }: StoredSizes): Part {
  const { assumptions, figures, shared, store } = context;
  const { redisGb, fullMax } = assumptions;
  return {
    name: 'shared cache',
    unit: `Redis primary of ${redisGb} GB`,
    unitsMin: 3,
    ...many,
    copies: 2,
    coresPerUnit: 2,
    demands: ({ redirectsPerS, changesPerS }) => [
      { resource: 'memory', amount: sharedCache / gb, perUnit: redisGb, measure: 'GB', useMax: fullMax },
      // Redis uses one thread.
      cpu(
        context,
        redirectsPerS * ((shared + store) * figures.redisGetUs + store * figures.redisFillUs) +
          changesPerS * figures.redisFillUs,
        1,
      ),
    ],
  };
}

/** The rate of new links that reach the store: a queue limits it. */
const storedPerS = ({ writes, drainPerS }: Assumptions, createsPerS: number): number =>
  writes === 'queued' ? Math.min(createsPerS, drainPerS) : createsPerS;

export function postgresServer(context: Context, processes: number): Part {
  const { assumptions, figures, store } = context;
  const { storeCores, storeTb, storeIops, pool, urlBytes, busyMax, fullMax } = assumptions;
  return {
    name: 'link store',
    unit: `Postgres primary of ${storeCores} cores`,
    ...single,
    copies: 2,
    coresPerUnit: storeCores,
    demands: ({ redirectsPerS, createsPerS, changesPerS, linksKept }) => {
      const reads = redirectsPerS * store;
      const writes = storedPerS(assumptions, createsPerS) + changesPerS;
      return [
        cpu(context, reads * figures.postgresReadUs + writes * figures.postgresCreateUs, storeCores),
        {
          resource: 'pages of its disk',
          amount: reads * figures.postgresReadPages + writes * figures.postgresCreatePages,
          perUnit: storeIops,
          measure: 'a second',
          useMax: busyMax,
        },
        disk(context, linksKept * (figures.postgresLinkBytes + urlBytes), storeTb),
        {
          resource: 'connections',
          amount: processes * pool,
          perUnit: figures.postgresConnections,
          measure: 'connections',
          useMax: fullMax,
        },
      ];
    },
  };
}

export function dynamoTable({ assumptions, figures, store }: Context, processes: number): Part {
  const units = (resource: string, amount: number): Demand => ({
    resource,
    amount,
    perUnit: figures.tableQuotaUnits,
    measure: 'a second',
    useMax: 1,
  });
  return {
    name: 'link store',
    unit: 'DynamoDB table with the usual quota',
    ...single,
    demands: ({ redirectsPerS, createsPerS, changesPerS }) => [
      units(
        'WCU',
        storedPerS(assumptions, createsPerS) * figures.createWcu + changesPerS * figures.changeWcu,
      ),
      units('RCU', redirectsPerS * store * figures.readRcu + processes * figures.pollRcu),
    ],
  };
}

export function brokers(context: Context, { stream }: StoredSizes, clickBytes: number): Part {
  const { replication, brokerTb, brokerMbPerS, busyMax, urlBytes, writes } = context.assumptions;
  const queuedBytes = writes === 'queued' ? context.figures.queuedLinkBytes + urlBytes : 0;
  return {
    name: 'stream',
    unit: `Kafka broker with ${brokerTb} TB`,
    unitsMin: Math.max(3, replication),
    ...many,
    coresPerUnit: 8,
    demands: ({ redirectsPerS, createsPerS }) => [
      {
        resource: 'writing',
        amount: ((redirectsPerS * clickBytes + createsPerS * queuedBytes) * replication) / 1e6,
        perUnit: brokerMbPerS,
        measure: 'MB/s',
        useMax: busyMax,
      },
      disk(context, stream * replication, brokerTb),
    ],
  };
}

/** This version supports one server address. */
export function clickhouseServer(context: Context, { rawClicks, counts }: StoredSizes): Part {
  const { assumptions, figures } = context;
  return {
    name: 'statistics',
    unit: `ClickHouse server of ${assumptions.storeCores} cores`,
    ...single,
    coresPerUnit: assumptions.storeCores,
    demands: ({ redirectsPerS }) => [
      cpu(context, redirectsPerS * figures.clickhouseUs, assumptions.storeCores),
      disk(context, rawClicks + counts, assumptions.storeTb),
    ],
  };
}
