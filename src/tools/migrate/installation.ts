/**
 * An installation as a migration sees it: parts to walk, and a place to store its progress. Each engine
 * makes one (`sqlite.ts`, `postgres.ts`, `dynamodb.ts`); the rest of this folder knows no engine.
 */
import type { ProgressNotes, Transfer } from '../../base/transfer.ts';
import type { LinkTransfers } from '../../links/transfer.ts';
import type { RecordCopy } from './record-transfer.ts';

export type Transfers = LinkTransfers & { readonly records: Transfer<RecordCopy> };

export interface Installation {
  /** Engine and place without secrets; the same place always has the same name. */
  readonly name: string;
  readonly transfers: Transfers;
  readonly notes: ProgressNotes;
  /** What an earlier version kept elsewhere and has to be a record by now, where it is not the usual. */
  readonly imports?: readonly string[];
  close(): Promise<void>;
}

/** The order of copying: first what codes depend on, and each record after what it belongs to. */
export const partsInOrder = (of: Transfers): readonly Transfer[] => [
  of.installation,
  of.marks,
  of.claims,
  of.links,
  of.answers,
  of.records,
];

/** The migration cannot begin or continue. The message is one line that says what to do. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}
