/**
 * `terse setup`: creates what the engines of the settings lack, and reports it. A server does the same when it
 * starts, but may not be allowed to; with this an operator does it once, and the server needs no such permission. It is
 * tried once, so that the command reports a problem immediately.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import type { Verdict } from '../base/finding.ts';
import { systemRandom } from '../base/random.ts';
import { RequestError, type SetUpReport } from '../cli/command.ts';
import { archiveGroupOf, clickTopicPlans } from '../clicks/open-kafka.ts';
import { type Config, hasAwsCredentials } from '../config/config.ts';
import { parseKafkaAddress } from '../engines/kafka/address.ts';
import type { TopicPlan } from '../engines/kafka/topics.ts';
import { deadTopicPlan, drainGroupOf, linksTopicPlan } from '../links/queues/kafka/queue.ts';
import { awaitStore } from '../stores/await-store.ts';

/** Longer than brokers take to create a topic, and short enough to wait for. */
const topicMaxMs = 10_000;

type StoreConfig = Pick<Config, 'links' | 'data'> & Partial<Pick<Config, 'auditDays'>>;
type StatsConfig = Pick<Config, 'stats' | 'clickDays'>;

/** An engine whose address was parsed. */
interface OpenedStore {
  readonly name: string;
  /** Adds a line to `done` for everything it has created. */
  makeAll(done: string[]): Promise<unknown>;
  /** Reports what existed before. */
  look?(): Promise<Pick<SetUpReport, 'found' | 'differences' | 'failures'>>;
  /** What to do about an error of the engine, where that is known. */
  adviceFor?(error: unknown): string | undefined;
  close(): Promise<void> | void;
}

/** One after the other, so that what was made is reported even when the next one is unavailable. */
export async function* setUp(config: StoreConfig & StatsConfig & StreamConfig): AsyncGenerator<SetUpReport> {
  yield* setUpStore(config);
  // Before the statistics, which are filled from there.
  if (config.stream !== 'embedded') yield* makeAllOf(() => openStream(config));
  if (config.stats !== 'sqlite') yield* makeAllOf(() => openStats(config));
}

export async function* setUpStore(
  { links, data, auditDays }: StoreConfig,
  clock: Clock = systemClock,
): AsyncGenerator<SetUpReport> {
  if (links === 'memory') yield { store: 'the store in memory', done: [] };
  // An embedded database is one file, which the server is allowed to make.
  else if (links === 'sqlite') yield { store: `the embedded store in ${data}`, done: [] };
  else yield* makeAllOf(() => openStore(links, auditDays, clock));
}

/** When a step fails, what was made before it is reported first. */
async function* makeAllOf(open: () => Promise<OpenedStore>): AsyncGenerator<SetUpReport> {
  const done: string[] = [];
  let store: OpenedStore | undefined;
  try {
    store = await open();
    const { name } = store;
    await awaitStore(() => store!.makeAll(done), {
      clock: systemClock,
      random: systemRandom,
      name,
      waitMaxMs: 0,
    });
    yield { store: name, done, ...(await store.look?.()) };
  } catch (error) {
    if (store !== undefined && done.length > 0) yield { store: store.name, done, isIncomplete: true };
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    const advice = store?.adviceFor?.(error);
    throw new RequestError(advice === undefined ? line : `${line}\n${advice}`);
  } finally {
    await store?.close();
  }
}

async function openStore(url: string, auditDays: number | undefined, clock: Clock): Promise<OpenedStore> {
  if (url.startsWith('dynamodb:')) {
    const { dynamoName } = await import('../stores/dynamodb.ts');
    const { openDynamo } = await import('../engines/dynamodb/dynamodb.ts');
    const dynamo = openDynamo(url, { clock, random: systemRandom, hasCredentials: hasAwsCredentials() });
    const makeAll = async (done: string[]): Promise<void> => {
      await dynamo.ensureTable(done);
      const { importAllReviews, importFormerItems } = await import('../stores/former-items.ts');
      const { createDynamoRecords } = await import('../records/drivers/dynamodb.ts');
      const records = createDynamoRecords(dynamo, clock);
      await importFormerItems(records, dynamo, auditDays);
      const reviews = await importAllReviews(records, dynamo);
      if (reviews > 0) done.push(`imported ${reviews} decided reviews of an earlier version`);
    };
    return { name: dynamoName(url), makeAll, close: () => dynamo.close() };
  }
  const { postgresMigrations } = await import('../stores/postgres.ts');
  const { openPostgres } = await import('../engines/postgres/postgres.ts');
  const { runMigrations } = await import('../engines/postgres/migrations.ts');
  const { refusalAdvice } = await import('../engines/postgres/doctor.ts');
  const { parseAddress } = await import('../engines/postgres/address.ts');
  const postgres = openPostgres(url, { clock });
  return {
    name: `Postgres at ${postgres.place}`,
    makeAll: done => runMigrations(postgres, postgresMigrations, done),
    adviceFor: error => refusalAdvice(error, parseAddress(url).connectionString),
    close: () => postgres.close(),
  };
}

