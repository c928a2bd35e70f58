/**
 * Real Kafka for tests, without ZooKeeper: one broker that a whole test process shares, with a topic per caller, and
 * exclusive ones that a test can pause, kill and restart, alone or as three that replicate. A test broker is also a
 * controller. It starts already formatted: the file that names its cluster and its node is written here.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Admin } from '@platformatic/kafka';
import { until } from '../until.ts';
import { type Engine, EngineProcess, engineFolder, onFreePorts } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findKafka } from './kafka-programs.ts';
import { type Revivable, shareEngine } from './shared-engine.ts';

export interface SharedKafka extends Revivable {
  /** The address of a topic that does not exist yet, such as `kafka://127.0.0.1:9092/test-…?partitions=4`. */
  freshTopicUrl(options?: TopicOptions): string;
}

export interface TopicOptions {
  readonly partitions?: number;
}

export interface KafkaBroker extends Engine {
  /** Such as `127.0.0.1:9092`. */
  readonly address: string;
  /** Where its messages are, a folder for each partition. */
  readonly folder: string;
}

export interface KafkaEngine extends KafkaBroker, SharedKafka {}

export interface KafkaClusterEngine extends SharedKafka {
  readonly brokers: readonly KafkaBroker[];
  /** Returns when every broker that runs sees all that run, and each of a topic's partitions has all of them in sync. */
  untilHealthy(topic?: string): Promise<void>;
  stop(): Promise<void>;
}

export interface KafkaOptions {
  /** Settings of the broker, by Kafka's names. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Additional ports by protocol, such as `{ SASL_PLAINTEXT: 9093 }`. */
  readonly listeners?: Readonly<Record<string, number>>;
}

const clusterSize = 3;
/** Long, because starting three brokers at once is slow on a small machine. */
const startMaxMs = 150_000;
const healthyMaxMs = 120_000;
const healthyPauseMs = 100;
const partitionsDefault = 4;

/**
 * One per test process, or the brokers that TERSE_TEST_KAFKA names (`kafka://host:port,host:port`). No test may stop
 * it.
 */
