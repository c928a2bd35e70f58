/** A fresh table in the shared DynamoDB, with the parts that drivers need. */

import type { AuditEntry } from '../../src/audit/audit-log.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { parseAddress } from '../../src/engines/dynamodb/address.ts';
import { type Dynamo, openDynamo } from '../../src/engines/dynamodb/dynamodb.ts';
import { createClient } from '../../src/engines/dynamodb/transport.ts';
import { createDynamoRecords } from '../../src/records/drivers/dynamodb.ts';
import { atTheBeginning, wholeTrail } from './audit-trail.ts';
import { sharedDynamo } from './engines/dynamodb.ts';

/** Generous, because a busy machine is no fault of the engine. */
const patient = { readDeadlineMs: 30_000, writeDeadlineMs: 30_000 };

export interface DynamoTable {
  readonly url: string;
  readonly dynamo: Dynamo;
  /** The whole audit log, oldest first. */
  trail(): Promise<AuditEntry[]>;
  /** Another handle to the table, as another process would have; `dispose` closes it too. */
  again(): DynamoTable;
  dispose(): Promise<void>;
}

/** `prepare` makes what is there before Terse starts on it. */
export async function freshDynamoTable(prepare?: (url: string) => Promise<void>): Promise<DynamoTable> {
  const table = partsOf((await sharedDynamo()).freshTableUrl());
  await prepare?.(table.url);
  await table.dynamo.ensureTable();
  return table;
}

/** Makes a table as something else than this version of Terse would: with this key, and these indexes of everything. */
export async function makeTable(
  url: string,
  keys: readonly [pk: string, sk: string],
  indexes: Readonly<Record<string, readonly [pk: string, sk: string]>> = {},
): Promise<void> {
  const address = parseAddress(url);
  const schema = ([pk, sk]: readonly [string, string]) => [
    { AttributeName: pk, KeyType: 'HASH' },
    { AttributeName: sk, KeyType: 'RANGE' },
  ];
  const named = new Set([keys, ...Object.values(indexes)].flat());
  const made = Object.entries(indexes).map(([IndexName, index]) => ({
    IndexName,
    KeySchema: schema(index),
    Projection: { ProjectionType: 'ALL' },
  }));
  const input = {
    TableName: address.table,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: Array.from(named, AttributeName => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: schema(keys),
    ...(made.length > 0 && { GlobalSecondaryIndexes: made }),
  };
  const client = createClient(address, { clock: systemClock, hasCredentials: false });
  await client.send('CreateTable', input, AbortSignal.timeout(patient.writeDeadlineMs));
}

function partsOf(url: string): DynamoTable {
  const dynamo = openDynamo(url, { clock: systemClock, random: systemRandom, ...patient });
  const others: DynamoTable[] = [];
  return {
    url,
    dynamo,
    trail: () => wholeTrail(createDynamoRecords(dynamo, atTheBeginning)),
    again() {
      const other = partsOf(url);
      others.push(other);
      return other;
    },
    async dispose() {
      for (const other of others) await other.dispose();
      dynamo.close();
    },
  };
}
