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

interface OpenLinks {
  readonly links: LinkTransfers['links'];
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
      opened ??= open(config);
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

/** No request waits for a page, and it is larger than what a request reads. */
const readDeadlineMs = 10_000;

async function open({ links, data }: Pick<Config, 'links' | 'data'>): Promise<OpenLinks> {
  if (links.startsWith('dynamodb:')) {
    const { openDynamo } = await import('../engines/dynamodb/dynamodb.ts');
    const { TableWalk } = await import('../engines/dynamodb/table-walk.ts');
    const { dynamoLinkTransfers } = await import('../links/stores/dynamodb/transfer.ts');
    const hasCredentials = hasAwsCredentials();
    const dynamo = openDynamo(links, {
      clock: systemClock,
      random: systemRandom,
      hasCredentials,
      readDeadlineMs,
    });
    return { ...dynamoLinkTransfers(dynamo, new TableWalk(dynamo)), close: () => dynamo.close() };
  }
  if (links !== 'sqlite') {
    const { openPostgres } = await import('../engines/postgres/postgres.ts');
    const { postgresLinkTransfers } = await import('../links/stores/postgres/transfer.ts');
    const postgres = openPostgres(links, { clock: systemClock });
    return { ...postgresLinkTransfers(postgres), close: () => postgres.close() };
  }
  const { openForReading } = await import('../engines/sqlite/database.ts');
  const { sqliteLinkTransfers } = await import('../links/stores/sqlite/transfer.ts');
  const database = openForReading(join(data, 'terse.db'));
  return { ...sqliteLinkTransfers(database), close: () => database.close() };
}
