/** The marks of whichever store the settings name, for an operator who has restored it with the engine's own tools. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import type { Transfer } from '../../base/transfer.ts';
import { RequestError } from '../../cli/command.ts';
import { openForWriting } from '../../engines/sqlite/database.ts';
import { sqliteLinkTransfers } from '../../links/stores/sqlite/transfer.ts';
import type { MarkCopy } from '../../links/transfer.ts';
import { type Config, hasAwsCredentials } from '../config.ts';
import { linksDatabase } from './contents.ts';

interface OpenedMarks {
  readonly marks: Transfer<MarkCopy>;
  close(): Promise<void> | void;
}

export async function openMarks({ links, data }: Pick<Config, 'links' | 'data'>): Promise<OpenedMarks> {
  if (links === 'memory') throw new RequestError('links in memory have no marks to keep');
  if (links.startsWith('dynamodb:')) {
    const { openDynamoSource } = await import('../migrate/dynamodb.ts');
    const world = { clock: systemClock, random: systemRandom, hasCredentials: hasAwsCredentials() };
    const { transfers, close } = await openDynamoSource(links, world);
    return { marks: transfers.marks, close };
  }
  if (links !== 'sqlite') {
    const { openPostgresSource } = await import('../migrate/postgres.ts');
    const { transfers, close } = await openPostgresSource(links, systemClock);
    return { marks: transfers.marks, close };
  }
  const path = join(data, linksDatabase);
  if (!existsSync(path)) throw new RequestError(`there is no Terse installation in ${data}`);
  const database = openForWriting(path);
  return { marks: sqliteLinkTransfers(database).marks, close: () => database.close() };
}
