/** All stores in one DynamoDB table: opens it, creates what is missing, and builds them. */

import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { parseAddress } from '../engines/dynamodb/address.ts';
import { openDynamo } from '../engines/dynamodb/dynamodb.ts';
import { readProgress } from '../engines/dynamodb/transfer.ts';
import { createDynamoStore } from '../links/stores/dynamodb/store.ts';
import { createDynamoRecords } from '../records/drivers/dynamodb.ts';
import type { Log } from '../telemetry/log.ts';
import { awaitStore, requireFinished, type WaitPolicy } from './await-store.ts';
import { importFormerItems } from './former-items.ts';
import { type Stores, storesOnRecords } from './stores.ts';

export interface DynamoStoresOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly wait?: WaitPolicy;
  /** How long an expired link is kept before the engine may drop it. */
  readonly expiryGraceMs: number;
  /** How long routine entries of the audit log are kept. */
  readonly auditDays?: number;
  /** Whether the environment holds credentials for AWS. */
  readonly hasCredentials?: boolean;
}

/** Closing the store of links closes the connections of all of them. */
export async function openDynamoStores(url: string, options: DynamoStoresOptions): Promise<Stores> {
  const { clock, random, log, wait, expiryGraceMs, auditDays } = options;
  const dynamo = openDynamo(url, options);
  const records = createDynamoRecords(dynamo, clock);
  try {
    const name = dynamoName(url);
    const waiting = { name, clock, random, log, isHopeless: isLoginRefused, ...wait };
    await awaitStore(() => dynamo.ensureTable(), waiting);
    requireFinished(await awaitStore(() => readProgress(dynamo), waiting));
    await awaitStore(() => importFormerItems(records, dynamo, auditDays), waiting);
  } catch (error) {
    dynamo.close();
    throw error;
  }
  const onRecords = storesOnRecords(records, { clock, random }, auditDays);
  const { traceWrites } = onRecords.reviews;
  return { ...onRecords, links: createDynamoStore(dynamo, { clock, random, traceWrites, expiryGraceMs }) };
}

export function dynamoName(url: string): string {
  const { table, region, endpoint = region } = parseAddress(url);
  return `the DynamoDB table ${table} at ${endpoint}`;
}

/** Missing, wrong or insufficient credentials: waiting does not help. */
export function isLoginRefused(error: unknown): boolean {
  const cause = error instanceof Problem ? error.cause : error;
  return (
    cause instanceof Error && /Credential|AccessDenied|Token|UnrecognizedClient|Signature/.test(cause.name)
  );
}