async function openStream(config: StreamConfig): Promise<OpenedStore> {
  const { parseKafkaAddress } = await import('../engines/kafka/address.ts');
  const { ensureTopic } = await import('../engines/kafka/topics.ts');
  const { compareTopics, refusalAdvice } = await import('../engines/kafka/doctor.ts');
  const address = parseKafkaAddress(config.stream);
  const plans = kafkaTopicPlans(config);
  const made = new Set<string>();
  let failure: unknown;
  return {
    name: `Kafka at ${address.servers.join(',')}/${address.topic}`,
    async makeAll(done) {
      for (const plan of plans) {
        const isNew = await ensureTopic(address, plan, systemClock, topicMaxMs).catch(error => {
          failure = error;
          // Its causes are the client's own messages.
          throw new Error(error.message);
        });
        if (!isNew) continue;
        made.add(plan.topic);
        const count = plan.partitions === 1 ? '1 partition' : `${plan.partitions} partitions`;
        done.push(`made the topic ${plan.topic} with ${count}`);
      }
    },
    async look() {
      const findings = await compareTopics(address, plans, systemClock);
      const found = findings.flatMap(({ verdict, topic, detail }) =>
        verdict === 'ok' && topic !== undefined && !made.has(topic) ? [`the topic ${detail}`] : [],
      );
      const linesOf = (wanted: Verdict): string[] =>
        findings.flatMap(({ verdict, detail, fix }) => (verdict === wanted ? [`${detail}: ${fix}`] : []));
      return { found, differences: linesOf('warn'), failures: linesOf('fail') };
    },
    adviceFor: () => refusalAdvice(failure, address),
    close() {
      // Each call has its own connection.
    },
  };
}

async function openStats({ stats, clickDays }: StatsConfig): Promise<OpenedStore> {
  const { parseAddress } = await import('../engines/clickhouse/address.ts');
  const { ClickHouse } = await import('../engines/clickhouse/clickhouse.ts');
  const { runMigrations } = await import('../engines/clickhouse/migrations.ts');
  const { warehouseMigrations } = await import('../clicks/warehouses/clickhouse/schema.ts');
  const { createClickHouseWarehouse } = await import('../clicks/warehouses/clickhouse/warehouse.ts');
  const address = parseAddress(stats);
  const clickHouse = new ClickHouse({ address, clock: systemClock });
  return {
    name: `ClickHouse at ${address.place}`,
    async makeAll(done) {
      await runMigrations(clickHouse, warehouseMigrations, done);
      // The retention of single clicks is part of their table.
      await createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays }).ready();
    },
    close() {
      // Nothing is kept open.
    },
  };
}

export type StreamConfig = Pick<Config, 'stream' | 'clicks' | 'clickDays' | 'writes' | 'archive'>;

export function kafkaTopicPlans({ stream, clicks, clickDays, writes }: StreamConfig): TopicPlan[] {
  const address = parseKafkaAddress(stream);
  return [
    ...(clicks ? clickTopicPlans(address, clickDays) : []),
    ...(writes === 'queued' ? [linksTopicPlan(address), deadTopicPlan(address)] : []),
  ];
}

/** The consumer groups under which processes share partitions. */
export function kafkaGroups({ stream, clicks, writes, archive }: StreamConfig): string[] {
  const address = parseKafkaAddress(stream);
  return [
    ...(clicks ? [address.group] : []),
    ...(clicks && archive !== undefined ? [archiveGroupOf(address)] : []),
    ...(writes === 'queued' ? [drainGroupOf(address)] : []),
  ];
}
