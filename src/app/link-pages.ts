/**
 * All links of whichever store the settings name, page by page, over a connection of its own. It is opened by the first
 * question, and anew after a failure, so that whoever walks need not be there before the store is.
 */
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import type { LinkPages } from '../health/walker.ts';
import { linkOfCopy } from '../links/transfer.ts';
import { type Config, hasAwsCredentials } from './config.ts';
import type { Installation } from './migrate/installation.ts';

export function createLinkPages(config: Pick<Config, 'links' | 'data'>): LinkPages {
  let opened: Promise<Installation> | undefined;
  return {
    async page(cursor, limit) {
      opened ??= open(config);
      const attempt = opened;
      try {
        const { records, next } = await (await attempt).transfers.links.page(cursor, limit);
        return { links: records.map(({ value }) => linkOfCopy(value)), next };
      } catch (error) {
        opened = undefined;
        await attempt.then(installation => installation.close()).catch(() => undefined);
        throw error;
      }
    },
  };
}

async function open({ links, data }: Pick<Config, 'links' | 'data'>): Promise<Installation> {
  if (links.startsWith('dynamodb:')) {
    const { openDynamoSource } = await import('./migrate/dynamodb.ts');
    const world = { clock: systemClock, random: systemRandom, hasCredentials: hasAwsCredentials() };
    return openDynamoSource(links, world);
  }
  if (links !== 'sqlite') {
    const { openPostgresSource } = await import('./migrate/postgres.ts');
    return openPostgresSource(links, systemClock);
  }
  const { openSqliteSource } = await import('./migrate/sqlite.ts');
  return openSqliteSource(data);
}
