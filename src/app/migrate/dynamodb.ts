/**
 * A DynamoDB table as a side of a migration. The source is only read; a target is made where there is none, with its
 * indexes, so that a server finds it as it would have made it itself.
 */
import { dynamoAbuseTransfers } from '../../abuse/stores/dynamodb/transfer.ts';
import { dynamoAccountTransfers } from '../../accounts/stores/dynamodb/transfer.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { parseAddress } from '../../engines/dynamodb/address.ts';
import { type Dynamo, openDynamo } from '../../engines/dynamodb/dynamodb.ts';
import { TableWalk } from '../../engines/dynamodb/table-walk.ts';
import { readProgress, saveProgress, takeProgress } from '../../engines/dynamodb/transfer-items.ts';
import { dynamoLinkTransfers } from '../../links/stores/dynamodb/transfer.ts';
import { dynamoModerationTransfers } from '../../moderation/stores/dynamodb/transfer.ts';
import { type Installation, MigrationRefused } from './installation.ts';
import { memoryInstallation } from './memory.ts';

export interface DynamoSideOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly hasCredentials: boolean;
}

/** Nobody waits for a page of a migration, and it is larger than what a request reads. */
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

/** A target that is only looked at: nothing is made where there is nothing. */
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
    transfers: {
      ...dynamoLinkTransfers(dynamo, walk),
      ...dynamoAccountTransfers(dynamo, () => clock.now()),
      ...dynamoModerationTransfers(dynamo, walk),
      ...dynamoAbuseTransfers(dynamo),
    },
    notes: {
      load: () => readProgress(dynamo),
      take: (runner, text) => takeProgress(dynamo, runner, text),
      save: (runner, text) => saveProgress(dynamo, runner, text),
      async tidyUp() {},
    },
    async close() {
      dynamo.close();
    },
  };
}
