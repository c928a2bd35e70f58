/**
 * Compares topics with what the settings plan for them. Topics may be created by others, with other settings, and a
 * server changes none of them; so `terse setup` and `terse doctor` say where they differ and how to change that.
 */
import { type Admin, ConfigResourceTypes } from '@platformatic/kafka';
import { Findings } from '../../base/finding.ts';
import type { KafkaAddress } from './address.ts';
import { failureOf, KafkaRefusal } from './failures.ts';
import type { TopicPlan } from './topics.ts';

type Configs = ReadonlyMap<string, string>;

interface Partition {
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
}

/** Settings of a broker or a topic that matter to Terse. */
const configNames = [
  'min.insync.replicas',
  'retention.ms',
  'retention.bytes',
  'cleanup.policy',
  'default.replication.factor',
  'offsets.topic.replication.factor',
];
const forEver = '-1';
const hourMs = 60 * 60_000;
/** With so many brokers there is no reason to keep one copy only. */
const brokersForCopies = 3;

/** Says of every plan what its topic is like; true when all of them can be written and read. */
export async function examineTopics(
  findings: Findings,
  admin: Admin,
  address: KafkaAddress,
  plans: readonly TopicPlan[],
): Promise<boolean> {
  const there = await admin.listTopics();
  const missing = plans.filter(({ topic }) => !there.includes(topic));
  const { brokers } = await admin.metadata({ topics: [] });
  let isUsable = missing.length === 0;
  if (missing.length > 0) await examineMissing(findings, admin, address, missing, [...brokers.keys()]);
  for (const plan of plans.filter(({ topic }) => there.includes(topic))) {
    const { topics } = await admin.metadata({ topics: [plan.topic], forceUpdate: true });
    const partitions = topics.get(plan.topic)?.partitions ?? [];
    const configs = await configsOf(admin, ConfigResourceTypes.TOPIC, plan.topic);
    const found = { partitions, configs, brokers: brokers.size };
    const ofTopic = new Findings('kafka', plan.topic);
    isUsable = examineTopic(ofTopic, address, plan, found) && isUsable;
    findings.list.push(...ofTopic.list);
  }
  return isUsable;
}

/** Whether the brokers would make them as the address asks. */
async function examineMissing(
  findings: Findings,
  admin: Admin,
  { replication, minInsync, login, topic: prefix }: KafkaAddress,
  plans: readonly TopicPlan[],
  brokers: readonly number[],
): Promise<void> {
  const count = brokers.length;
  const defaults = await configsOf(admin, ConfigResourceTypes.BROKER, String(brokers[0]));
  const copies = replication ?? Number(defaults?.get('default.replication.factor') ?? 1);
  const written = minInsync ?? Number(defaults?.get('min.insync.replicas') ?? 1);
  if (copies > count) {
    const wish = replication === undefined ? `default.replication.factor=${copies}` : `replication=${copies}`;
    findings.fail(
      'replication',
      `${wish} needs ${copies} brokers, and there ${count === 1 ? 'is 1' : `are ${count}`}`,
      `start ${copies - count} more, or set replication=${count} in TERSE_STREAM`,
    );
  } else if (written > copies) {
    findings.fail(
      'replication',
      `min.insync.replicas=${written} with ${copies === 1 ? '1 copy' : `${copies} copies`}: no write would be acknowledged`,
      `set replication=${written} or more, or minInsync=${copies}, in TERSE_STREAM`,
    );
  }
  const principal = principalOf({ login });
  // Brokers answer the same for a topic that does not exist and one that the user may not see.
  const fix = `run \`terse setup\` to create it; if it exists, allow ${principal} to Describe topics ${prefix}* (kafka-acls.sh --add)`;
  for (const { topic } of plans)
    findings.warn('topic', `${topic} does not exist, or ${principal} may not see it`, fix);
}

interface FoundTopic {
  readonly partitions: readonly Partition[];
  /** Undefined where this user may not read them. */
  readonly configs: Configs | undefined;
  readonly brokers: number;
}

