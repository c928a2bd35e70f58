/** The embedded database: whether this version of Terse can open it, and whether it is what it was when it was written. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Findings } from '../../base/finding.ts';
import { openForReading } from '../../engines/sqlite/database.ts';
import { embeddedMigrations } from '../embedded-schema.ts';

/** A larger file is not read through while somebody waits. */
const checkedBytesMax = 1024 ** 3;
const writeAheadWarnBytes = 1024 ** 3;

export function examineSqlite(folder: string): Findings['list'] {
  const findings = new Findings('sqlite');
  const path = join(folder, 'terse.db');
  if (!existsSync(path)) {
    findings.ok('database', 'the first start makes it');
    return findings.list;
  }
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
      else findings.fail('integrity', damage, `stop Terse and restore ${path} from a backup`);
    }
    const writeAhead = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0;
    if (writeAhead > writeAheadWarnBytes) {
      const fix = 'end whatever reads the database for hours, such as a backup that hangs';
      findings.warn('write-ahead log', `${(writeAhead / 1024 ** 3).toFixed(1)} GB`, fix);
    }
  } finally {
    database.close();
  }
  return findings.list;
}
