import type { BaseOptions } from '@platformatic/kafka';

/**
 * Where Kafka is, as it is written in a setting: `kafka://user:password@host:port,host:port/TOPIC?partitions=12`, any
 * few of its brokers, which name the others; `kafkas://` over TLS. What a topic should be like when it has to be made
 * is said behind the question mark, and so is where counting begins; an existing topic stays as it is.
 */
export interface KafkaAddress {
  /** Such as `host:9092`. */
  readonly servers: readonly string[];
  readonly isEncrypted: boolean;
  readonly login: KafkaLogin | undefined;
  readonly topic: string;
  /** How many partitions clicks are spread over. */
  readonly partitions: number;
  /**
   * Copies of each message, and how many of them must be there before it counts as kept; undefined leaves it to the
   * brokers.
   */
  readonly replication: number | undefined;
  readonly minInsync: number | undefined;
  readonly retentionHours: number;
  /** The consumer group under which counting processes share the partitions. */
  readonly group: string;
  /** Where a group that has counted nothing yet begins. */
  readonly since: CountingStart;
}

export interface KafkaLogin {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly username: string;
  readonly password: string;
}

export type CountingStart = 'earliest' | { readonly time: number } | { readonly offset: number };

const portDefault = 9092;
const partitionsDefault = 12;
/** As many as find room in the page that a producer keeps its numbers in. */
export const partitionsMax = 500;
const retentionHoursDefault = 7 * 24;
const optionNames = [
  'partitions',
  'replication',
  'minInsync',
  'retentionHours',
  'group',
  'since',
  'login',
] as const;
type OptionName = (typeof optionNames)[number];

/** Topics of ours that belong to this one have longer names, and Kafka allows 249 characters. */
const topicPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const mechanisms = {
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512',
} as const;

export function parseKafkaAddress(text: string): KafkaAddress {
  const [, scheme, login, hosts = '', topic = '', query = ''] =
    /^(kafkas?):\/\/(?:([^@/]*)@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^#]*))?$/.exec(text) ?? [];
  if (scheme === undefined) throw new Error('a Kafka address is kafka://HOST:PORT,HOST:PORT/TOPIC');
  if (!topicPattern.test(topic)) {
    throw new Error(
      'a Kafka address ends with the name of a topic: letters, digits, dot, underscore and minus',
    );
  }
  const options = optionsOf(query);
  const number = (name: OptionName, min: number, max: number): number | undefined => {
    const given = options.get(name);
    if (given === undefined) return undefined;
    if (!/^\d{1,9}$/.test(given) || Number(given) < min || Number(given) > max) {
      throw new Error(`${name} of a Kafka address is a number from ${min} to ${max}`);
    }
    return Number(given);
  };
  const replication = number('replication', 1, 9);
  const minInsync = number('minInsync', 1, 9);
  if (minInsync !== undefined && minInsync > (replication ?? minInsync)) {
    throw new Error('minInsync of a Kafka address cannot be more than its replication');
  }
  return {
    servers: hosts.split(',').map(parseServer),
    isEncrypted: scheme === 'kafkas',
    login: loginOf(login, options.get('login')),
    topic,
    partitions: number('partitions', 1, partitionsMax) ?? partitionsDefault,
    replication,
    minInsync,
    retentionHours: number('retentionHours', 1, 100_000) ?? retentionHoursDefault,
    group: groupOf(options.get('group') ?? `${topic}-counting`),
    since: startOf(options.get('since')),
  };
}

function optionsOf(query: string): Map<OptionName, string> {
  const options = new Map<OptionName, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    const known = optionNames.find(each => each === name);
    if (known === undefined) throw new Error(`a Kafka address has no option "${name}"`);
    options.set(known, value);
  }
  return options;
}

function parseServer(text: string): string {
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === undefined || Number(port ?? portDefault) > 65_535) {
    throw new Error(`"${text}" is not a host and a port of a Kafka broker`);
  }
  return `${host}:${port ?? portDefault}`;
}

function loginOf(login: string | undefined, mechanismName = 'scram-sha-512'): KafkaLogin | undefined {
  if (login === undefined) return undefined;
  const mechanism = mechanisms[mechanismName as keyof typeof mechanisms];
  if (mechanism === undefined) {
    throw new Error(`login of a Kafka address is one of ${Object.keys(mechanisms).join(', ')}`);
  }
  const [, username, password] = /^([^:]+):(.+)$/.exec(login) ?? [];
  if (username === undefined || password === undefined) {
    throw new Error('a Kafka address with a user has a password, too');
  }
  try {
    return { mechanism, username: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    throw new Error('the user or password of a Kafka address is not percent-encoded properly');
  }
}

function groupOf(text: string): string {
  if (!topicPattern.test(text))
    throw new Error('the group of a Kafka address is a name like that of its topic');
  return text;
}

function startOf(text = 'earliest'): CountingStart {
  if (text === 'earliest') return text;
  if (/^\d{1,15}$/.test(text)) return { offset: Number(text) };
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new Error('since of a Kafka address is earliest, an offset, or a time');
  return { time };
}

/** For connecting to one broker; another one is tried next. */
const connectMaxMs = 2_000;
const retryDelayMs = 100;
/** Partition leaders are looked up again after this, unless an error required it before. */
const metadataMaxMs = 30_000;

export function clientOptions(
  { servers, isEncrypted, login }: KafkaAddress,
  { name, requestMaxMs, retries }: { name: string; requestMaxMs: number; retries: number },
): BaseOptions {
  return {
    clientId: `terse-${name}`,
    bootstrapBrokers: [...servers],
    connectTimeout: connectMaxMs,
    requestTimeout: requestMaxMs,
    timeout: requestMaxMs,
    retries,
    retryDelay: retryDelayMs,
    metadataMaxAge: metadataMaxMs,
    autocreateTopics: false,
    ...(isEncrypted && { tls: {} }),
    ...(login !== undefined && { sasl: { ...login } }),
  };
}
