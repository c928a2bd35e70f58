/**
 * The engines that start slowly, one server of each for a whole run; test files find their addresses in variables.
 * Tests drop their tables in DynamoDB Local, which becomes slower with every table.
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
    // A run creates hundreds of databases, none of which is used for long: vacuuming them would only cost time.
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

/** Leaves out engines whose address is given and unavailable ones; tests that need the latter say why. */
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
