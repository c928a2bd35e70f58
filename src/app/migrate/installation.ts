/**
 * An installation as a migration sees it: parts to walk, and a place to write down how far it has come. Each engine
 * makes one (`sqlite.ts`, `postgres.ts`, `dynamodb.ts`); the rest of this folder knows no engine.
 */
import type { AbuseTransfers } from '../../abuse/transfer.ts';
import type { AccountTransfers } from '../../accounts/transfer.ts';
import type { Transfer } from '../../base/transfer.ts';
import type { LinkTransfers } from '../../links/transfer.ts';
import type { ModerationTransfers } from '../../moderation/transfer.ts';

export type Transfers = LinkTransfers & AccountTransfers & ModerationTransfers & AbuseTransfers;

export interface Installation {
  /** Engine and place without secrets; the same place always has the same name. */
  readonly name: string;
  readonly transfers: Transfers;
  readonly notes: ProgressNotes;
  close(): Promise<void>;
}

/** Kept in the target, so that a migration can be taken up by any machine and dies with what it has copied. */
export interface ProgressNotes {
  load(): Promise<string | undefined>;
  /** From now on this runner is the one that copies. */
  take(runner: string, text: string): Promise<void>;
  /** False when another runner has taken over. */
  save(runner: string, text: string): Promise<boolean>;
  /** Forgets what only served to append nothing twice. */
  tidyUp(): Promise<void>;
}

/** The order of copying: first what codes depend on, and everything after what it belongs to. */
export const partsInOrder = (of: Transfers): readonly Transfer[] => [
  of.installation,
  of.marks,
  of.claims,
  of.accounts,
  of.keys,
  of.sessions,
  of.invitations,
  of.links,
  of.answers,
  of.reviews,
  of.reports,
  of.audit,
  of.blockEntries,
];

/** The migration cannot begin or go on. The message is one line that says what to do. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}
