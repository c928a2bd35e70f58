/**
 * The engines that start slowly, one server of each for a whole run; test files find them by their variables. They
 * drop their tables in DynamoDB Local, which becomes slower with every table that it holds.
 */
import { startClickHouse } from './clickhouse.ts';
import { whyNot } from './describe-with-engine.ts';
import { startDynamo } from './dynamodb.ts';
import { startKafka } from './kafka.ts';
import { startPostgres } from './postgres.ts';

export interface RunEngines {
  /** Variables that name the addresses. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

interface RunningEngine {
  readonly address: string;
  stop(): Promise<void>;
}

const at = (address: string, engine: { stop(): Promise<void> }): RunningEngine => ({
  address,
  stop: () => engine.stop(),
});

const starts = {
  postgres: async () => {
    // Hundreds of databases are made and left in a run, and none is used for long: cleaning them up in turn only costs.
    const engine = await startPostgres({ fsync: false, settings: { autovacuum: 'off' } });
    return at(engine.url, engine);
  },
  dynamodb: async () => {
    const engine = await startDynamo({ inMemory: true });
    return at(engine.endpoint, engine);
  },
  kafka: async () => {
    const engine = await startKafka();
    return at(`kafka://${engine.address}`, engine);
  },
  clickhouse: async () => {
    const engine = await startClickHouse({ inMemory: true });
    return at(engine.endpoint.replace('http:', 'clickhouse:'), engine);
  },
} as const satisfies Record<string, () => Promise<RunningEngine>>;

/** Leaves out what is given already and what is unavailable; a test that needs the latter says why. */
export async function startRunEngines(given: NodeJS.ProcessEnv): Promise<RunEngines> {
  const names = (Object.keys(starts) as (keyof typeof starts)[]).filter(
    name => given[variableOf(name)] === undefined && whyNot(name) === undefined,
  );
  const running = await Promise.all(
    names.map(async name => ({ variable: variableOf(name), engine: await starts[name]() })),
  );
  return {
    env: Object.fromEntries(running.map(({ variable, engine }) => [variable, engine.address])),
    async stop() {
      await Promise.all(running.map(({ engine }) => engine.stop()));
    },
  };
}

const variableOf = (name: keyof typeof starts): string => `TERSE_TEST_${name.toUpperCase()}`;
