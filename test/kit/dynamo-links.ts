/** Links in a fresh table of the shared DynamoDB, and their items. */

import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { CallOptions } from '../../src/engines/dynamodb/calls.ts';
import { type Dynamo, openDynamo } from '../../src/engines/dynamodb/dynamodb.ts';
import type { LinkStore } from '../../src/links/store.ts';
import { createDynamoStore, type DynamoStoreOptions } from '../../src/links/stores/dynamodb/store.ts';
import { sharedDynamo } from './engines/dynamodb.ts';

export interface DynamoLinks {
  readonly url: string;
  readonly dynamo: Dynamo;
  readonly store: LinkStore;
}

/** So long that the engine never expires what a test writes. */
const centuryMs = 100 * 365 * 24 * 60 * 60 * 1_000;

/** On a busy machine DynamoDB Local may pause for seconds; tests of outages set shorter deadlines. */
export const patientCalls = { readDeadlineMs: 30_000, writeDeadlineMs: 30_000 };

export async function freshDynamoLinks(options: Partial<DynamoStoreOptions> = {}): Promise<DynamoLinks> {
  const links = dynamoLinksAt((await sharedDynamo()).freshTableUrl(), options);
  await links.dynamo.ensureTable();
  return links;
}

/** Another handle to the links, as another process would have. */
export function dynamoLinksAt(
  url: string,
  options: Partial<DynamoStoreOptions> = {},
  calls: Partial<CallOptions> = patientCalls,
): DynamoLinks {
  const dynamo = openDynamo(url, { clock: systemClock, random: systemRandom, ...calls });
  const store = createDynamoStore(dynamo, {
    clock: systemClock,
    random: systemRandom,
    traceWrites: async () => [],
    expiryGraceMs: centuryMs,
    engineTimeoutMs: 0,
    ...options,
  });
  return { url, dynamo, store };
}
