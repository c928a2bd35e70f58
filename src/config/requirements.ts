/** What settings need of each other. Each refusal is one line that says what to change. */
import { parseRegion } from '../codes/id-share.ts';
import { parseKafkaAddress } from '../engines/kafka/address.ts';
import { pendingLifeMs } from './cache-settings.ts';
import type { Config } from './config.ts';
import { parsePurgeAddress } from './purge-address.ts';
import { ConfigError, givenIn } from './sources.ts';

export function* connectionRefusals(config: Config): Iterable<ConfigError> {
  const { tlsCertificate, tlsKey, proxyProtocol, trustedProxies, host, port, metricsHost, metricsPort } =
    config;
  if (metricsPort === port && port !== 0 && overlap(host, metricsHost)) {
    yield new ConfigError(
      `${givenIn(config, 'metricsPort')} is not allowed: PORT is the same port at the same address`,
      'set TERSE_METRICS_PORT to another port than PORT',
    );
  }
  if ((tlsCertificate === undefined) !== (tlsKey === undefined)) {
    const [name, own, other] =
      tlsCertificate === undefined
        ? (['tlsKey', 'TERSE_TLS_KEY', 'TERSE_TLS_CERTIFICATE'] as const)
        : (['tlsCertificate', 'TERSE_TLS_CERTIFICATE', 'TERSE_TLS_KEY'] as const);
    yield new ConfigError(`${givenIn(config, name)} needs ${other} too`, `set ${other}, or remove ${own}`);
  }
  if (!proxyProtocol) return;
  const given = givenIn(config, 'proxyProtocol', 'on');
  if (trustedProxies.length === 0) {
    yield new ConfigError(
      `${given} needs TERSE_TRUSTED_PROXIES: nobody else is believed who the client is`,
      'set TERSE_TRUSTED_PROXIES to the addresses of the proxies, or remove TERSE_PROXY_PROTOCOL',
    );
  }
  // The PROXY header comes before the encrypted bytes, and the socket reads either one or the other.
  if (tlsCertificate !== undefined) {
    yield new ConfigError(
      `${given} is not allowed with TERSE_TLS_CERTIFICATE: let the proxy end TLS, or speak TLS here without it`,
      'remove TERSE_TLS_CERTIFICATE and TERSE_TLS_KEY, or TERSE_PROXY_PROTOCOL',
    );
  }
}

/** Whether a socket on one host blocks the same port on the other host. */
function overlap(one: string, other: string): boolean {
  const hosts = [one, other];
  if (one === other || hosts.some(host => host === '0.0.0.0' || host === '::')) return true;
  return hosts.includes('localhost') && hosts.some(host => host === '127.0.0.1' || host === '::1');
}

/** The embedded log of a machine is counted on that machine alone, and has no blocks to deduplicate a retry by. */
export function* statsRefusals(config: Config): Iterable<ConfigError> {
  if (config.stats === 'sqlite' || config.stream !== 'embedded') return;
  const given = givenIn(config, 'stats');
  yield new ConfigError(
    `${given} needs TERSE_STREAM=kafka://…, which carries the clicks there`,
    'set TERSE_STREAM=kafka://…, or TERSE_STATS=sqlite',
  );
}

const graceDaysMin = pendingLifeMs / (24 * 60 * 60 * 1_000);

export function* queueRefusals(config: Config): Iterable<ConfigError> {
  if (config.writes !== 'queued') return;
  if (config.stream === 'embedded' || config.cache === 'none') {
    yield new ConfigError(
      `${givenIn(config, 'writes')} needs TERSE_STREAM=kafka://… for its queue and TERSE_CACHE=redis://… to find what is in it`,
      'set TERSE_STREAM=kafka://… and TERSE_CACHE=redis://…, or TERSE_WRITES=direct',
    );
  }
  if (config.codeStrategy !== 'range') {
    yield new ConfigError(
      `${givenIn(config, 'codeStrategy')} is not allowed with queued writes: only codes of the range strategy are known to be free; use range, or direct writes`,
      'set TERSE_CODE_STRATEGY=range, or TERSE_WRITES=direct',
    );
  }
  if (config.expiryGraceDays < graceDaysMin) {
    yield new ConfigError(
      `${givenIn(config, 'expiryGraceDays')} is not allowed with queued writes: a link may wait in the queue for ${graceDaysMin} days; use ${graceDaysMin} or more`,
      `set TERSE_EXPIRY_GRACE_DAYS=${graceDaysMin} or more, or TERSE_WRITES=direct`,
    );
  }
  if (parseRegion(config.region)?.count !== 1) {
    yield new ConfigError(
      `${givenIn(config, 'region')} is not allowed with queued writes: a link that waits is found through the Redis of one region only; use direct writes`,
      'set TERSE_WRITES=direct, or remove TERSE_REGION',
    );
  }
}

export function* regionRefusals(config: Config): Iterable<ConfigError> {
  if (parseRegion(config.region)?.count === 1) return;
  if (config.links === 'sqlite' || config.links === 'memory') {
    yield new ConfigError(
      `${givenIn(config, 'region')} needs TERSE_LINKS=postgres://… or dynamodb://…: regions share links, and a folder is in one of them`,
      'set TERSE_LINKS=postgres://… or dynamodb://…, or remove TERSE_REGION',
    );
  }
  if (config.codeStrategy === 'random' || config.codeStrategy === 'hash') {
    yield new ConfigError(
      `${givenIn(config, 'codeStrategy')} is not allowed with several regions: two of them could give the same code; use range`,
      'set TERSE_CODE_STRATEGY=range',
    );
  }
}

/** A day is archived an hour after it has ended, and there must be time to notice when that fails. */
const retentionHoursMin = 72;

export function* archiveRefusals(config: Config, hasKeys: boolean): Iterable<ConfigError> {
  if (config.archive === undefined) return;
  const given = givenIn(config, 'archive');
  if (config.stream !== 'embedded' && parseKafkaAddress(config.stream).retentionHours < retentionHoursMin) {
    yield new ConfigError(
      `${given} needs clicks to stay in Kafka until their day is archived: use retentionHours=${retentionHoursMin} or more`,
      `set retentionHours=${retentionHoursMin} or more in TERSE_STREAM`,
    );
  }
  if (!hasKeys) {
    yield new ConfigError(
      `${given} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment`,
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or remove TERSE_ARCHIVE',
    );
  }
}

export function* edgeRefusals(config: Config, hasKeys: boolean): Iterable<ConfigError> {
  const { edgePurge, edgePurgeToken } = config;
  const given = givenIn(config, 'edgePurge', edgePurge.join(','));
  const kinds = new Set(edgePurge.map(address => parsePurgeAddress(address).kind));
  if (kinds.has('fastly') && edgePurgeToken === undefined)
    yield new ConfigError(
      `${given} needs TERSE_EDGE_PURGE_TOKEN, a token of Fastly's that may purge`,
      'set TERSE_EDGE_PURGE_TOKEN',
    );
  if (kinds.has('cloudfront') && !hasKeys)
    yield new ConfigError(
      `${given} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment`,
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or remove cloudfront:// from TERSE_EDGE_PURGE',
    );
  const names = [...kinds];
  // One token for all would let each of them act as the other.
  if (kinds.has('fastly') && names.some(kind => kind === 'keys' || kind === 'paths'))
    yield new ConfigError(
      `${given} is not allowed: Fastly's token must not go to other caches`,
      'name either Fastly or the other caches in TERSE_EDGE_PURGE',
    );
}
