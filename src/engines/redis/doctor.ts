/**
 * Checks a Redis server, or every primary of a Cluster, as an operator would who knows what Terse needs of it: a cache
 * that evicts, scripts, pub/sub, and fast answers.
 */
import type { Clock } from '../../base/clock.ts';
import { Findings, messageOf } from '../../base/finding.ts';
import type { Random } from '../../base/random.ts';
import {
  answerWithin,
  type Client,
  nameOf,
  openClient,
  parseRedisAddress,
  type RedisAddress,
  type ServerAddress,
} from './client.ts';
import { readSlots, slotCount, slotOf } from './cluster.ts';
import { RedisRefusal, type RedisReply } from './redis.ts';

export interface RedisExamination {
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
}

const answerMaxMs = 2_000;
const oldestVersion = 6;
const slowMs = 5;
/** Nodes of a Cluster that are looked at; the rest is like them. */
const nodesMax = 100;

/** Tries to find a key that a node keeps; one slot of all is found in about `slotCount` of them. */
const keyAttemptsMax = 20 * slotCount;

/** What a server and the doctor do there. docs/operations/redis.md shows the same, by a test. */
export const neededRights =
  '~terse/* ~terse:* &terse:* -@all +ping +hello +select +role +info +cluster|slots +cluster|info +cluster|nodes +get +mget +set +getrange +del +time +eval +evalsha +publish +subscribe +unsubscribe';

type Ask = (...command: string[]) => Promise<RedisReply>;
type Subscribe = (channel: string) => Promise<void>;

export async function examineRedis(examination: RedisExamination): Promise<Findings['list']> {
  const address = parseRedisAddress(examination.url);
  const findings = new Findings('redis');
  let primaries: readonly ServerAddress[] = address.servers;
  if (address.isCluster) {
    const found = await examineCluster(findings, address, examination.clock);
    if (found === undefined) return findings.list;
    primaries = found;
  }
  const lists: Findings['list'][] = [findings.list];
  for (const server of primaries.slice(0, nodesMax)) {
    const ofServer = new Findings(address.isCluster ? `redis ${nameOf(server)}` : 'redis');
    await withServer(ofServer, address, server, examination.clock, (ask, subscribe) =>
      examineServer(ofServer, { ask, subscribe }, address, examination),
    );
    lists.push(ofServer.list);
  }
  return lists.flat();
}

async function withServer(
  findings: Findings,
  login: RedisAddress,
  server: ServerAddress,
  clock: Clock,
  work: (ask: Ask, subscribe: Subscribe) => Promise<void>,
): Promise<boolean> {
  let client: Client;
  try {
    client = await openClient({ clock, login, server, onLost: () => undefined });
  } catch (error) {
    findings.fail('reachable', `${nameOf(server)}: ${messageOf(error)}`, adviceFor(messageOf(error), login));
    return false;
  }
  try {
    await work(
      (...command) => answerWithin(clock, answerMaxMs, client.send(command)),
      channel =>
        answerWithin(
          clock,
          answerMaxMs,
          client.subscribe(channel, () => undefined),
        ),
    );
    return true;
  } catch (error) {
    findings.fail('examination', messageOf(error), adviceFor(messageOf(error), login));
    return false;
  } finally {
    client.destroy();
  }
}

function adviceFor(message: string, { username }: Pick<RedisAddress, 'username'>): string {
  if (/NOAUTH|WRONGPASS|AUTH/.test(message)) return 'correct the user or the password in TERSE_CACHE';
  if (/NOPERM|permission/i.test(message)) {
    // Others use the default user too: it must not lose a right.
    return username === undefined || username === 'default'
      ? `make a user for Terse: ACL SETUSER terse on >PASSWORD ${neededRights}, and name terse:PASSWORD in TERSE_CACHE`
      : `ACL SETUSER ${username} resetkeys resetchannels ${neededRights}`;
  }
  if (/^OOM/.test(message))
    return 'CONFIG SET maxmemory-policy allkeys-lru, or raise maxmemory, and write it into redis.conf';
  if (/^MISCONF/.test(message))
    return 'let it write its snapshots, or turn them off with CONFIG SET save "": Terse does not need them';
  if (/^READONLY/.test(message)) return 'name the primary in TERSE_CACHE';
  if (/cluster support disabled/.test(message)) return 'write TERSE_CACHE as redis://…';
  if (/DENIED/.test(message)) return 'set a password in Redis, or let it listen on a private address only';
  return 'start Redis, or correct the host and the port in TERSE_CACHE; a firewall may be in between';
}

