/**
 * A DynamoDB table as a side of a migration. The source is only read; a target is created where there is none, with
 * its indexes, exactly as a server would have created it.
 */
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { parseAddress } from '../../engines/dynamodb/address.ts';
import { type Dynamo, openDynamo } from '../../engines/dynamodb/dynamodb.ts';
import { TableWalk } from '../../engines/dynamodb/table-walk.ts';
import { progressNotes, readProgress } from '../../engines/dynamodb/transfer.ts';
import { dynamoLinkTransfers } from '../../links/stores/dynamodb/transfer.ts';
import { createDynamoRecords } from '../../records/drivers/dynamodb.ts';
import { formerItems } from '../../stores/former-items.ts';
import { type Installation, MigrationRefused, memoryInstallation } from './installation.ts';
import { recordKinds } from './record-kinds.ts';
import { recordTransfer } from './record-transfer.ts';

export interface DynamoSideOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly hasCredentials: boolean;
}

/** No request waits for a page of a migration, and it is larger than what a request reads. */
const readDeadlineMs = 10_000;
const writeDeadlineMs = 20_000;

export const openDynamoSource = (url: string, options: DynamoSideOptions): Promise<Installation> =>
  opened(url, options, async (dynamo, name) => {
    if (await isMissing(dynamo)) throw new MigrationRefused(`there is no Terse installation in ${name}`);
    return installationOf(dynamo, name, options.clock);
  });

export const openDynamoTarget = (url: string, options: DynamoSideOptions): Promise<Installation> =>
  opened(url, options, async (dynamo, name) => {
    await dynamo.ensureTable();
    return installationOf(dynamo, name, options.clock);
  });

/** A target that is only read: nothing is created where there is nothing. */
export const lookAtDynamoTarget = (url: string, options: DynamoSideOptions): Promise<Installation> =>
  opened(url, options, async (dynamo, name) => {
    if (!(await isMissing(dynamo))) return installationOf(dynamo, name, options.clock);
    return { ...memoryInstallation(name), close: async () => dynamo.close() };
  });

async function opened(
  url: string,
  options: DynamoSideOptions,
  open: (dynamo: Dynamo, name: string) => Promise<Installation>,
): Promise<Installation> {
  const { table, region, endpoint } = parseAddress(url);
  const dynamo = openDynamo(url, { ...options, readDeadlineMs, writeDeadlineMs });
  try {
    return await open(dynamo, `dynamodb ${table} at ${endpoint ?? region}`);
  } catch (error) {
    dynamo.close();
    throw error;
  }
}

async function isMissing(dynamo: Dynamo): Promise<boolean> {
  try {
    await readProgress(dynamo);
    return false;
  } catch (error) {
    const cause = (error as { cause?: unknown }).cause;
    if (cause instanceof Error && cause.name === 'ResourceNotFoundException') return true;
    throw error;
  }
}

function installationOf(dynamo: Dynamo, name: string, clock: Clock): Installation {
  const walk = new TableWalk(dynamo);
  return {
    name,
    imports: formerItems,
    transfers: {
      ...dynamoLinkTransfers(dynamo, walk),
      records: recordTransfer(createDynamoRecords(dynamo, clock, walk), recordKinds),
    },
    notes: progressNotes(dynamo),
    async close() {
      dynamo.close();
    },
  };
}
