/**
 * Checks Kafka as an operator would who knows what Terse needs of it: brokers that answer and can be reached by the
 * names they give, topics that are as planned, writes that are acknowledged, and a coordinator for consumer groups. It
 * writes one empty message, to the topic of announcements, whose readers skip it and which deletes it by itself.
 */
import {
  AclOperations,
  Admin,
  ConfigResourceTypes,
  FindCoordinatorKeyTypes,
  metadataV9,
} from '@platformatic/kafka';
import { type Clock, sleep } from '../../base/clock.ts';
import { Findings, messageOf } from '../../base/finding.ts';
import { clientOptions, type KafkaAddress, parseKafkaAddress } from './address.ts';
import { failureOf, KafkaRefusal, within } from './failures.ts';
import { connectFailure, spokenAt } from './probe.ts';
import { openKafkaProducer } from './producer.ts';
import { openKafkaReader } from './reader.ts';
import { configsOf, examineTopics, principalOf } from './topic-findings.ts';
import type { TopicPlan } from './topics.ts';

export interface KafkaExamination {
  readonly url: string;
  readonly plans: readonly TopicPlan[];
  /** Under which names processes share partitions. */
  readonly groups: readonly string[];
  readonly clock: Clock;
}

const answerMaxMs = 4_000;
const requestMaxMs = 3_000;
const slowMs = 100;
/** The brokers make the topic of groups when the first one asks. */
const coordinatorMaxMs = 5_000;
const coordinatorPauseMs = 250;
const topicsMaxMs = 10_000;
const topicsPauseMs = 100;
const trialKey = 'terse-doctor';
/** Instead of the operations, from a broker that does not report them. */
const operationsUntold = -(2 ** 31);

export async function examineKafka({
  url,
  plans,
  groups,
  clock,
}: KafkaExamination): Promise<Findings['list']> {
  const findings = new Findings('kafka');
  const address = parseKafkaAddress(url);
  const answering = await examineServers(findings, address, clock);
  if (answering.length === 0) return findings.list;
  const reached: KafkaAddress = { ...address, servers: answering };
  const admin = adminOf(reached);
  try {
    const bounded = <Result>(what: string, work: () => Promise<Result>): Promise<Result> =>
      within(clock, 2 * answerMaxMs, what, work);
    const isReachable = await bounded('asking the brokers', () => examineBrokers(findings, admin, clock));
    if (!isReachable) return findings.list;
    const isUsable = await bounded('looking at topics', () => examineTopics(findings, admin, reached, plans));
    if (isUsable) await examineMessages(findings, admin, reached, plans, clock);
    for (const group of groups) await examineGroup(findings, admin, group, address, clock);
  } catch (error) {
    findings.fail('examination', messageOf(failureOf(error)), adviceFor(error, address));
  } finally {
    await admin.close().catch(() => undefined);
  }
  return findings.list;
}

/** What topics that were made, now or before, are like beside what is planned. */
export async function compareTopics(
  address: KafkaAddress,
  plans: readonly TopicPlan[],
  clock: Clock,
): Promise<Findings['list']> {
  const findings = new Findings('kafka');
  const admin = adminOf(address);
  const topics = plans.map(({ topic }) => topic);
  try {
    await within(clock, topicsMaxMs, 'looking at topics', async () => {
      // Brokers learn of a new topic and its leader a moment after it was created.
      const untilMs = clock.monotonicMs() + topicsMaxMs / 2;
      while (!(await areLed(admin, topics)) && clock.monotonicMs() < untilMs)
        await sleep(clock, topicsPauseMs);
      await examineTopics(findings, admin, address, plans);
    });
  } finally {
    await admin.close().catch(() => undefined);
  }
  return findings.list;
}

async function areLed(admin: Admin, topics: readonly string[]): Promise<boolean> {
  const there = await admin.listTopics();
  if (!topics.every(topic => there.includes(topic))) return false;
  const { topics: known } = await admin.metadata({ topics: [...topics], forceUpdate: true });
  return [...known.values()].every(({ partitions }) => partitions.every(({ leader }) => leader >= 0));
}

const adminOf = (address: KafkaAddress): Admin =>
  new Admin(clientOptions(address, { name: 'doctor', requestMaxMs, retries: 1 }));

/** Each one of the address by itself, because any of them may be the only one that is left. */
async function examineServers(findings: Findings, address: KafkaAddress, clock: Clock): Promise<string[]> {
  const attempts = await Promise.all(
    address.servers.map(async server => {
      const admin = adminOf({ ...address, servers: [server] });
      try {
        await within(clock, answerMaxMs, `asking ${server}`, () => admin.metadata({ topics: [] }));
        return { server };
      } catch (error) {
        return { server, ...(await reasonFor(server, error, address, clock)) };
      } finally {
        void admin.close().catch(() => undefined);
      }
    }),
  );
  const answering = attempts.flatMap(attempt => ('fix' in attempt ? [] : [attempt.server]));
  for (const attempt of attempts) {
    if (!('fix' in attempt)) continue;
    const { server, reason, fix } = attempt;
    // Others of the address know the way to the partitions of this one.
    findings.judge('reachable', answering.length > 0 ? 'warn' : 'fail', `${server}: ${reason}`, fix);
  }
  return answering;
}

