/**
 * Tests that need a real engine. Where it is unavailable they are skipped, and their title says why; when
 * TERSE_TEST_REQUIRE names the engine, in a comma list of the names below, they fail instead. The same holds for other
 * things that a machine may lack.
 */
import { afterAll, describe, test } from 'bun:test';
import { findClickHouse } from './clickhouse-programs.ts';
import { dropGivenTables } from './dynamodb.ts';
import { findDynamo } from './dynamodb-programs.ts';
import type { Found } from './found.ts';
import { findHaproxy } from './haproxy-programs.ts';
import { findKafka } from './kafka-programs.ts';
import { findNginxEdge } from './nginx-programs.ts';
import { findPostgres } from './postgres-programs.ts';
import { findPrometheus } from './prometheus-programs.ts';
import { findRedis } from './redis-programs.ts';
import { findS3 } from './s3-programs.ts';
import { findVarnish } from './varnish-programs.ts';

interface Provision {
  /** The variable with the address of a shared engine; absent for programs that each test configures itself. */
  readonly variable?: string;
  find(): Found<unknown>;
}

const provisions = {
  postgres: { variable: 'TERSE_TEST_POSTGRES', find: findPostgres },
  redis: { variable: 'TERSE_TEST_REDIS', find: findRedis },
  'redis-cluster': { variable: 'TERSE_TEST_REDIS_CLUSTER', find: findRedis },
  dynamodb: { variable: 'TERSE_TEST_DYNAMODB', find: findDynamo },
  clickhouse: { variable: 'TERSE_TEST_CLICKHOUSE', find: findClickHouse },
  kafka: { variable: 'TERSE_TEST_KAFKA', find: findKafka },
  s3: { variable: 'TERSE_TEST_S3', find: findS3 },
  nginx: { find: findNginxEdge },
  varnish: { find: findVarnish },
  haproxy: { find: findHaproxy },
  prometheus: { variable: 'TERSE_TEST_PROMETHEUS', find: findPrometheus },
} satisfies Record<string, Provision>;

export type EngineName = keyof typeof provisions;
/** What TERSE_TEST_REQUIRE may name: an engine, a browser, the vectors of test/foreign. */
type Requirable = EngineName | 'chromium' | 'llhttp';

export interface EngineNeed {
  /** The tests pause or kill it, so an engine at a given address cannot be used. */
  readonly own?: boolean;
}

/**
 * `describe` when the engine is available. This may download it first, once. It does not wait for promises, because
 * tests must be listed before their file has been read to its end.
 */
export function describeWithEngine(
  engine: EngineName,
  title: string,
  body: () => void,
  need: EngineNeed = {},
): void {
  describeUnless(whyNot(engine, need), engine, title, () => {
    body();
    // Registered here, so that it runs after the tests have closed what they opened.
    if (engine === 'dynamodb') afterAll(dropGivenTables);
  });
}

/** `describe` without a `reason`; with one, the tests are skipped, or fail if `need` is required. */
export function describeUnless(
  reason: string | undefined,
  need: Requirable,
  title: string,
  body: () => void,
): void {
  if (reason === undefined) describe(title, body);
  else if (isRequired(need)) failing(title, reason);
  else describe.skip(`${title} (${reason})`, body);
}

/** Undefined when the engine is available. */
export function whyNot(engine: EngineName, { own = false }: EngineNeed = {}): string | undefined {
  const { variable, find }: Provision = provisions[engine];
  if (!own && variable !== undefined && process.env[variable] !== undefined) return undefined;
  const found = find();
  return 'reason' in found ? found.reason : undefined;
}

export function isRequired(need: Requirable): boolean {
  return (process.env.TERSE_TEST_REQUIRE ?? '').split(',').includes(need);
}

function failing(title: string, reason: string): void {
  describe(title, () => {
    test('has what it needs', () => {
      throw new Error(reason);
    });
  });
}
