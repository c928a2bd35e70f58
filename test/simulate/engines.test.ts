/** The simulated engines keep the contracts of the real ones: the same conformance suites, over the simulated network. */
import { clickLogConformance } from '../../src/clicks/log.conformance.ts';
import { createEmbeddedLog, openEmbeddedLog } from '../../src/clicks/logs/embedded.ts';
import { createKafkaLog, createKafkaWriter } from '../../src/clicks/logs/kafka.ts';
import { PartitionNumbers } from '../../src/clicks/partition-numbers.ts';
import { parseKafkaAddress } from '../../src/engines/kafka/address.ts';
import { pendingLinksConformance } from '../../src/links/pending.conformance.ts';
import { createRedisPendings } from '../../src/links/pendings/redis/pendings.ts';
import { linkQueueConformance } from '../../src/links/queue.conformance.ts';
import { linkStoreConformance } from '../../src/links/store.conformance.ts';
import { linkCacheConformance } from '../../src/resolve/cache.conformance.ts';
import { createRedisCache } from '../../src/resolve/caches/redis.ts';
import { SimDatabase } from './database.ts';
import { SimDisk } from './disk.ts';
import { SimKafka } from './kafka.ts';
import { Kernel, Party } from './kernel.ts';
import { Network } from './network.ts';
import { SimRedis } from './redis.ts';

/** An installation without faults whose time runs as fast as possible, for callers outside of it. */
function openWorld() {
  const kernel = new Kernel(1);
  const network = new Network(kernel);
  network.slowRate = 0;
  let isOver = false;
  const run = async (): Promise<void> => {
    while (!isOver) {
      await kernel.runUntil(kernel.nowMs + 1);
      await new Promise<void>(resolve => setImmediate(resolve));
    }
  };
  const running = run();
  return {
    kernel,
    network,
    one: new Party(kernel, 'one'),
    other: new Party(kernel, 'other'),
    async sleep(ms: number): Promise<void> {
      await new Promise<void>(resolve => kernel.outside.after(ms, resolve));
    },
    async dispose(): Promise<void> {
      isOver = true;
      await running;
    },
  };
}

linkStoreConformance('simulated database', async () => {
  const { kernel, network, one, dispose } = openWorld();
  return { store: new SimDatabase(kernel, network).openFor(one).links, dispose };
});

linkCacheConformance('simulated Redis', async () => {
  const { kernel, network, one, other, sleep, dispose } = openWorld();
  const redis = new SimRedis(kernel, network);
  const cache = createRedisCache(redis.openFor(one));
  return {
    cache,
    brief: cache,
    other: createRedisCache(redis.openFor(other)),
    waitForFences: () => sleep(10_500),
    untilListening: () => sleep(500),
    async untilReceived(isReceived) {
      while (!isReceived()) await sleep(10);
    },
    dispose,
  };
});

pendingLinksConformance('simulated Redis', async () => {
  const { kernel, network, one, other, dispose } = openWorld();
  const redis = new SimRedis(kernel, network);
  const pendingsOf = (party: Party) => createRedisPendings(redis.openFor(party), { clock: party.clock() });
  return { pendings: pendingsOf(one), other: pendingsOf(other), now: kernel.nowMs, dispose };
});

linkQueueConformance('simulated Kafka', async () => {
  const { kernel, network, one, dispose } = openWorld();
  const kafka = new SimKafka(kernel, network);
  return { queue: kafka.queueFor(one), deadLettered: async () => kafka.queue.deadLettered, dispose };
});

const topic = 'clicks';
const partitions = 3;

clickLogConformance('simulated Kafka', async () => {
  const { kernel, network, one, dispose } = openWorld();
  const address = parseKafkaAddress(`kafka://kafka/${topic}?partitions=${partitions}`);
  const engine = new SimKafka(kernel, network).engineFor(one);
  const clock = one.clock();
  const numbers = new Map<string, PartitionNumbers>();
  await engine.ensureTopic(address, { topic, partitions }, clock);
  return {
    open(producer) {
      const reader = engine.openReader(address, { clock });
      const retentionMs = Number.MAX_SAFE_INTEGER;
      const log = createKafkaLog({ reader, topic, partitions, retentionMs, clock });
      const writer = createKafkaWriter({ kafka: engine.openProducer(address, { clock }), topic, producer });
      return { writer, log, close: async () => {} };
    },
    numbered(producer, batch) {
      const known = numbers.get(producer) ?? new PartitionNumbers(new Float64Array(partitions));
      numbers.set(producer, known);
      return known.number(batch);
    },
    dispose,
  };
});

clickLogConformance('files on a simulated disk', async () => {
  const kernel = new Kernel(1);
  const uninstall = new SimDisk(kernel).install();
  const folder = '/clicks';
  return {
    open(producer) {
      const writer = createEmbeddedLog({ folder, producer, clock: kernel.outside.clock() });
      return { writer, log: openEmbeddedLog(folder), close: () => writer.close() };
    },
    dispose: async () => uninstall(),
  };
});
