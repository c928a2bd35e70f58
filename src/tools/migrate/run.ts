/** `terse migrate`: opens the two stores that the command line names, runs the migration, and reports any failure in one line. */
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/finding.ts';
import { systemRandom } from '../../base/random.ts';
import { type MigrateReport, type MigrateRequest, RequestError } from '../../cli/command.ts';
import type { Checksum } from './digest.ts';
import { type Installation, MigrationRefused } from './installation.ts';
import { migrate } from './migrate.ts';
import { openInstallation, type Role } from './open-installation.ts';
import { isTransient } from './retry-policy.ts';

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

async function open(address: string, flag: '--from' | '--to', role: Role): Promise<Installation> {
  if (!/^(?:sqlite|postgres|postgresql|dynamodb):./s.test(address)) {
    // The whole address may hold a password.
    throw new MigrationRefused(`${flag} is not a store: use sqlite:FOLDER, postgres://… or dynamodb://…`);
  }
  try {
    return await openInstallation(address, role);
  } catch (error) {
    if (error instanceof MigrationRefused) throw error;
    throw new MigrationRefused(`${flag} cannot be opened: ${messageOf(error)}`);
  }
}

function lineOf(error: unknown): string {
  const reason = messageOf(error);
  if (!isTransient(error)) return reason;
  return `a store did not answer: ${reason}; run the same command again to go on`;
}
