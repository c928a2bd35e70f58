/** The embedded database: one file in the data folder, a reading connection here, a writing thread beside. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BlocklistOperations } from '../abuse/stores/sqlite/operations.ts';
import type { AccountOperations } from '../accounts/stores/sqlite/operations.ts';
import { openForReading } from '../engines/sqlite/database.ts';
import { SqliteWriter } from '../engines/sqlite/writer.ts';
import type { LinkOperations } from '../links/stores/sqlite/operations.ts';
import type { ModerationOperations } from '../moderation/stores/sqlite/operations.ts';

type EmbeddedOperations = LinkOperations & AccountOperations & ModerationOperations & BlocklistOperations;

export interface EmbeddedDatabase {
  readonly reader: ReturnType<typeof openForReading>;
  readonly writer: SqliteWriter<EmbeddedOperations>;
}

export async function openEmbedded(dataFolder: string): Promise<EmbeddedDatabase> {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const path = join(dataFolder, 'terse.db');
  const writer = await SqliteWriter.start<EmbeddedOperations>({
    startThread: () => new Worker(new URL('./sqlite-writer.ts', import.meta.url)),
    path,
  });
  return { reader: openForReading(path), writer };
}