async function examineServer(
  findings: Findings,
  { ask, subscribe }: { readonly ask: Ask; readonly subscribe: Subscribe },
  address: RedisAddress,
  { clock, random }: RedisExamination,
): Promise<void> {
  await examineState(findings, ask, address);
  await findings.clock(clock, async () => {
    const [seconds, microseconds] = ((await ask('TIME')) as RedisReply[]).map(Number);
    return seconds! * 1_000 + microseconds! / 1_000;
  });
  const nearer = 'run Redis nearer to Terse: every redirect that is not in memory asks it';
  await findings.latency(clock, () => ask('PING'), slowMs, nearer);
  await examineCommands(findings, { ask, subscribe }, random, address);
}

async function examineState(findings: Findings, ask: Ask, address: RedisAddress): Promise<void> {
  const { isCluster, username } = address;
  let info: Map<string, string>;
  try {
    info = fieldsOf(String(await ask('INFO')));
  } catch (error) {
    if (!(error instanceof RedisRefusal)) throw error;
    // Terse itself does not need to.
    findings.warn(
      'state',
      `memory and role were not checked: ${messageOf(error)}`,
      `ACL SETUSER ${username ?? 'default'} +info lets \`terse doctor\` check them`,
    );
    return;
  }
  const version = info.get('redis_version') ?? info.get('valkey_version') ?? 'unknown';
  findings.version(version, oldestVersion);

  if (info.get('cluster_enabled') === '1' && !isCluster) {
    findings.fail('mode', 'this is a cluster node', 'write TERSE_CACHE as redis-cluster://…');
  }
  if (info.get('role') === 'master') findings.ok('role', 'primary');
  else findings.fail('role', 'this is a replica', 'name the primary in TERSE_CACHE');

  examineMemory(findings, info);
}

/** A full cache must evict unused keys, not reject new ones. */
function examineMemory(findings: Findings, info: ReadonlyMap<string, string>): void {
  const limit = Number(info.get('maxmemory') ?? 0);
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  const used = megabytes(Number(info.get('used_memory') ?? 0));
  if (limit === 0) {
    const fix =
      'CONFIG SET maxmemory to what the machine can spare, such as 4gb, and write it into redis.conf';
    findings.warn('memory', `${used} used, without a limit`, fix);
  } else findings.ok('memory', `${used} used of ${megabytes(limit)}`);
  if (/^allkeys-(?:lru|lfu)$/.test(policy)) findings.ok('eviction', policy);
  else {
    const fix = 'CONFIG SET maxmemory-policy allkeys-lru, and write it into redis.conf';
    findings.warn(
      'eviction',
      `${policy}: a full Redis would refuse what is new, or forget the wrong keys`,
      fix,
    );
  }
}

/** What Terse does with it, once, on a key that is deleted a moment later. */
async function examineCommands(
  findings: Findings,
  { ask, subscribe }: { readonly ask: Ask; readonly subscribe: Subscribe },
  random: Random,
  address: RedisAddress,
): Promise<void> {
  // Under the prefix of all keys and channels, because a user of Redis may be limited to that.
  const prefix = `terse:doctor-${random.bytes(6).toHex()}`;
  const kept = '1000';
  const { isCluster } = address;
  const key = isCluster ? keyWithin(await ownSlots(ask), prefix) : prefix;
  const attempt: Ask = (...command) =>
    ask(...command).catch(error => {
      // A node of a Cluster that does not keep the key says so after it has checked the rights.
      if (isCluster && /^(?:MOVED|ASK) /.test(messageOf(error))) return null;
      throw error;
    });
  try {
    await attempt('SET', key, 'written', 'PX', kept);
    await attempt('EVAL', "return redis.call('GET', KEYS[1])", '1', key);
    await attempt('PUBLISH', key, 'heard');
    await attempt('DEL', key);
    await subscribe(key);
    findings.ok('permissions', 'can write, remove, run scripts, and send and receive messages');
  } catch (error) {
    if (/^OOM/.test(messageOf(error))) {
      findings.fail(
        'memory',
        `it is full and takes nothing new: ${messageOf(error)}`,
        adviceFor('OOM', address),
      );
    } else findings.fail('permissions', messageOf(error), adviceFor(messageOf(error), address));
  }
}

/** The slots of the node that is asked; none where this user may not ask for them. */
async function ownSlots(ask: Ask): Promise<ClusterNode['slots']> {
  try {
    const nodes = nodesOf(String(await ask('CLUSTER', 'NODES')));
    return nodes.find(({ isAsked }) => isAsked)?.slots ?? [];
  } catch (error) {
    if (error instanceof RedisRefusal) return [];
    throw error;
  }
}