function examineTopic(
  findings: Findings,
  address: KafkaAddress,
  { topic, partitions: planned, configs: wanted = {} }: TopicPlan,
  { partitions, configs, brokers }: FoundTopic,
): boolean {
  const count = partitions.length;
  const copies = Math.min(...partitions.map(({ replicas }) => replicas.length));
  const inSync = Math.min(...partitions.map(({ isr }) => isr.length));
  const written = Number(configs?.get('min.insync.replicas') ?? address.minInsync ?? 1);
  const tool = (name: string): string => `${name} --bootstrap-server ${address.servers[0]}`;
  const setConfig = (name: string, value: string): string =>
    `${tool('kafka-configs.sh')} --alter --topic ${topic} --add-config ${name}=${value}`;

  findings.ok('topic', `${topic} has ${plural(count, 'partition')}, ${plural(copies, 'copy', 'copies')}`);
  if (count < planned) {
    const fix = `${tool('kafka-topics.sh')} --alter --topic ${topic} --partitions ${planned}`;
    const other = topic === address.topic ? `, or set partitions=${count} in TERSE_STREAM` : '';
    findings.warn('partitions', `${topic} has ${count} instead of ${planned}`, `${fix}${other}`);
  } else if (count > planned && planned > 1) {
    const detail = `${topic} has ${count}, of which ${planned} are used`;
    findings.warn('partitions', detail, `set partitions=${count} in TERSE_STREAM`);
  }

  const leaderless = partitions.filter(({ leader }) => leader < 0).length;
  const startBrokers = 'start the brokers that are down';
  let isUsable = true;
  if (leaderless > 0) {
    isUsable = false;
    findings.fail('leaders', `${leaderless} of ${count} partitions of ${topic} have none`, startBrokers);
  } else if (written > copies) {
    isUsable = false;
    const detail = `${topic} has min.insync.replicas=${written} and ${plural(copies, 'copy', 'copies')}: no write is acknowledged`;
    findings.fail('acknowledgement', detail, setConfig('min.insync.replicas', String(copies)));
  } else if (written > inSync) {
    isUsable = false;
    const detail = `${topic} has ${inSync} of ${copies} copies in sync, and min.insync.replicas=${written}: writes are refused`;
    findings.fail('acknowledgement', detail, startBrokers);
  } else if (inSync < copies) {
    findings.warn('copies', `${topic} has ${inSync} of ${copies} copies in sync`, startBrokers);
  }
  const few = copies < (address.replication ?? 1) || (copies === 1 && brokers >= brokersForCopies);
  if (few) {
    const detail = `${topic} has ${plural(copies, 'copy', 'copies')}: what a lost broker had is lost`;
    const fix = `${tool('kafka-reassign-partitions.sh')} with ${Math.max(address.replication ?? 0, 3)} replicas for each partition`;
    findings.warn('copies', detail, fix);
  }
  if (configs !== undefined) examineConfigs(findings, topic, wanted, configs, setConfig);
  return isUsable;
}

/** Whether messages stay as long as they are needed. */
function examineConfigs(
  findings: Findings,
  topic: string,
  wanted: Readonly<Record<string, string>>,
  configs: Configs,
  setConfig: (name: string, value: string) => string,
): void {
  const policy = configs.get('cleanup.policy') ?? 'delete';
  const wantedPolicy = wanted['cleanup.policy'] ?? 'delete';
  if (wantedPolicy === 'delete' && policy !== 'delete') {
    const detail = `${topic} has cleanup.policy=${policy}: it takes no messages without a key`;
    findings.fail('cleanup', detail, setConfig('cleanup.policy', 'delete'));
  } else if (wantedPolicy.includes('compact') && !policy.includes('compact')) {
    const detail = `${topic} has cleanup.policy=${policy}: it grows with every announcement`;
    findings.warn('cleanup', detail, setConfig('cleanup.policy', `[${wantedPolicy}]`));
  }
  const kept = configs.get('retention.ms') ?? forEver;
  const keptWanted = wanted['retention.ms'] ?? forEver;
  const severity = keptWanted === forEver ? 'fail' : 'warn';
  if (kept !== forEver && (keptWanted === forEver || Number(kept) < Number(keptWanted))) {
    const wish = keptWanted === forEver ? 'without an end' : `for ${hours(keptWanted)}`;
    const detail = `${topic} keeps messages for ${hours(kept)}, and they are needed ${wish}`;
    // What waits in the queue of links is nowhere else.
    findings.judge('retention', severity, detail, setConfig('retention.ms', keptWanted));
  }
  const bytes = configs.get('retention.bytes') ?? forEver;
  if (bytes !== forEver) {
    const detail = `${topic} has retention.bytes=${bytes}: messages may go before their time`;
    findings.judge('retention', severity, detail, setConfig('retention.bytes', forEver));
  }
}

/** Undefined where this user may not read them, which Terse itself does not need to. */
export async function configsOf(
  admin: Admin,
  resourceType: (typeof ConfigResourceTypes)['TOPIC' | 'BROKER'],
  resourceName: string,
): Promise<Configs | undefined> {
  try {
    const resources = [{ resourceType, resourceName, configurationKeys: configNames }];
    const [description] = await admin.describeConfigs({ resources });
    return new Map((description?.configs ?? []).map(({ name, value }) => [name, value ?? '']));
  } catch (error) {
    if (failureOf(error) instanceof KafkaRefusal) return undefined;
    throw error;
  }
}

/** How rules of brokers name who uses this address. */
export const principalOf = (address?: Pick<KafkaAddress, 'login'>): string =>
  address?.login === undefined ? 'this client' : `User:${address.login.username}`;

const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
const hours = (ms: string): string => `${Math.round((10 * Number(ms)) / hourMs) / 10} h`;