interface Reason {
  readonly reason: string;
  readonly fix: string;
}

async function reasonFor(
  server: string,
  error: unknown,
  { isEncrypted, login }: KafkaAddress,
  clock: Clock,
): Promise<Reason> {
  const reason = messageOf(failureOf(error));
  const spoken = await spokenAt(server, clock);
  if (spoken === 'nothing') return { reason, fix: adviceFor(error) };
  if (spoken === 'kafka') {
    if (isEncrypted) return { reason: 'it speaks Kafka without TLS', fix: 'write TERSE_STREAM as kafka://…' };
    if (login !== undefined) {
      const isRefused = /authentication/i.test(reason);
      return isRefused
        ? {
            reason: `it refuses the login: ${reason}`,
            fix: 'correct the user or the password in TERSE_STREAM',
          }
        : {
            reason: `it takes no login by ${login.mechanism}: ${reason}`,
            fix: 'correct ?login= in TERSE_STREAM, or take the user and the password out of it',
          };
    }
    return {
      reason: `it speaks Kafka and refuses us: ${reason}`,
      fix: 'if it asks for a login, write TERSE_STREAM as kafka://USER:PASSWORD@…; its log says why it closed the connection',
    };
  }
  if (spoken === 'tls') {
    if (!isEncrypted) return { reason: 'it speaks TLS', fix: 'write TERSE_STREAM as kafkas://…' };
    if (/authentication|SASL/i.test(reason))
      return { reason, fix: 'correct the user, the password or ?login= in TERSE_STREAM' };
    return {
      reason,
      fix: 'let Terse trust who signed its certificate (NODE_EXTRA_CA_CERTS=FILE), and use a name that is in it',
    };
  }
  const said = spoken === 'silence' ? 'it accepts connections and says nothing' : 'it does not speak Kafka';
  return { reason: `${said} (${reason})`, fix: 'correct the host and the port in TERSE_STREAM' };
}

/** Clients follow the names that brokers give, whatever name they came by. */
async function examineBrokers(findings: Findings, admin: Admin, clock: Clock): Promise<boolean> {
  const { brokers } = await admin.metadata({ topics: [], forceUpdate: true });
  const failures = await Promise.all(
    [...brokers].map(async ([id, place]) => {
      const failure = await connectFailure(place, clock);
      return failure === undefined ? [] : [`broker ${id} at ${place.host}:${place.port}: ${failure}`];
    }),
  );
  const unreachable = failures.flat();
  if (unreachable.length === 0) {
    findings.ok('brokers', `${brokers.size}, each reachable by the name it gives`);
    return true;
  }
  findings.fail(
    'brokers',
    `cannot be reached by the names they give: ${unreachable.join('; ')}`,
    'correct advertised.listeners of these brokers, or let their names lead to them from here',
  );
  return false;
}

/** As a server reads and writes, by the same clients. */
async function examineMessages(
  findings: Findings,
  admin: Admin,
  address: KafkaAddress,
  plans: readonly TopicPlan[],
  clock: Clock,
): Promise<void> {
  const reader = openKafkaReader(address, { clock });
  try {
    for (const { topic } of plans) {
      const ends = await within(clock, answerMaxMs, `reading ${topic}`, () =>
        reader.offsets(topic, 'latest'),
      );
      const from = new Map([[0, ends.get(0) ?? 0]]);
      const wanted = { bytesMax: 1_024, waitMaxMs: 0 };
      await within(clock, answerMaxMs, `reading ${topic}`, () => reader.fetch(topic, from, wanted));
    }
    if (plans.length > 0) findings.ok('reading', 'all topics can be read');
  } catch (error) {
    findings.fail('reading', messageOf(failureOf(error)), adviceFor(error, address));
  } finally {
    await reader.close().catch(() => undefined);
  }
  const topics = plans.map(({ topic }) => topic);
  const denied = await within(clock, answerMaxMs, 'asking for rights', () => unwritable(admin, topics));
  if (denied !== undefined && denied.length > 0) {
    findings.fail('writing', `not allowed to write to ${denied.join(', ')}`, rightsAdvice(address));
    return;
  }
  const trial = plans.find(({ configs }) => configs?.['cleanup.policy']?.includes('compact') === true);
  if (trial === undefined) {
    // A trial message in the queue of links would be taken for a link.
    if (denied !== undefined) findings.ok('writing', 'allowed on all topics; no message was written');
    else if (plans.length > 0) {
      const fix = 'create a link: if that fails, the log of Terse says why';
      findings.warn('writing', 'not tried, and the brokers do not tell whether it is allowed', fix);
    }
    return;
  }
  const producer = openKafkaProducer(address, { clock });
  try {
    const message = { topic: trial.topic, partition: 0, key: trialKey, value: new Uint8Array(0) };
    // The first write also finds the leader and gets a number for its producer.
    await producer.send([message], answerMaxMs);
    const startedMs = clock.monotonicMs();
    await producer.send([message], answerMaxMs);
    const tookMs = clock.monotonicMs() - startedMs;
    findings.ok('writing', 'acknowledged by all copies in sync');
    const shown = `${tookMs.toFixed(1)} ms for a message`;
    findings.judge('latency', tookMs <= slowMs, shown, 'run the brokers nearer to Terse, or on faster disks');
  } catch (error) {
    findings.fail('writing', messageOf(failureOf(error)), adviceFor(error, address));
  } finally {
    await producer.close();
  }
}

