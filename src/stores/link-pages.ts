/**
 * All links of the store that the settings name, page by page, over a separate connection. The first call opens it,
 * and a call after a failure reopens it, so the caller can start before the store does.
 */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { type Config, hasAwsCredentials } from '../config/config.ts';
import type { Link } from '../links/link.ts';
import { type LinkTransfers, linkOfCopy } from '../links/transfer.ts';

interface OpenLinks extends Pick<LinkTransfers, 'links'> {
  /** The progress of a migration into the store. */
  progress(): Promise<string | undefined>;
  close(): unknown;
}

export interface LinkPage {
  readonly links: readonly Link[];
  readonly next: string | undefined;
}

export function createLinkPages(config: Pick<Config, 'links' | 'data'>) {
  let opened: Promise<OpenLinks> | undefined;
  return {
    async page(cursor: string | undefined, limit: number): Promise<LinkPage> {
      opened ??= openLinks(config);
      const attempt = opened;
      try {
        const { records, next } = await (await attempt).links.page(cursor, limit);
        return { links: records.map(({ value }) => linkOfCopy(value)), next };
      } catch (error) {
        opened = undefined;
        await attempt.then(source => source.close()).catch(() => undefined);
        throw error;
      }
    },
  };
}

/** Long, because no request waits for a page, and a page is larger than what a request reads. */
const readDeadlineMs = 10_000;

export async function openLinks({ links, data }: Pick<Config, 'links' | 'data'>): Promise<OpenLinks> {
  if (links.startsWith('dynamodb:')) {
    const { openDynamo } = await import('../engines/dynamodb/dynamodb.ts');
    const { TableWalk } = await import('../engines/dynamodb/table-walk.ts');
    const { readProgress } = await import('../engines/dynamodb/transfer.ts');
    const { dynamoLinkTransfers } = await import('../links/stores/dynamodb/transfer.ts');
    const world = { clock: systemClock, random: systemRandom, hasCredentials: hasAwsCredentials() };
    const dynamo = openDynamo(links, { ...world, readDeadlineMs });
    const transfers = dynamoLinkTransfers(dynamo, new TableWalk(dynamo));
    return { ...transfers, progress: () => readProgress(dynamo), close: () => dynamo.close() };
  }
  if (links !== 'sqlite') {
    const { openPostgres } = await import('../engines/postgres/postgres.ts');
    const { readProgress } = await import('../engines/postgres/transfer.ts');
    const { postgresLinkTransfers } = await import('../links/stores/postgres/transfer.ts');
    const postgres = openPostgres(links, { clock: systemClock });
    const transfers = postgresLinkTransfers(postgres);
    return { ...transfers, progress: () => readProgress(postgres), close: () => postgres.close() };
  }
  const { openForReading } = await import('../engines/sqlite/database.ts');
  const { readProgress } = await import('../engines/sqlite/transfer.ts');
  const { sqliteLinkTransfers } = await import('../links/stores/sqlite/transfer.ts');
  const database = openForReading(join(data, 'terse.db'));
  const transfers = sqliteLinkTransfers(database);
  return { ...transfers, progress: async () => readProgress(database), close: () => database.close() };
}
