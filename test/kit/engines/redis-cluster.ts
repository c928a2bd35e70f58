/**
 * A real Redis Cluster for tests: three primaries and a replica of each. The nodes start with a written nodes.conf and
 * know each other at once; a dead primary is replaced after a second or two.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../until.ts';
import { type Engine, engineFolder, onFreePorts } from './engine-process.ts';
import { busOffset } from './free-port.ts';
import { flushAt, type RedisOptions, RedisProcess, type SharedRedis } from './redis.ts';
import { askRedis } from './redis-question.ts';
import { shareEngine } from './shared-engine.ts';

export interface RedisNode extends Engine {
  readonly url: string;
  readonly port: number;
}

export interface RedisClusterEngine extends SharedRedis {
  /** Initially the three primaries, then a replica of each in the same order. */
  readonly nodes: readonly RedisNode[];
  /** The current primaries, as the running nodes see it. */
  primaries(): Promise<RedisNode[]>;
  /** The primary that holds this key now. */
  primaryOf(key: string): Promise<RedisNode>;
  /** Returns when every running node sees all slots served by the same primaries, and every replica follows. */
  untilHealthy(): Promise<void>;
  stop(): Promise<void>;
}

const primaryCount = 3;
const slotCount = 16_384;
const nodeTimeoutMs = 1_000;
const healthyMaxMs = 60_000;
const healthyPauseMs = 50;
/** Short, because a node that hangs is not needed: the others know as much. */
const viewMaxMs = 1_000;

/** One per test process, or the cluster that TERSE_TEST_REDIS_CLUSTER names. No test may pause or stop it. */
export const sharedRedisCluster = shareEngine(async (): Promise<SharedRedis> => {
  const given = process.env.TERSE_TEST_REDIS_CLUSTER;
  if (given === undefined) return startRedisCluster();
  const [firstNode = ''] = given.replace('redis-cluster://', '').split(',');
  return { url: given, flush: () => flushCluster(`redis://${firstNode}`) };
});

