/**
 * Whether a migration may begin or continue. Everything is checked before anything is written: a target that is not
 * empty belongs to another installation, and copies from different sources are never mixed.
 */

import { createHash } from 'node:crypto';
import { compositeKey } from '../../base/transfer.ts';
import { type InstallationCopy, secretName } from '../../links/transfer.ts';
import { formerTables, importKind, type Position } from '../../stores/former-tables.ts';
import { type Installation, MigrationRefused, partsInOrder } from './installation.ts';

/** The progress to resume from; one without a part when the migration has not begun. */
export async function admit(source: Installation, target: Installation, now: number): Promise<Progress> {
  if (source.name === target.name) {
    throw new MigrationRefused(`--from and --to are both ${source.name}`);
  }
  const ofSource = await loadProgress(source);
  if (ofSource !== undefined && ofSource.phase !== 'finished') {
    throw new MigrationRefused(`${source.name} is itself an unfinished copy of ${ofSource.from}`);
  }
  const secret = await secretOf(source);
  if (secret === undefined) {
    throw new MigrationRefused(`there is no Terse installation in ${source.name}`);
  }
  await requireImported(source);
  const earlier = await loadProgress(target);
  if (earlier === undefined) {
    await requireEmpty(target);
    const secretHash = hashOf(secret);
    return { format: 1, from: source.name, secretHash, startedAt: now, phase: 'copying' };
  }
  if (earlier.from !== source.name || earlier.secretHash !== hashOf(secret)) {
    const which = earlier.from === source.name ? `another installation at ${earlier.from}` : earlier.from;
    throw new MigrationRefused(
      `${target.name} holds a migration from ${which}: go on with that one, or choose an empty target`,
    );
  }
  const copied = await secretOf(target);
  if (copied !== undefined && copied.value !== secret.value) {
    throw new MigrationRefused(`${target.name} has a secret of its own: choose an empty target`);
  }
  return earlier;
}

/**
 * The first start of this version imports the separate tables of an earlier one. For the audit log it is enough that the
 * import has begun: it may still grow, and other tables come after it.
 */
async function requireImported({ name, transfers, imports }: Installation): Promise<void> {
  const keys = (imports ?? formerTables).map(table => compositeKey(importKind.name, table));
  const positions = (await transfers.records.read(keys)).map(({ value }) => value.value as Position);
  const imported = positions.filter(({ table, reached }) => reached === null || table === 'audit');
  if (imported.length === keys.length) return;
  throw new MigrationRefused(
    `${name} was written by an earlier version of Terse and not imported: ${imports === undefined ? 'start this version on it once' : 'run terse setup on it'}, then migrate`,
  );
}

async function requireEmpty({ name, transfers }: Installation): Promise<void> {
  for (const transfer of partsInOrder(transfers)) {
    if (await hasRecords(transfer)) {
      throw new MigrationRefused(`${name} is not empty (it has ${transfer.part}): choose an empty target`);
    }
  }
}

/** Pages may be empty before the end, but an empty store has few of them. */
async function hasRecords(transfer: ReturnType<typeof partsInOrder>[number]): Promise<boolean> {
  let cursor: string | undefined;
  do {
    const { records, next } = await transfer.page(cursor, 1);
    if (records.length > 0) return true;
    cursor = next;
  } while (cursor !== undefined);
  return false;
}

/**
 * The progress of a migration, as stored in the target. It names its source, by place and by secret, so that no run
 * resumes from another source by mistake.
 */
export interface Progress {
  readonly format: 1;
  readonly from: string;
  /** SHA-256 of the source's secret. */
  readonly secretHash: string;
  readonly startedAt: number;
  /** `copying` from the part and cursor on; `following` once everything was copied. */
  readonly phase: 'copying' | 'following' | 'finished';
  readonly part?: string;
  readonly cursor?: string;
  readonly finishedAt?: number;
}

async function loadProgress({ name, notes }: Installation): Promise<Progress | undefined> {
  const text = await notes.load();
  if (text === undefined) return undefined;
  const progress = JSON.parse(text) as Progress;
  if (progress.format === 1) return progress;
  throw new MigrationRefused(`${name} holds a migration of another version of Terse`);
}

/** Undefined where Terse has never been started. */
export async function secretOf({ transfers }: Installation): Promise<InstallationCopy | undefined> {
  const [record] = await transfers.installation.read([secretName]);
  return record?.value;
}

export const hashOf = ({ value }: InstallationCopy): string =>
  createHash('sha256').update(value).digest('hex');
