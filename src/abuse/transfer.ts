/** The operators' blocklist entries, as records that any engine can give and take, oldest first, under their ids. */
import type { Transfer } from '../base/transfer.ts';
import type { OperatorEntry } from './operator-entries.ts';

export interface AbuseTransfers {
  readonly blockEntries: Transfer<OperatorEntry>;
}
