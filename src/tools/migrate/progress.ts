/**
 * The progress of a migration, as stored in the target. It names its source, by place and by secret, so that no run
 * resumes from another source by mistake.
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

/** Undefined where Terse has never been started. */
export async function secretOf({ transfers }: Installation): Promise<InstallationCopy | undefined> {
  const [record] = await transfers.installation.read([secretName]);
  return record?.value;
}

export const hashOf = ({ value }: InstallationCopy): string =>
  createHash('sha256').update(value).digest('hex');
