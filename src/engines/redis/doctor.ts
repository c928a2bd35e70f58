/**
 * Looks at a Redis server, or at every primary of a Cluster, the way an operator would who knows what Terse needs of it:
 * a cache that makes room by itself, scripts, messages, and answers in no time.
 */
import type { Clock } from '../../base/clock.ts';
import { Findings, medianMs, messageOf } from '../../base/finding.ts';
import type { Random } from '../../base/random.ts';
import { nameOf, parseRedisAddress, type RedisAddress, type ServerAddress } from './address.ts';
import { openClient, withinDeadline } from './client.ts';
import type { RedisReply } from './redis.ts';

export interface RedisExamination {
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
}

const answerMaxMs = 2_000;
const oldestVersion = 6;
const skewWarnMs = 1_000;
const slowMs = 5;
const slotCount = 16_384;
/** Nodes of a Cluster that are looked at; the rest is like them. */
const nodesMax = 100;

type Ask = (...command: string[]) => Promise<RedisReply>;

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
    await withServer(ofServer, address, server, examination.clock, ask =>
      examineServer(ofServer, ask, address, examination),
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
  work: (ask: Ask) => Promise<void>,
): Promise<boolean> {
  let client: Awaited<ReturnType<typeof openClient>>;
  try {
    client = await openClient({ clock, login, server, onLost: () => undefined });
  } catch (error) {
    findings.fail('reachable', `${nameOf(server)}: ${messageOf(error)}`, adviceFor(messageOf(error)));
    return false;
  }
  try {
    await work((...command) => withinDeadline(clock, answerMaxMs, client.send(command)));
    return true;
  } catch (error) {
    findings.fail('examination', messageOf(error), adviceFor(messageOf(error)));
    return false;
  } finally {
    client.destroy();
  }
}

function adviceFor(message: string): string {
  if (/NOAUTH|WRONGPASS|AUTH/.test(message)) return 'correct the user or the password in TERSE_CACHE';
  if (/NOPERM/.test(message)) return 'allow the user +@all on the keys and channels of Terse (ACL SETUSER)';
  if (/DENIED/.test(message)) return 'set a password in Redis, or let it listen on a private address only';
  return 'start Redis, or correct the host and the port in TERSE_CACHE; a firewall may be in between';
}

async function examineServer(
  findings: Findings,
  ask: Ask,
  { isCluster }: RedisAddress,
  { clock, random }: RedisExamination,
): Promise<void> {
  const info = fieldsOf(String(await ask('INFO')));
  const version = info.get('redis_version') ?? info.get('valkey_version') ?? 'unknown';
  if (Number.parseInt(version, 10) >= oldestVersion) findings.ok('version', version);
  else findings.warn('version', `${version} is not tested`, `upgrade to ${oldestVersion} or later`);

  if (info.get('cluster_enabled') === '1' && !isCluster) {
    findings.fail('mode', 'this is a node of a Cluster', 'write TERSE_CACHE as redis-cluster://…');
  }
  if (info.get('role') === 'master') findings.ok('role', 'primary');
  else findings.fail('role', 'this is a replica', 'name the primary in TERSE_CACHE');

  examineMemory(findings, info);
  await examineClock(findings, ask, clock);
  await examineCommands(findings, ask, random, isCluster);
}

/** A cache that is full must forget what nobody asks for, not refuse what is new. */
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

async function examineClock(findings: Findings, ask: Ask, clock: Clock): Promise<void> {
  const startedAt = clock.now();
  const [seconds, microseconds] = ((await ask('TIME')) as RedisReply[]).map(Number);
  const theirs = seconds! * 1_000 + microseconds! / 1_000;
  const skewMs = Math.round(theirs - (startedAt + clock.now()) / 2);
  if (Math.abs(skewMs) <= skewWarnMs) findings.ok('clock', `${skewMs} ms from ours`);
  else findings.warn('clock', `${skewMs} ms from ours`, 'let both machines keep time by NTP');
  const latencyMs = await medianMs(
    () => clock.monotonicMs(),
    () => ask('PING'),
  );
  const shown = `${latencyMs.toFixed(2)} ms for a question`;
  if (latencyMs <= slowMs) findings.ok('latency', shown);
  else
    findings.warn(
      'latency',
      shown,
      'run Redis nearer to Terse: every redirect that is not in memory asks it',
    );
}

/** What Terse does with it, once, on a key that is gone a moment later. */
async function examineCommands(
  findings: Findings,
  ask: Ask,
  random: Random,
  isCluster: boolean,
): Promise<void> {
  const key = `terse-doctor-${random.bytes(6).toHex()}`;
  const kept = '1000';
  try {
    await ask('SET', key, 'written', 'PX', kept);
    await ask('EVAL', "return redis.call('GET', KEYS[1])", '1', key);
    await ask('PUBLISH', key, 'heard');
    await ask('DEL', key);
    findings.ok('permissions', 'can write, remove, run scripts and send messages');
  } catch (error) {
    // In a Cluster the key belongs to some other node, which says so; that is an answer too.
    if (isCluster && /^(?:MOVED|ASK) /.test(messageOf(error))) {
      findings.ok('permissions', 'answers for its own slots');
    } else findings.fail('permissions', messageOf(error), adviceFor('NOPERM'));
  }
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
      const info = fieldsOf(String(await ask('CLUSTER', 'INFO')));
      const assigned = Number(info.get('cluster_slots_assigned') ?? 0);
      const working = Number(info.get('cluster_slots_ok') ?? 0);
      if (assigned === slotCount && working === slotCount) attempt.ok('slots', `all ${slotCount} are served`);
      else {
        const fix =
          'redis-cli --cluster check HOST:PORT names what is missing, --cluster fix gives it away anew';
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
}

/** Lines such as `ID host:port@bus[,name] flags primary-id …`. */
function nodesOf(text: string): ClusterNode[] {
  return text.split('\n').flatMap(line => {
    const [id, address = '', flags = '', primaryId = ''] = line.split(' ');
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
    };
  });
}

function fieldsOf(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).filter(line => line.includes(':'));
  return new Map(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_048_576).toLocaleString('en')} MB`;
