/**
 * How far a migration has come, as it is written down in the target. It names the source it belongs to, by its place
 * and by its secret, so that nobody goes on from another one by mistake.
 */
import { createHash } from 'node:crypto';
import { type InstallationCopy, secretName } from '../../links/transfer.ts';
import { type Installation, MigrationRefused } from './installation.ts';

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

export async function loadProgress({ name, notes }: Installation): Promise<Progress | undefined> {
  const text = await notes.load();
  if (text === undefined) return undefined;
  const progress = JSON.parse(text) as Progress;
  if (progress.format === 1) return progress;
  throw new MigrationRefused(`${name} holds a migration of another version of Terse`);
}

/** Stops a server from starting on what is only a part of an installation, which the migration would then undo. */
export function requireFinished(progress: string | undefined): void {
  if (progress === undefined) return;
  const { phase, from } = JSON.parse(progress) as Progress;
  if (phase === 'finished') return;
  throw new Error(
    `the store holds an unfinished copy of ${from}: finish it with \`terse migrate --final\`, or choose another store`,
  );
}

/** Undefined where nobody has ever started a Terse. */
export async function secretOf({ transfers }: Installation): Promise<InstallationCopy | undefined> {
  const [record] = await transfers.installation.read([secretName]);
  return record?.value;
}

export const hashOf = ({ value }: InstallationCopy): string =>
  createHash('sha256').update(value).digest('hex');
