/** All stores in one DynamoDB table: opens it, makes what of it is missing, and builds them. */
import { createDynamoEntryStore } from '../abuse/stores/dynamodb/store.ts';
import { createDynamoAccountStore } from '../accounts/stores/dynamodb/store.ts';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { parseAddress } from '../engines/dynamodb/address.ts';
import { createAuditItems } from '../engines/dynamodb/audit-items.ts';
import { openDynamo } from '../engines/dynamodb/dynamodb.ts';
import { createSteps } from '../engines/dynamodb/steps.ts';
import { readProgress } from '../engines/dynamodb/transfer-items.ts';
import { createDynamoStore } from '../links/stores/dynamodb/store.ts';
import { createDynamoAuditLog } from '../moderation/stores/dynamodb/audit-log.ts';
import { createReviewNoteItems } from '../moderation/stores/dynamodb/review-items.ts';
import { createDynamoReviewStore } from '../moderation/stores/dynamodb/store.ts';
import type { Log } from '../ops/log.ts';
import { awaitStore, type Patience } from './await-store.ts';
import { requireFinished } from './migrate/progress.ts';
import type { Stores } from './stores.ts';

export interface DynamoStoresOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly patience?: Patience;
  /** How long an expired link is kept before the engine may drop it. */
  readonly expiryGraceMs: number;
  /** How long routine entries of the audit trail are. */
  readonly auditDays?: number;
  /** Whether the environment holds credentials for AWS. */
  readonly hasCredentials?: boolean;
}

/** Closing the store of links closes the connections of all of them. */
export async function openDynamoStores(url: string, options: DynamoStoresOptions): Promise<Stores> {
  const { clock, random, log, patience, expiryGraceMs, auditDays } = options;
  const dynamo = openDynamo(url, options);
  try {
    await awaitStore(() => dynamo.ensureTable(), {
      name: dynamoName(url),
      clock,
      random,
      log,
      isHopeless: isRefusedAtTheDoor,
      ...patience,
    });
    requireFinished(await readProgress(dynamo));
  } catch (error) {
    dynamo.close();
    throw error;
  }
  const steps = createSteps(dynamo, clock, random);
  const auditItems = createAuditItems(dynamo, random, auditDays);
  const reviewNoteItems = createReviewNoteItems(dynamo);
  const parts = { dynamo, steps, auditItems };
  return {
    links: createDynamoStore(dynamo, { clock, random, auditItems, reviewNoteItems, expiryGraceMs }),
    accounts: createDynamoAccountStore(parts),
    reviews: createDynamoReviewStore({ ...parts, clock }),
    audit: createDynamoAuditLog(dynamo, auditItems),
    blockEntries: createDynamoEntryStore(parts),
  };
}

export function dynamoName(url: string): string {
  const { table, region, endpoint = region } = parseAddress(url);
  return `the DynamoDB table ${table} at ${endpoint}`;
}

/** No credentials, wrong ones, or ones that may not do this: waiting does not change that. */
export function isRefusedAtTheDoor(error: unknown): boolean {
  const cause = error instanceof Problem ? error.cause : error;
  return (
    cause instanceof Error && /Credential|AccessDenied|Token|UnrecognizedClient|Signature/.test(cause.name)
  );
}
