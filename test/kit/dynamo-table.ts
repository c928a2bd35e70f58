/** A table of one's own in the shared DynamoDB, and what the drivers on it are made of. */
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type AuditItems, createAuditItems } from '../../src/engines/dynamodb/audit-items.ts';
import { type Dynamo, openDynamo } from '../../src/engines/dynamodb/dynamodb.ts';
import { createSteps, type Steps } from '../../src/engines/dynamodb/steps.ts';
import type { AuditEntry } from '../../src/moderation/audit.ts';
import { createDynamoAuditLog } from '../../src/moderation/stores/dynamodb/audit-log.ts';
import { sharedDynamo } from './engines/dynamodb.ts';

/** Generous, because a busy machine is no fault of the engine. */
const patient = { readDeadlineMs: 30_000, writeDeadlineMs: 30_000 };

export interface DynamoTable {
  readonly url: string;
  readonly dynamo: Dynamo;
  readonly steps: Steps;
  readonly auditItems: AuditItems;
  /** All that is in the audit trail, the oldest first. */
  trail(): Promise<AuditEntry[]>;
  /** The same table as another process has it; `dispose` closes it too. */
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
  const auditItems = createAuditItems(dynamo, systemRandom);
  const others: DynamoTable[] = [];
  return {
    url,
    dynamo,
    auditItems,
    steps: createSteps(dynamo, systemClock, systemRandom),
    trail: () => wholeTrail(dynamo, auditItems),
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

async function wholeTrail(dynamo: Dynamo, auditItems: AuditItems): Promise<AuditEntry[]> {
  const audit = createDynamoAuditLog(dynamo, auditItems);
  const entries: AuditEntry[] = [];
  const everything = {
    limit: 1_000,
    subjectKinds: undefined,
    subjectId: undefined,
    accountId: undefined,
    action: undefined,
    fromMs: undefined,
    toMs: undefined,
  };
  let cursor: string | undefined;
  do {
    const page = await audit.query({ ...everything, cursor });
    entries.push(...page.entries);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return entries.reverse();
}
