/** Links in a table of one's own in the shared DynamoDB, and the items that they consist of. */

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

/** Nothing that a test writes is so old that the engine would drop it. */
const centuryMs = 100 * 365 * 24 * 60 * 60 * 1_000;

/** On a busy machine DynamoDB Local may stand still for seconds; tests of its absence say how long they wait. */
export const patientCalls = { readDeadlineMs: 30_000, writeDeadlineMs: 30_000 };

export async function freshDynamoLinks(options: Partial<DynamoStoreOptions> = {}): Promise<DynamoLinks> {
  const links = dynamoLinksAt((await sharedDynamo()).freshTableUrl(), options);
  await links.dynamo.ensureTable();
  return links;
}

/** As another process has them. */
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
