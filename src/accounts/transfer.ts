/** The parts of an account store, as records that any engine can give and take; accounts come first. */
import type { Transfer } from '../base/transfer.ts';
import type { Account, ApiKey } from './account.ts';
import type { Session } from './session-store.ts';
import type { Invitation } from './store.ts';

/** Accounts, keys and sessions go by their ids, an invitation by its account's. */
export interface AccountTransfers {
  readonly accounts: Transfer<Account>;
  readonly keys: Transfer<ApiKey>;
  readonly sessions: Transfer<Session>;
  readonly invitations: Transfer<Invitation>;
}
