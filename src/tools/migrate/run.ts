/**
 * `terse migrate`: opens the two stores that the command line names, runs the migration, and reports any failure in one
 * line. Engines are loaded only when they are named.
 */
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { RequestError } from '../../cli/command.ts';
import type { MigrateReport, MigrateRequest } from '../../cli/local-work.ts';
import { hasAwsCredentials } from '../../config/config.ts';
import type { Checksum } from './digest.ts';
import { type Installation, MigrationRefused } from './installation.ts';
import { migrate } from './migrate.ts';
import { isTransient, reasonOf } from './retry-policy.ts';

type Side = 'source' | 'target' | 'look';

export async function runMigrate(
  request: MigrateRequest,
  tell: (line: string) => void,
): Promise<MigrateReport> {
  const { from, to, isFinal, isDryRun, recordsPerS } = request;
  const opened: Installation[] = [];
  try {
    const source = await open(from, '--from', 'source');
    opened.push(source);
    const target = await open(to, '--to', isDryRun ? 'look' : 'target');
    opened.push(target);
    const world = { clock: systemClock, random: systemRandom, tell };
    const migrated = await migrate({ source, target, isFinal, isDryRun, recordsPerS, ...world });
    if (migrated.kind !== 'finished') return migrated;
    const parts = migrated.comparisons.map(({ part, source: one, target: other }) => ({
      part,
      source: sideOf(one),
      target: sideOf(other),
      isSame: one.equals(other),
    }));
    return { kind: 'finished', parts };
  } catch (error) {
    throw new RequestError(lineOf(error));
  } finally {
    for (const each of opened) await each.close().catch(() => undefined);
  }
}

const sideOf = ({ count, shown }: Checksum) => ({ count, checksum: shown });

async function open(address: string, flag: '--from' | '--to', side: Side): Promise<Installation> {
  const [, engine, rest] = /^(sqlite|postgres|postgresql|dynamodb):(.+)$/s.exec(address) ?? [];
  if (engine === undefined || rest === undefined) {
    // The whole address may hold a password.
    throw new MigrationRefused(`${flag} is not a store: use sqlite:FOLDER, postgres://… or dynamodb://…`);
  }
  try {
    return await openEngine(engine, address, rest, side);
  } catch (error) {
    if (error instanceof MigrationRefused) throw error;
    throw new MigrationRefused(`${flag} cannot be opened: ${reasonOf(error)}`);
  }
}

async function openEngine(engine: string, address: string, rest: string, side: Side): Promise<Installation> {
  if (engine === 'sqlite') {
    const { lookAtSqliteTarget, openSqliteSource, openSqliteTarget } = await import('./sqlite.ts');
    const folder = rest.replace(/^\/\/(?=.)/, '');
    return { source: openSqliteSource, target: openSqliteTarget, look: lookAtSqliteTarget }[side](folder);
  }
  if (engine === 'dynamodb') {
    const { lookAtDynamoTarget, openDynamoSource, openDynamoTarget } = await import('./dynamodb.ts');
    const options = { clock: systemClock, random: systemRandom, hasCredentials: hasAwsCredentials() };
    return { source: openDynamoSource, target: openDynamoTarget, look: lookAtDynamoTarget }[side](
      address,
      options,
    );
  }
  const { lookAtPostgresTarget, openPostgresSource, openPostgresTarget } = await import('./postgres.ts');
  const openIt = { source: openPostgresSource, target: openPostgresTarget, look: lookAtPostgresTarget }[side];
  return openIt(address, systemClock);
}

function lineOf(error: unknown): string {
  const reason = reasonOf(error).split('\n')[0] ?? '';
  if (!isTransient(error)) return reason;
  return `a store did not answer: ${reason}; run the same command again to go on`;
}