function keyWithin(slots: ClusterNode['slots'], prefix: string): string {
  if (slots.length === 0) return prefix;
  for (let count = 0; count < keyAttemptsMax; count += 1) {
    const slot = slotOf(`${prefix}-${count}`);
    if (slots.some(([from, to]) => from <= slot && slot <= to)) return `${prefix}-${count}`;
  }
  return prefix;
}

/** Undefined when the Cluster cannot be asked at all. */
async function examineCluster(
  findings: Findings,
  address: RedisAddress,
  clock: Clock,
): Promise<ServerAddress[] | undefined> {
  for (const server of address.servers) {
    const attempt = new Findings('redis');
    let primaries: ServerAddress[] = [];
    const answered = await withServer(attempt, address, server, clock, async ask => {
      const state = await ask('CLUSTER', 'INFO').catch(error => {
        const message = messageOf(error);
        if (/cluster support disabled/.test(message))
          attempt.fail('mode', 'this is not a cluster node', adviceFor(message, address));
        else if (/NOPERM|permission/i.test(message)) {
          // Terse itself does not need to.
          const fix = `ACL SETUSER ${address.username ?? 'default'} +cluster|info +cluster|nodes lets \`terse doctor\` check them`;
          attempt.warn('slots', `slots and replicas were not checked: ${message}`, fix);
        } else throw error;
        return undefined;
      });
      if (state === undefined) {
        if (attempt.list.some(({ verdict }) => verdict === 'fail')) return;
        // Terse itself finds the primaries by this.
        const ranges = readSlots(await ask('CLUSTER', 'SLOTS'), server);
        primaries = [...new Map(ranges.map(({ primary }) => [nameOf(primary), primary])).values()];
        return;
      }
      const info = fieldsOf(String(state));
      const assigned = Number(info.get('cluster_slots_assigned') ?? 0);
      const working = Number(info.get('cluster_slots_ok') ?? 0);
      if (assigned === slotCount && working === slotCount) attempt.ok('slots', `all ${slotCount} are served`);
      else {
        const fix =
          'redis-cli --cluster check HOST:PORT names what is missing, --cluster fix assigns it again';
        attempt.fail('slots', `${working} of ${slotCount} are served`, fix);
      }
      const nodes = nodesOf(String(await ask('CLUSTER', 'NODES')));
      primaries = nodes.filter(node => node.isPrimary && !node.hasFailed).map(({ place }) => place);
      const alone = nodes.filter(
        ({ id, isPrimary }) => isPrimary && !nodes.some(each => each.primaryId === id && !each.hasFailed),
      );
      const shown = `${primaries.length} primaries, ${nodes.length - nodes.filter(node => node.isPrimary).length} replicas`;
      if (alone.length === 0) attempt.ok('replicas', shown);
      else {
        const which = alone.map(({ place }) => nameOf(place)).join(', ');
        attempt.warn(
          'replicas',
          `${shown}; without a replica: ${which}`,
          'redis-cli --cluster add-node --cluster-slave',
        );
      }
    });
    findings.list.push(...attempt.list);
    if (answered) return primaries;
  }
  return undefined;
}

interface ClusterNode {
  readonly id: string;
  readonly place: ServerAddress;
  readonly isPrimary: boolean;
  readonly hasFailed: boolean;
  readonly primaryId: string;
  /** Whether this is the node that answered. */
  readonly isAsked: boolean;
  /** First and last of each range. */
  readonly slots: readonly (readonly [from: number, to: number])[];
}

/** Lines such as `ID host:port@bus[,name] flags primary-id ping pong epoch state 0-5460 5462 [5461->-ID]`. */
function nodesOf(text: string): ClusterNode[] {
  return text.split('\n').flatMap(line => {
    const [id, address = '', flags = '', primaryId = '', , , , , ...slots] = line.split(' ');
    const [, host, port] = /^(.+):(\d+)(?:@|$)/.exec(address) ?? [];
    if (id === undefined || host === undefined || port === undefined) return [];
    const words = flags.split(',');
    const hasFailed = words.includes('fail') || words.includes('noaddr');
    return {
      id,
      place: { host, port: Number(port) },
      isPrimary: words.includes('master'),
      hasFailed,
      primaryId,
      isAsked: words.includes('myself'),
      // In brackets are slots on their way to or from another node.
      slots: slots.flatMap(range => {
        const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
        return from === undefined ? [] : [[Number(from), Number(to)] as const];
      }),
    };
  });
}

function fieldsOf(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).filter(line => line.includes(':'));
  return new Map(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_048_576).toLocaleString('en')} MB`;