/** Topics that this user may not write to; undefined when the brokers do not report it. */
async function unwritable(admin: Admin, topics: readonly string[]): Promise<string[] | undefined> {
  try {
    const [connection] = (await admin.connectToBrokers()).values();
    const { topics: allowed } = await metadataV9.api.async(connection!, [...topics], false, true);
    if (allowed.some(topic => topic.topicAuthorizedOperations === operationsUntold)) return undefined;
    const mayWrite = 1 << AclOperations.WRITE;
    return allowed.flatMap(({ name, topicAuthorizedOperations }) =>
      (topicAuthorizedOperations & mayWrite) === 0 ? [name!] : [],
    );
  } catch {
    // An old broker, or a service that only resembles Kafka.
    return undefined;
  }
}

async function examineGroup(
  findings: Findings,
  admin: Admin,
  group: string,
  address: KafkaAddress,
  clock: Clock,
): Promise<void> {
  const question = { keyType: FindCoordinatorKeyTypes.GROUP, keys: [group] };
  const untilMs = clock.monotonicMs() + coordinatorMaxMs;
  for (;;) {
    try {
      const ask = (): Promise<unknown> => admin.findCoordinator(question);
      await within(clock, answerMaxMs, 'finding the coordinator', ask);
      findings.ok('group', `${group} has a coordinator`);
      return;
    } catch (error) {
      const isComing = error instanceof KafkaRefusal && error.code === 'COORDINATOR_NOT_AVAILABLE';
      if (!isComing) {
        findings.fail('group', `${group}: ${messageOf(error)}`, adviceFor(error, address));
        return;
      }
      if (clock.monotonicMs() > untilMs) {
        findings.fail('group', `${group}: ${messageOf(error)}`, await coordinatorAdvice(admin));
        return;
      }
      await sleep(clock, coordinatorPauseMs);
    }
  }
}

/** One broker with settings for three is how this comes about. */
async function coordinatorAdvice(admin: Admin): Promise<string> {
  const { brokers } = await admin.metadata({ topics: [] });
  const [id] = brokers.keys();
  const configs = await configsOf(admin, ConfigResourceTypes.BROKER, String(id)).catch(() => undefined);
  const copies = Number(configs?.get('offsets.topic.replication.factor') ?? 0);
  return copies > brokers.size
    ? `set offsets.topic.replication.factor=${brokers.size} on the brokers, or start ${copies - brokers.size} more: it is ${copies}`
    : 'start the brokers that are down: __consumer_offsets has no leader';
}

function adviceFor(error: unknown, address?: KafkaAddress): string {
  return (
    refusalAdvice(error, address) ??
    'start Kafka, or correct the hosts and ports in TERSE_STREAM; a firewall may be in between'
  );
}

const rightsAdvice = (address?: KafkaAddress): string =>
  `allow ${principalOf(address)} to Describe, Read, Write and Create topics ${address?.topic}* (kafka-acls.sh --add)`;

/** What to do about what a broker said; undefined when none said anything. */
export function refusalAdvice(error: unknown, address?: KafkaAddress): string | undefined {
  const failure = failureOf(error);
  const code = failure instanceof KafkaRefusal ? failure.code : '';
  if (/^(?:TOPIC|CLUSTER)_AUTHORIZATION/.test(code)) return rightsAdvice(address);
  if (/^GROUP_AUTHORIZATION/.test(code))
    return `allow ${principalOf(address)} to Read groups ${address?.topic}* (kafka-acls.sh --add)`;
  if (code === 'INVALID_REPLICATION_FACTOR')
    return 'start more brokers, or lower replication= in TERSE_STREAM';
  if (/^NOT_ENOUGH_REPLICAS/.test(code)) return 'start the brokers that are down';
  return undefined;
}
