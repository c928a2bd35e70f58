/**
 * `terse doctor`: looks at the machine and at every engine that the settings name. An engine that is away is a finding
 * and not a failure of the doctor; every question has a deadline.
 */
import { systemClock } from '../../base/clock.ts';
import { type Finding, Findings, messageOf } from '../../base/finding.ts';
import { systemRandom } from '../../base/random.ts';
import { awsKeysOfProcess, type Config, hasAwsCredentials } from '../config.ts';
import { readIfPresent } from '../read-if-present.ts';
import { workerCount } from '../worker-count.ts';
import { examineCertificate } from './certificate.ts';
import { examineFolder, examineMachine } from './machine.ts';

const world = { clock: systemClock, random: systemRandom };

export async function examine(config: Config): Promise<Finding[]> {
  return [
    ...examineMachine(config, world.clock),
    // Clicks and limits are kept there, whatever keeps the links.
    ...(await examineFolder(config.data, world.clock, world.random)),
    ...(await examineCertificate(config, world.clock)),
    ...(await examineLinks(config)),
    ...(await examineCache(config)),
    ...(await examineStats(config)),
    ...(await examineClickArchive(config)),
    ...(await examineEdgeCaches(config)),
  ];
}

async function examineLinks(config: Config): Promise<Finding[]> {
  const { links: url } = config;
  if (url.startsWith('postgres')) {
    return guarded('postgres', async () => {
      const { examinePostgres } = await import('../../engines/postgres/doctor.ts');
      const { postgresMigrations } = await import('../postgres.ts');
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
  return guarded('redis', async () => {
    const { examineRedis } = await import('../../engines/redis/doctor.ts');
    return examineRedis({ ...world, url });
  });
}

async function examineStats({ stats: url }: Config): Promise<Finding[]> {
  if (url === 'sqlite') return [];
  return guarded('clickhouse', async () => {
    const { examineClickHouse } = await import('../../engines/clickhouse/doctor.ts');
    const { warehouseMigrations } = await import('../../clicks/warehouses/clickhouse/schema.ts');
    return examineClickHouse({ ...world, url, migrations: warehouseMigrations });
  });
}

async function examineClickArchive({ archive, stream }: Config): Promise<Finding[]> {
  if (archive === undefined) return [];
  return guarded('archive', async () => {
    const { examineArchive } = await import('./archive.ts');
    return examineArchive({ address: archive, stream }, awsKeysOfProcess(), world.clock);
  });
}

async function examineEdgeCaches(config: Config): Promise<Finding[]> {
  return guarded('edge', async () => {
    const { examineEdges } = await import('./edge.ts');
    return examineEdges(config, world.clock);
  });
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
