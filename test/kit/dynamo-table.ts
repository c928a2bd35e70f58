/** A fresh table in the shared DynamoDB, with the parts that drivers need. */

import type { AuditEntry } from '../../src/audit/audit-log.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type Dynamo, openDynamo } from '../../src/engines/dynamodb/dynamodb.ts';
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

export async function freshDynamoTable(): Promise<DynamoTable> {
  const table = partsOf((await sharedDynamo()).freshTableUrl());
  await table.dynamo.ensureTable();
  return table;
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