export const sharedKafka = shareEngine(async (): Promise<SharedKafka> => {
  const given = process.env.TERSE_TEST_KAFKA;
  if (given === undefined) return startKafka();
  const servers = given.replace(/^kafka:\/\//, '').replace(/\/.*$/, '');
  return { freshTopicUrl: options => topicUrl(servers, 1, options) };
});

/** An exclusive one, which the caller stops. */
export function startKafka(options: KafkaOptions = {}): Promise<KafkaEngine> {
  return onFreePorts(2, async ports => {
    const broker = new BrokerProcess(1, nodesOn(ports), options);
    try {
      await broker.start();
      return broker;
    } catch (error) {
      await broker.stop();
      throw error;
    }
  });
}

/** Three brokers, any two of which suffice: topics are replicated to all and written to at least two. */
export function startKafkaCluster(options: KafkaOptions = {}): Promise<KafkaClusterEngine> {
  return onFreePorts(2 * clusterSize, async ports => {
    const cluster = new KafkaCluster(nodesOn(ports), options);
    try {
      await cluster.revive();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  });
}

interface Node {
  readonly id: number;
  readonly port: number;
  readonly controllerPort: number;
}

function nodesOn(ports: readonly number[]): Node[] {
  return Array.from({ length: ports.length / 2 }, (_, index) => ({
    id: index + 1,
    port: ports[2 * index]!,
    controllerPort: ports[2 * index + 1]!,
  }));
}

class BrokerProcess extends EngineProcess implements KafkaEngine {
  readonly address: string;
  readonly folder: string;

  constructor(id: number, nodes: readonly Node[], { settings = {}, listeners = {} }: KafkaOptions) {
    const folder = engineFolder('kafka');
    const { port, controllerPort } = nodes.find(node => node.id === id)!;
    const data = join(folder, 'data');
    mkdirSync(data);
    writeFileSync(join(data, 'meta.properties'), lines(formatOf(id, nodes)));
    const replicas = String(nodes.length);
    const extra = Object.keys(listeners).map(protocol => `${protocol}:${protocol}`);
    const listenAddresses = Object.entries({ PLAINTEXT: port, ...listeners })
      .map(([protocol, each]) => `${protocol}://127.0.0.1:${each}`)
      .join(',');
    const properties = {
      'process.roles': 'broker,controller',
      'node.id': String(id),
      'controller.quorum.voters': nodes.map(node => `${node.id}@127.0.0.1:${node.controllerPort}`).join(','),
      listeners: `${listenAddresses},CONTROLLER://127.0.0.1:${controllerPort}`,
      'advertised.listeners': listenAddresses,
      'controller.listener.names': 'CONTROLLER',
      'listener.security.protocol.map': ['CONTROLLER:PLAINTEXT', 'PLAINTEXT:PLAINTEXT', ...extra].join(','),
      'log.dirs': data,
      'auto.create.topics.enable': 'false',
      'offsets.topic.replication.factor': replicas,
      'offsets.topic.num.partitions': '4',
      'transaction.state.log.replication.factor': replicas,
      'transaction.state.log.min.isr': '1',
      'min.insync.replicas': nodes.length === 1 ? '1' : '2',
      // Small and quick: few threads, little memory, short waits.
      'num.network.threads': '2',
      'num.io.threads': '4',
      'log.cleaner.dedupe.buffer.size': '4194304',
      'group.initial.rebalance.delay.ms': '0',
      'group.min.session.timeout.ms': '1000',
      // A dead broker is replaced within seconds, but not one that a busy machine slows down.
      'broker.session.timeout.ms': '6000',
      'broker.heartbeat.interval.ms': '1000',
      'controller.quorum.fetch.timeout.ms': '6000',
      'controller.quorum.election.timeout.ms': '3000',
      'replica.lag.time.max.ms': '6000',
      ...settings,
    };
    const path = join(folder, 'broker.properties');
    writeFileSync(path, lines(properties));
    const address = `127.0.0.1:${port}`;
    super(folder, {
      name: 'Kafka',
      command: [...thingOf(findKafka()).command, path],
      stopSignal: 'SIGTERM',
      startMaxMs,
      isReady: async () => (await brokersSeenBy(address)).includes(id),
    });
    this.address = address;
    this.folder = data;
  }

  freshTopicUrl(options?: TopicOptions): string {
    return topicUrl(this.address, 1, options);
  }
}

class KafkaCluster implements KafkaClusterEngine {
  readonly brokers: readonly BrokerProcess[];

  constructor(nodes: readonly Node[], options: KafkaOptions) {
    this.brokers = nodes.map(({ id }) => new BrokerProcess(id, nodes, options));
  }

  async revive(): Promise<void> {
    if (this.#running().length === this.brokers.length) return;
    // Together, because a single controller has no majority and answers no requests.
    const starts = await Promise.allSettled(this.brokers.map(broker => broker.revive()));
    const failed = starts.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    await this.untilHealthy();
  }

  async untilHealthy(topic?: string): Promise<void> {
    const isHealthy = () => this.#isHealthy(topic).catch(() => false);
    await until('a healthy Kafka cluster', isHealthy, { maxMs: healthyMaxMs, everyMs: healthyPauseMs });
  }

  freshTopicUrl(options?: TopicOptions): string {
    return topicUrl(this.brokers.map(({ address }) => address).join(','), clusterSize, options);
  }

  async stop(): Promise<void> {
    await Promise.all(this.brokers.map(broker => broker.stop()));
  }

  #running(): BrokerProcess[] {
    return this.brokers.filter(({ pid }) => pid !== undefined);
  }

  async #isHealthy(topic: string | undefined): Promise<boolean> {
    const running = this.#running();
    const views = await Promise.all(running.map(({ address }) => brokersSeenBy(address)));
    if (views.some(view => view.length !== running.length)) return false;
    return topic === undefined || (await isInSync(running[0]!.address, topic, running.length));
  }
}

/** The metadata of a formatted data folder; ids are 16 bytes each, and the same for the same node. */
function formatOf(id: number, nodes: readonly Node[]): Record<string, string> {
  const name = (text: string) => createHash('md5').update(text).digest('base64url');
  return {
    version: '1',
    'cluster.id': name(`cluster of ${nodes[0]!.controllerPort}`),
    'node.id': String(id),
    'directory.id': name(`folder of ${id} on ${nodes[0]!.controllerPort}`),
  };
}

const lines = (properties: Readonly<Record<string, string>>): string =>
  Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

function topicUrl(servers: string, replicas: number, { partitions = partitionsDefault }: TopicOptions = {}) {
  const topic = `test-${crypto.randomUUID()}`;
  const safety = replicas === 1 ? '' : `&replication=${replicas}&minInsync=${replicas - 1}`;
  return `kafka://${servers}/${topic}?partitions=${partitions}${safety}`;
}

/** Numbers of the brokers that this one knows to be in service. */
async function brokersSeenBy(address: string): Promise<number[]> {
  return asking(address, async admin => [...(await admin.metadata({ topics: [] })).brokers.keys()]);
}

async function isInSync(address: string, topic: string, replicas: number): Promise<boolean> {
  const { topics } = await asking(address, admin => admin.metadata({ topics: [topic], forceUpdate: true }));
  return topics.get(topic)!.partitions.every(({ isr, leader }) => isr.length === replicas && leader >= 0);
}

async function asking<Answer>(address: string, ask: (admin: Admin) => Promise<Answer>): Promise<Answer> {
  const options = { retries: 0, connectTimeout: 2_000, requestTimeout: 5_000, timeout: 5_000 };
  const admin = new Admin({ clientId: 'test-kit', bootstrapBrokers: [address], ...options });
  try {
    return await ask(admin);
  } finally {
    await admin.close();
  }
}
