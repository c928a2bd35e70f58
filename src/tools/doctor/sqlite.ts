/** The embedded database: whether this version of Terse can open it, and whether it is intact. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { type Finding, Findings, messageOf } from '../../base/finding.ts';
import { archivedDays } from '../../clicks/archive.ts';
import { type ArchivePlace, openArchive } from '../../clicks/open-archive.ts';
import type { S3Keys } from '../../engines/s3/address.ts';
import { openForReading } from '../../engines/sqlite/database.ts';
import { embeddedMigrations } from '../../stores/embedded.ts';

/** A larger file is not read in full while the operator waits. */
const checkedBytesMax = 1024 ** 3;
const writeAheadWarnBytes = 1024 ** 3;

export function examineSqlite(folder: string): Findings['list'] {
  const findings = new Findings('sqlite');
  const path = join(folder, 'terse.db');
  if (!existsSync(path)) {
    findings.ok('database', 'the first start makes it');
    return findings.list;
  }
  try {
    examineFile(path, findings);
  } catch (error) {
    if (!/^SQLITE_(?:CORRUPT|NOTADB)/.test((error as { code?: string }).code ?? '')) throw error;
    findings.fail('integrity', (error as Error).message, restoreAdvice(path));
  }
  return findings.list;
}

const restoreAdvice = (path: string): string => `stop Terse and restore ${path} from a backup`;

function examineFile(path: string, findings: Findings): void {
  const database = openForReading(path);
  try {
    const { version } = database.query<{ version: string }, []>('SELECT sqlite_version() AS version').get()!;
    findings.ok('version', version);
    const versions = new Map(
      database
        .query<{ component: string; version: number }, []>('SELECT component, version FROM migrations')
        .all()
        .map(row => [row.component, row.version]),
    );
    const newer = embeddedMigrations.find(
      ({ component, steps }) => (versions.get(component) ?? 0) > steps.length,
    );
    if (newer === undefined) findings.ok('schema', 'this version can use it');
    else {
      const detail = `${newer.component} was written by a newer Terse`;
      findings.fail('schema', detail, 'run the version of Terse that wrote it, or a later one');
    }
    const { size } = statSync(path);
    if (size <= checkedBytesMax) {
      const damage = database
        .query<{ quick_check: string }, []>('PRAGMA quick_check(1)')
        .all()
        .map(row => row.quick_check)
        .find(word => word !== 'ok');
      if (damage === undefined) findings.ok('integrity', 'no damage found');
      else findings.fail('integrity', damage, restoreAdvice(path));
    }
    const writeAhead = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0;
    if (writeAhead > writeAheadWarnBytes) {
      const fix = 'end whatever reads the database for hours, such as a backup that hangs';
      findings.warn('write-ahead log', `${(writeAhead / 1024 ** 3).toFixed(1)} GB`, fix);
    }
  } finally {
    database.close();
  }
}

const deadlineMs = 3_000;

/** Only reads the archive: our keys could not delete anything that a check writes there. */
export async function examineArchive(
  { address, stream }: Pick<ArchivePlace, 'address' | 'stream'>,
  keys: S3Keys | undefined,
  clock: Clock,
): Promise<Finding[]> {
  const findings = new Findings('archive');
  if (keys === undefined) {
    findings.fail(
      'keys',
      'there are none in the environment',
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    );
    return findings.list;
  }
  try {
    const days = await archivedDays(openArchive({ address, keys, stream }, clock, deadlineMs));
    const upTo = days.length === 0 ? '' : `, the newest is ${days.at(-1)}`;
    findings.ok('days', `${days.length} are archived${upTo}`);
  } catch (error) {
    findings.fail('days', messageOf(error), 'check the bucket, the endpoint, and what the keys may do');
  }
  return findings.list;
}