/** An exclusive one, which the caller stops. */
export function startRedisCluster(options: RedisOptions = {}): Promise<RedisClusterEngine> {
  return onFreePorts(2 * primaryCount, async ports => {
    const cluster = new RedisCluster(ports, options);
    try {
      await cluster.start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  });
}

class RedisCluster implements RedisClusterEngine {
  readonly url: string;
  readonly nodes: readonly RedisProcess[];

  constructor(ports: readonly number[], { settings }: RedisOptions) {
    this.url = `redis-cluster://${ports.map(port => `127.0.0.1:${port}`).join(',')}`;
    this.nodes = ports.map(port => {
      const folder = engineFolder('redis-node');
      writeFileSync(join(folder, 'nodes.conf'), nodesConfiguration(ports, port));
      return new RedisProcess(folder, port, {
        settings: {
          'cluster-enabled': 'yes',
          'cluster-config-file': 'nodes.conf',
          'cluster-node-timeout': String(nodeTimeoutMs),
          // A replica may take over however long it was disconnected.
          'cluster-replica-validity-factor': '0',
          // Do not wait for further replicas before a sync: there is one.
          'repl-diskless-sync-delay': '0',
          ...settings,
        },
      });
    });
  }

  async start(): Promise<void> {
    const starts = await Promise.allSettled(this.nodes.map(node => node.revive()));
    const failed = starts.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    await this.untilHealthy();
  }

  async revive(): Promise<void> {
    if (this.#running().length < this.nodes.length) await this.start();
  }

  async flush(): Promise<void> {
    await flushCluster(this.#running()[0]!.url);
  }

  async primaries(): Promise<RedisNode[]> {
    const ports = (await this.#servingPrimaries()).map(({ port }) => port);
    return this.nodes.filter(node => ports.includes(node.port));
  }

  async primaryOf(key: string): Promise<RedisNode> {
    const slot = Number(
      /^:(\d+)/.exec(await askRedis(this.#running()[0]!.url, `CLUSTER KEYSLOT ${key}`))?.[1],
    );
    const holder = (await this.#servingPrimaries()).find(({ slots }) =>
      slots.some(([first, last]) => first <= slot && slot <= last),
    );
    const node = this.nodes.find(({ port }) => port === holder?.port);
    if (node === undefined) throw new Error(`no primary holds ${key}`);
    return node;
  }

  async untilHealthy(): Promise<void> {
    const isHealthy = () => this.#isHealthy().catch(() => false);
    await until('a healthy Redis Cluster', isHealthy, { maxMs: healthyMaxMs, everyMs: healthyPauseMs });
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map(node => node.stop()));
  }

  #running(): RedisProcess[] {
    return this.nodes.filter(node => node.pid !== undefined);
  }

  /** All running nodes must agree: one that comes back has outdated state for a moment. */
  async #isHealthy(): Promise<boolean> {
    const running = this.#running();
    const views = await Promise.all(running.map(({ url }) => servingPrimaries(url)));
    const serving = views[0]!.map(({ port }) => port);
    return (
      new Set(views.map(view => JSON.stringify(view))).size === 1 &&
      serving.every(port => running.some(node => node.port === port)) &&
      (await Promise.all(running.map(({ url }) => isInOrder(url)))).every(Boolean)
    );
  }

  /** Asks all nodes, because a paused one does not answer and a restarted one may not know yet. */
  async #servingPrimaries(): Promise<ServingPrimary[]> {
    const views = await Promise.all(this.#running().map(node => servingPrimaries(node.url).catch(() => [])));
    return views.sort((one, other) => slotsServed(other) - slotsServed(one))[0] ?? [];
  }
}

interface ServingPrimary {
  readonly port: number;
  readonly slots: readonly (readonly [first: number, last: number])[];
}

/** The primaries that a node believes alive. */
async function servingPrimaries(url: string): Promise<ServingPrimary[]> {
  const lines = (await askRedis(url, 'CLUSTER NODES', viewMaxMs))
    .split('\n')
    .map(line => line.trim().split(' '));
  return lines
    .filter(([, , flags]) => flags?.split(',').includes('master') && !flags.includes('fail'))
    .map(([, address, , , , , , , ...slots]) => ({
      port: Number(/:(\d+)@/.exec(address ?? '')?.[1]),
      slots: slots.map(range => {
        const [first, last = first] = range.split('-').map(Number);
        return [first!, last!] as const;
      }),
    }))
    .filter(({ slots }) => slots.length > 0)
    .sort((one, other) => one.port - other.port);
}

function slotsServed(primaries: readonly ServingPrimary[]): number {
  return primaries.flatMap(({ slots }) => slots).reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** Whether this node sees all slots served, and follows if it is a replica. */
async function isInOrder(url: string): Promise<boolean> {
  const [cluster, replication] = [
    await askRedis(url, 'CLUSTER INFO'),
    await askRedis(url, 'INFO replication'),
  ];
  return cluster.includes('cluster_state:ok') && !replication.includes('master_link_status:down');
}

async function flushCluster(url: string): Promise<void> {
  const { hostname } = new URL(url);
  const primaries = await servingPrimaries(url);
  await Promise.all(primaries.map(({ port }) => flushAt(`redis://${hostname}:${port}`)));
}

/** A nodes.conf: all nodes with their roles and slots, and which of them is the reader. */
function nodesConfiguration(ports: readonly number[], ownPort: number): string {
  const lines = ports.map((port, n) => {
    const isPrimary = n < primaryCount;
    const flags = [...(port === ownPort ? ['myself'] : []), isPrimary ? 'master' : 'slave'].join(',');
    const follows = isPrimary ? '-' : nodeId(ports[n - primaryCount]!);
    const slots = isPrimary ? ` ${firstSlot(n)}-${firstSlot(n + 1) - 1}` : '';
    const epoch = (n % primaryCount) + 1;
    return `${nodeId(port)} 127.0.0.1:${port}@${port + busOffset} ${flags} ${follows} 0 0 ${epoch} connected${slots}`;
  });
  return `${lines.join('\n')}\nvars currentEpoch ${primaryCount} lastVoteEpoch 0\n`;
}

const firstSlot = (n: number): number => Math.floor((n * slotCount) / primaryCount);
const nodeId = (port: number): string => port.toString(16).padStart(40, '0');
