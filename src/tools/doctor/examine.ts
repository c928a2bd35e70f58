/**
 * `terse doctor`: examines the machine and every engine that the settings name. An engine that is down is a finding
 * and not a failure of the doctor; every check has a deadline.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type Finding, Findings, messageOf } from '../../base/finding.ts';
import { systemRandom } from '../../base/random.ts';
import { awsKeysOfProcess, type Config, hasAwsCredentials } from '../../config/config.ts';
import { parsePurgeAddress } from '../../config/purge-address.ts';
import { openPurger } from '../../edge/purgers/open.ts';
import { readIfPresent, workerCount } from '../../process/machine.ts';
import { startRefusals } from '../../process/start-checks.ts';
import { examineCertificate, examineFolder, examineMachine, examinePorts } from './machine.ts';

const world = { clock: systemClock, random: systemRandom };
const nobodysCode = 'terse-doctor';

export async function examine(config: Config): Promise<Finding[]> {
  return [
    ...examineSettings(config),
    ...examineMachine(config, world.clock),
    ...(await examinePorts(config, world.clock)),
    // Clicks and limits are kept there, whichever store keeps the links.
    ...(await examineFolder(config.data, world.clock, world.random)),
    ...(await examineSpill(config)),
    ...(await examineCertificate(config, world.clock)),
    ...(await examineLinks(config)),
    ...(await examineCache(config)),
    ...(await examineStream(config)),
    ...(await examineStats(config)),
    ...(await examineClickArchive(config)),
    ...(await guarded('edge', () => examineEdges(config, world.clock))),
  ];
}

/** Settings with which `terse serve` does not start, with the same messages. */
function examineSettings(config: Config): Finding[] {
  const findings = new Findings('settings');
  const refusals = [...startRefusals(config)];
  if (refusals.length === 0) findings.ok('combination', 'a server starts with them');
  for (const { message, fix = 'correct the setting' } of refusals) findings.fail('combination', message, fix);
  return findings.list;
}

/** Only a spill folder outside of the data folder, because it may be on another disk. */
async function examineSpill({ clicks, clickSpill, clickSpillMb, data }: Config): Promise<Finding[]> {
  if (!clicks || clickSpillMb === 0 || resolve(clickSpill).startsWith(`${resolve(data)}/`)) return [];
  return examineFolder(clickSpill, world.clock, world.random, {
    subject: 'spill folder',
    variable: 'TERSE_CLICK_SPILL',
  });
}

async function examineLinks(config: Config): Promise<Finding[]> {
  const findings = await examineLinkStore(config);
  const isUsable = findings.every(({ verdict }) => verdict !== 'fail');
  const { links, data } = config;
  if (!isUsable || links === 'memory' || (links === 'sqlite' && !existsSync(join(data, 'terse.db'))))
    return findings;
  return [...findings, ...(await guarded('links', () => examineCopy(config)))];
}

/** A server does not start on an incomplete installation. */
async function examineCopy(config: Config): Promise<Finding[]> {
  const { requireFinished } = await import('../../stores/await-store.ts');
  const { openLinks } = await import('../../stores/link-pages.ts');
  const opened = await openLinks(config);
  const progress = await opened.progress().finally(() => opened.close());
  const findings = new Findings('links');
  try {
    requireFinished(progress);
  } catch (error) {
    findings.fail('copy', messageOf(error), 'run `terse migrate --final` with the same addresses');
  }
  return findings.list;
}

async function examineLinkStore(config: Config): Promise<Finding[]> {
  const { links: url } = config;
  if (url.startsWith('postgres')) {
    return guarded('postgres', async () => {
      const { examinePostgres } = await import('../../engines/postgres/doctor.ts');
      const { postgresMigrations } = await import('../../stores/postgres.ts');
      const processes = workerCount(config.workers, readIfPresent);
      return examinePostgres({ ...world, url, processes, migrations: postgresMigrations });
    });
  }
  if (url.startsWith('dynamodb')) {
    return guarded('dynamodb', async () => {
      const { examineDynamo } = await import('../../engines/dynamodb/doctor.ts');
      return examineDynamo({ ...world, url, hasCredentials: hasAwsCredentials() });
    });
  }
  if (url === 'memory') {
    const findings = new Findings('links');
    findings.warn('store', 'links are kept in memory and forgotten at the end', 'set TERSE_LINKS=sqlite');
    return findings.list;
  }
  return guarded('sqlite', async () => {
    const { examineSqlite } = await import('./sqlite.ts');
    return examineSqlite(config.data);
  });
}

async function examineCache({ cache: url }: Config): Promise<Finding[]> {
  if (url === 'none') return [];
  const { examineRedis } = await import('../../engines/redis/doctor.ts');
  return guarded('redis', () => examineRedis({ ...world, url }));
}

async function examineStream(config: Config): Promise<Finding[]> {
  if (config.stream === 'embedded') return [];
  const { examineKafka } = await import('../../engines/kafka/doctor.ts');
  const { kafkaGroups, kafkaTopicPlans } = await import('../setup.ts');
  return guarded('kafka', async () => {
    const [plans, groups] = [kafkaTopicPlans(config), kafkaGroups(config)];
    return examineKafka({ url: config.stream, plans, groups, clock: world.clock });
  });
}

async function examineStats({ stats: url }: Config): Promise<Finding[]> {
  if (url === 'sqlite') return [];
  const { examineClickHouse } = await import('../../engines/clickhouse/doctor.ts');
  const { warehouseMigrations: migrations } = await import('../../clicks/warehouses/clickhouse/schema.ts');
  return guarded('clickhouse', () => examineClickHouse({ ...world, url, migrations }));
}

async function examineClickArchive({ archive: address, stream }: Config): Promise<Finding[]> {
  if (address === undefined) return [];
  const { examineArchive } = await import('./sqlite.ts');
  return guarded('archive', () => examineArchive({ address, stream }, awsKeysOfProcess(), world.clock));
}

/** An address that cannot be read, or an examination that breaks, is a finding too. */
async function guarded(subject: string, work: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await work();
  } catch (error) {
    const findings = new Findings(subject);
    findings.fail('address', messageOf(error), 'correct the address');
    return findings.list;
  }
}

/**
 * Whether the caches in front accept a purge of a code that does not exist. CloudFront is skipped, because there that
 * would be an invalidation like any other.
 */
export async function examineEdges(
  config: Pick<Config, 'edgePurge' | 'edgePurgeToken' | 'edgeTtlS'>,
  clock: Clock,
): Promise<Finding[]> {
  const findings = new Findings('edge');
  const { edgePurge, edgeTtlS } = config;
  if (edgeTtlS > 0 && edgePurge.length === 0)
    findings.warn(
      'purge',
      `nobody tells the caches of changes: a killed link lives there for up to ${edgeTtlS} s`,
      'name them in TERSE_EDGE_PURGE',
    );
  for (const address of edgePurge) {
    if (parsePurgeAddress(address).kind === 'cloudfront') {
      findings.ok('purge', `${address} is not tried, because it would be an invalidation`);
      continue;
    }
    const purger = openPurger(address, { token: config.edgePurgeToken, keys: undefined, clock });
    try {
      await purger.purge([nobodysCode]);
      findings.ok('purge', `${purger.name} takes purges`);
    } catch (error) {
      findings.fail(
        'purge',
        `${purger.name}: ${messageOf(error)}`,
        'let this machine purge there, and check the address and TERSE_EDGE_PURGE_TOKEN',
      );
    }
  }
  return findings.list;
}
