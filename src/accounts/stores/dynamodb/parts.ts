/** What every write of accounts, keys and sessions works with. */
import type { AuditItems } from '../../../engines/dynamodb/audit-items.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Steps } from '../../../engines/dynamodb/steps.ts';

export interface AccountParts {
  readonly dynamo: Dynamo;
  readonly steps: Steps;
  readonly auditItems: AuditItems;
}

/** The writes of one account wait for each other. */
export const turnOf = (accountId: string): string => `account ${accountId}`;
